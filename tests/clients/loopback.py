"""Which addresses of its own a machine has."""

import socket


def has_more_loopback_addresses() -> bool:
    try:
        socket.create_server(("127.0.0.2", 0)).close()
    except OSError:
        return False
    return True
