"""A limit on the memory for the bodies of all requests and answers.

Each request has one `Share`. What it reads from its client is counted as it arrives, and refused if no memory is left.
Before it reads a message it waits for memory, first come, first served. Everything is released when the answer is sent.
A request waits before it holds anything, so two requests never wait for each other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

from broker_core.errors import BrokerError


class BodyMemoryFull(BrokerError, status=503):
    """Running requests use all the memory for bodies."""


class BodyMemory:
    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def share(self) -> Share:
        return Share(self)

    def take_now(self, size: int) -> None:
        """Raises `BodyMemoryFull`."""
        if size > self._free:
            raise BodyMemoryFull("the bodies of other requests use all the memory for bodies; try again later")
        self._free -= size

    async def take(self, size: int) -> int:
        """Waits until that much is free, or for all of the memory if `size` is larger; returns the size taken."""
        size = min(size, self._limit)
        if self._waiting or size > self._free:
            granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((size, granted))
            try:
                await granted
            except asyncio.CancelledError:
                self._left(size, granted)
                raise
        else:
            self._free -= size
        return size

    def _left(self, size: int, granted: asyncio.Future[None]) -> None:
        """A request stops waiting; if it got its memory in the same moment, the memory is released."""
        self.give(0 if granted.cancelled() else size)

    def give(self, size: int) -> None:
        self._free += size
        while self._waiting and (self._waiting[0][1].cancelled() or self._waiting[0][0] <= self._free):
            needed, granted = self._waiting.popleft()
            if not granted.cancelled():
                self._free -= needed
                granted.set_result(None)


class Share:
    """The memory that one request holds; a context manager that releases it."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._held = 0

    def take_now(self, size: int) -> None:
        """Raises `BodyMemoryFull`."""
        self._memory.take_now(size)
        self._held += size

    async def take(self, size: int) -> None:
        self._held += await self._memory.take(size)

    def keep(self, size: int) -> None:
        """Releases what is held above `size`, which is all that is needed from now on."""
        spare = max(self._held - size, 0)
        self._held -= spare
        self._memory.give(spare)

    def handed_over(self) -> Share:
        """Another share, which holds all of it from now on."""
        other = Share(self._memory)
        other._held, self._held = self._held, 0
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _where: TracebackType | None) -> None:
        self.keep(0)
