"""The behavior of clients that follows from the version that they send in CONNECT."""

_CPP_FAMILY = ("Pulsar-CPP", "Python", "Pulsar-Python", "Pulsar-Node")
_GO = "Pulsar-Go"


def ignores_error_before_connected(client_version: str) -> bool:
    """Whether the client takes an ERROR before CONNECTED for a lost connection, and retries until its timeout.

    The C++ client, its bindings, and the Go client do.
    """
    return client_version.startswith((*_CPP_FAMILY, _GO))
