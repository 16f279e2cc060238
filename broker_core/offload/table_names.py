"""Names of tables: each topic has one of its own, which SQL takes without quotes.

A name of letters, digits, and underscores stays as it is. Another character becomes `_xHH_` with its code point in
hexadecimal, as in SQL/XML (ISO 9075-14), and so does what would be read as such an escape or as the end of the tenant.
So two topics never have the same name.
"""

import re
from hashlib import sha256

from broker_core.names import TopicName

LENGTH_MAX = 200  # characters of one part: directories take 255 bytes

_IN_TENANT = re.compile(r"\W|_", re.ASCII)  # the first underscore outside of an escape ends the tenant
_IN_NAME = re.compile(r"\W|_(?=x[0-9A-F]+[^0-9A-Za-z])|^x(?=[0-9A-F]+[^0-9A-Za-z])", re.ASCII)


def table_name(topic: TopicName) -> tuple[str, str]:
    """The namespace and the name of the table. All partitions of a topic have the same one."""
    tenant = _escaped(_IN_TENANT, topic.tenant)
    namespace = _escaped(_IN_NAME, topic.namespace_local)
    return _short(f"{tenant}_{namespace}"), _short(_escaped(_IN_NAME, topic.base.local))


def _escaped(unfit: re.Pattern[str], name: str) -> str:
    return unfit.sub(lambda match: f"_x{ord(match[0]):02X}_", name)


def _short(name: str) -> str:
    """The digest is longer than every escape, so a reader cannot take it for one."""
    if len(name) <= LENGTH_MAX:
        return name
    return f"{name[: LENGTH_MAX // 2]}_x{sha256(name.encode()).hexdigest().upper()}_"
