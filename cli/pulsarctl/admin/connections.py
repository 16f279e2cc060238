"""Connections to the admin API that outlive a command, for many commands in one process.

Only an idle connection is kept: one whose last answer was read to its end.
"""

import http.client
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

KEPT_MAX = 8  # connections, each to a different broker


class Kept(NamedTuple):
    """`base`: the address that it is connected to, of those that the URL lists."""

    base: str
    connection: http.client.HTTPConnection


class Connections:
    """The kept connections, by the settings that they were opened with."""

    def __init__(self) -> None:
        self.idle: dict[Hashable, Kept] = {}

    def take(self, key: Hashable) -> Kept | None:
        return self.idle.pop(key, None)

    def give(self, key: Hashable, kept: Kept) -> bool:
        """Keep the connection, unless there are enough. Return whether it is kept; otherwise the caller closes it."""
        if key in self.idle or len(self.idle) >= KEPT_MAX:
            return False
        self.idle[key] = kept
        return True

    def close(self) -> None:
        while self.idle:
            self.idle.popitem()[1].connection.close()


class _Process:
    """The connections that the commands of this process share; None: each command closes its connection."""

    connections: Connections | None = None


@contextmanager
def kept_open() -> Iterator[None]:
    """In the block, commands leave their connection to the next command."""
    before, _Process.connections = _Process.connections, Connections()
    try:
        yield
    finally:
        _Process.connections.close()
        _Process.connections = before


def shared() -> Connections | None:
    return _Process.connections
