"""Credentials that expire: asks the client for new ones by AUTH_CHALLENGE, and disconnects one that has none.

As in Pulsar, the broker looks every `authenticationRefreshCheckSeconds`. A client that does not answer is disconnected
at the next look; one that cannot answer, at the first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.security.provider import Identity


class Asked(Protocol):
    """The connection whose credentials expire."""

    def send(self, data: bytes) -> None:
        """Queues complete frames; never blocks."""

    def give_up(self, reason: str) -> None:
        """Closes the connection at once; the reason goes to the log."""


class Refresh:
    """`challenge` is the command that asks the client; None if it cannot answer. Expiry is checked every `seconds`."""

    def __init__(
        self, outbound: Asked, clock: Clock, identity: Identity, challenge: bytes | None, *, seconds: float
    ) -> None:
        self._outbound = outbound
        self._clock = clock
        self._expires_ms = identity.expires_ms
        self._challenge = challenge
        self._asked = False
        self._seconds = seconds
        self._timer = self._arm()

    def _arm(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        if self._expires_ms is not None and self._clock.wall_ms() >= self._expires_ms:
            if self._asked or self._challenge is None:
                self._outbound.give_up("its credentials have expired")
                return
            self._asked = True
            self._outbound.send(self._challenge)
        self._timer = self._arm()

    def renewed(self, identity: Identity) -> None:
        self._expires_ms = identity.expires_ms
        self._asked = False

    def cancel(self) -> None:
        self._timer.cancel()
