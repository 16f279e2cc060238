"""Whether the peer of a connection is alive: PINGs at intervals, and one when another client needs its name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from broker_core.wire import commands

SILENT = "the peer does not answer"


class Peer(Protocol):
    """The connection as this module uses it."""

    def send(self, data: bytes) -> None: ...

    def give_up(self, reason: str) -> None: ...


class Liveness:
    """`is_ready` says whether the client has connected; `is_excused`, whether we do not read its socket."""

    def __init__(
        self, peer: Peer, interval_seconds: float, is_ready: Callable[[], bool], is_excused: Callable[[], bool]
    ) -> None:
        self._peer = peer
        self._interval_seconds = interval_seconds
        self._is_ready = is_ready
        self._is_excused = is_excused
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._ping_sent = False
        self.heard = False  # something arrived since the last PING; a plain attribute: each read sets it
        self.listening: list[asyncio.Future[bool]] = []  # callers that wait to learn whether the peer is alive

    def start(self) -> None:
        self._timer = self._loop.call_later(self._interval_seconds, self._tick)

    def stop(self) -> None:
        """Stop, because the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
        self.answer(alive=False)

    def _tick(self) -> None:
        """Like Pulsar, disconnect a peer that is silent since the last PING while the broker reads its socket."""
        if not self._is_ready():
            self._peer.give_up("no CONNECT in time")
            return
        if self._ping_sent and not self.heard and not self._is_excused():
            self._peer.give_up(SILENT)
            return
        self.heard = False
        self._ping_sent = True
        self._peer.send(commands.ping())
        self.start()

    async def ask(self, timeout_seconds: float) -> bool:
        """Sends a PING; whether the peer answers. Disconnects one that is silent for that long."""
        heard: asyncio.Future[bool] = self._loop.create_future()
        self.listening.append(heard)
        self._peer.send(commands.ping())
        try:
            if await asyncio.wait_for(heard, timeout_seconds):
                return True
        except TimeoutError:
            if self._is_excused():
                return True
            self._peer.give_up(f"{SILENT}, and another wants its place")
        return False

    def answer(self, *, alive: bool) -> None:
        for waiting in self.listening:
            if not waiting.done():
                waiting.set_result(alive)
        self.listening.clear()
