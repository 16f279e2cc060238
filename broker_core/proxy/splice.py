"""Passes bytes between a client and a broker, unread.

A chunk from one socket is handed to the other as it is: it is one buffer from the first to the last. When a side does
not take what is sent to it, the proxy stops reading the other one, so that a splice holds at most two chunks and two
write buffers. When one side ends, the other gets what is on its way and is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

GOODBYE_SECONDS = 5.0  # seconds in which a side takes the bytes that remain for it


class Half(asyncio.Protocol):
    """One side: what arrives from `transport` goes to `other`."""

    __slots__ = ("_write", "bytes", "chunks", "other", "paused", "splice", "transport")

    def __init__(self, splice: Splice, transport: asyncio.Transport, other: asyncio.Transport) -> None:
        self.splice = splice
        self.transport = transport
        self.other = other
        self.bytes = 0
        self.chunks = 0
        self.paused = False  # whether the other side takes no bytes
        self._write = other.write

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        self.chunks += 1
        self._write(data)

    def pause_writing(self) -> None:
        """This side takes nothing: stops reading the other."""
        self.splice.hold(self)

    def resume_writing(self) -> None:
        self.splice.release(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.splice.lost(self)


class Splice:
    """A client and a broker. `ended` is called once, when both sides are gone."""

    def __init__(
        self,
        client: asyncio.Transport,
        broker: asyncio.Transport,
        *,
        buffer_bytes: int,
        silence_seconds: float,
        ended: Callable[[Splice], Any],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.from_client = Half(self, client, broker)
        self.from_broker = Half(self, broker, client)
        self._halves = {self.from_client: self.from_broker, self.from_broker: self.from_client}
        self._open = set(self._halves)
        self._ended = ended
        self._silence = silence_seconds
        self._seen = (0, 0)
        self.started = self._loop.time()
        self._watcher: asyncio.TimerHandle | None = None
        self._goodbyes: list[asyncio.TimerHandle] = []
        for half in self._halves:
            half.transport.set_write_buffer_limits(high=buffer_bytes)

    def start(self, to_broker: bytes, to_client: bytes) -> None:
        """Takes both connections over; the arguments have arrived before."""
        for half, early in ((self.from_client, to_broker), (self.from_broker, to_client)):
            half.transport.set_protocol(half)
            if early:
                half.data_received(early)
        for half in self._halves:
            if not half.transport.is_closing() and not half.paused:
                half.transport.resume_reading()
        self._watch()

    @property
    def progress(self) -> tuple[int, int]:
        """The chunks of both directions."""
        return self.from_client.chunks, self.from_broker.chunks

    @property
    def bytes(self) -> int:
        return self.from_client.bytes + self.from_broker.bytes

    def hold(self, slow: Half) -> None:
        fast = self._halves[slow]
        fast.paused = True
        if not fast.transport.is_closing():
            fast.transport.pause_reading()

    def release(self, slow: Half) -> None:
        fast = self._halves[slow]
        fast.paused = False
        if not fast.transport.is_closing():
            fast.transport.resume_reading()

    def lost(self, half: Half) -> None:
        self._open.discard(half)
        if not self._open:
            self._cancel_timers()
            self._ended(self)
            return
        self._say_goodbye(self._halves[half])

    def close(self) -> None:
        """Closes both sides after what is on its way."""
        for half in list(self._open):
            self._say_goodbye(half)

    def _say_goodbye(self, half: Half) -> None:
        half.transport.close()
        self._goodbyes.append(self._loop.call_later(GOODBYE_SECONDS, half.transport.abort))

    def _cancel_timers(self) -> None:
        for timer in (self._watcher, *self._goodbyes):
            if timer is not None:
                timer.cancel()

    def abort(self) -> None:
        for half in list(self._open):
            half.transport.abort()

    def _watch(self) -> None:
        self._watcher = self._loop.call_later(self._silence, self._look)

    def _look(self) -> None:
        """Clients and brokers send PINGs: a side that was silent is gone, unless the proxy did not read it."""
        seen = self.progress
        silent = [new == old for new, old in zip(seen, self._seen, strict=True)]
        halves = (self.from_client, self.from_broker)
        if any(quiet and not half.paused for quiet, half in zip(silent, halves, strict=True)):
            self.abort()
            return
        self._seen = seen
        self._watch()
