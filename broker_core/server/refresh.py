"""Credentials that expire: asks the client for new ones by AUTH_CHALLENGE, and disconnects one that has none.

As in Pulsar, the broker looks every `authenticationRefreshCheckSeconds`. A client that does not answer is disconnected
at the next look; one that cannot answer, at the first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker_core.wire import commands

if TYPE_CHECKING:
    from broker_core.security.provider import Identity
    from broker_core.server.session import Session

CHALLENGE = b"PulsarAuthRefresh"


class Refresh:
    def __init__(self, session: Session, method: str, identity: Identity, *, can_answer: bool) -> None:
        self._session = session
        self._method = method
        self._expires_ms = identity.expires_ms
        self._can_answer = can_answer
        self._asked = False
        self._seconds = session.broker.config.security.refresh_seconds
        self._timer = self._arm()

    def _arm(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        if self._expires_ms is not None and self._session.broker.clock.wall_ms() >= self._expires_ms:
            if self._asked or not self._can_answer:
                self._session.outbound.give_up("its credentials have expired")
                return
            self._asked = True
            version = self._session.protocol_version
            self._session.outbound.send(commands.auth_challenge(version, self._method, CHALLENGE))
        self._timer = self._arm()

    def renewed(self, identity: Identity) -> None:
        self._expires_ms = identity.expires_ms
        self._asked = False

    def cancel(self) -> None:
        self._timer.cancel()
