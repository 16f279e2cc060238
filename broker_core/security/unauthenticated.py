"""Connections whose clients have not authenticated: few from one address, and each for a short time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker_core.security.connection_count import ConnectionCount

TOO_MANY = "Reached the maximum number of connections that have not authenticated"
TOO_LATE = "the client did not authenticate in time"


class UnauthenticatedConnections:
    def __init__(self, most: int, seconds: float) -> None:
        """`most`: connections of one address, 0 for no limit."""
        self._count = ConnectionCount(0, most)
        self._seconds = seconds

    def admit(self, host: str, give_up: Callable[[str], None]) -> UnauthenticatedConnection | None:
        """Calls `give_up` with the reason when the time is over. None if the address has too many of them."""
        if self._count.take(host):
            return None
        deadline = asyncio.get_running_loop().call_later(self._seconds, give_up, TOO_LATE)
        return UnauthenticatedConnection(self._count, host, deadline)


class UnauthenticatedConnection:
    def __init__(self, count: ConnectionCount, host: str, deadline: asyncio.TimerHandle) -> None:
        self._count = count
        self._host = host
        self._deadline = deadline

    def leave(self) -> None:
        """The client has authenticated, or has disconnected. Called once."""
        self._deadline.cancel()
        self._count.free(self._host)
