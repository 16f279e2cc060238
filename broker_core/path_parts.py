"""Names of users as parts of paths: of object keys, and of files in directories. Pure.

Apache Pulsar allows `.` and `..` as names of tenants, namespaces, and topics, and so does this broker. As a part of a
path, such a name would lead out of its store.
"""

import re
from urllib.parse import quote

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\\u2028\u2029\ud800-\udfff]")


def path_part(name: str) -> str:
    """The name as one part of a path, without separators and control characters, and never `.` or `..`.

    Other names stay as they are, also encoded ones: what was stored under them before is found again.
    """
    if not name.strip("."):
        return name.replace(".", "%2E") or "%"
    return _UNSAFE.sub(lambda unsafe: quote(unsafe[0], safe="", errors="backslashreplace"), name)
