"""The behavior of clients that follows from the version that they send in CONNECT."""

import re

_CPP_FAMILY = ("Pulsar-CPP", "Python", "Pulsar-Python", "Pulsar-Node")
_GO = "Pulsar-Go"
_RELEASE = re.compile(r"-v(\d+)\.(\d+)\.(\d+)(.*)")


def ignores_error_before_connected(client_version: str) -> bool:
    """Whether the client takes an ERROR before CONNECTED for a lost connection, and retries until its timeout.

    The C++ client, its bindings, and the Go client do.
    """
    return client_version.startswith((*_CPP_FAMILY, _GO))


def knows_entry_buckets(client_version: str) -> bool:
    """Whether a stream consumer of the client can share a segment: from 5.0.0 on, but not in its milestones.

    That of `pulsarctl consume` can.
    """
    if client_version == "pulsarctl":
        return True
    release = _RELEASE.search(client_version)
    if release is None:
        return False
    number, suffix = tuple(map(int, release.group(1, 2, 3))), release[4]
    return number > (5, 0, 0) or (number == (5, 0, 0) and not suffix)
