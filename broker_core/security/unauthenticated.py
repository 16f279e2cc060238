"""Connections whose clients have not authenticated: few from one address, and each for a short time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

TOO_MANY = "Reached the maximum number of connections that have not authenticated"
TOO_LATE = "the client did not authenticate in time"


class UnauthenticatedConnections:
    def __init__(self, most: int, seconds: float) -> None:
        """`most`: connections of one address, 0 for no limit."""
        self._most = most
        self._seconds = seconds
        self._of_address: Counter[str] = Counter()

    def admit(self, host: str, give_up: Callable[[str], None]) -> UnauthenticatedConnection | None:
        """Calls `give_up` with the reason when the time is over. None if the address has too many of them."""
        if 0 < self._most <= self._of_address[host]:
            return None
        self._of_address[host] += 1
        deadline = asyncio.get_running_loop().call_later(self._seconds, give_up, TOO_LATE)
        return UnauthenticatedConnection(self._of_address, host, deadline)


class UnauthenticatedConnection:
    def __init__(self, of_address: Counter[str], host: str, deadline: asyncio.TimerHandle) -> None:
        self._of_address = of_address
        self._host = host
        self._deadline = deadline

    def leave(self) -> None:
        """The client has proved who it is, or is gone. Called once."""
        self._deadline.cancel()
        self._of_address[self._host] -= 1
        if self._of_address[self._host] <= 0:
            del self._of_address[self._host]
