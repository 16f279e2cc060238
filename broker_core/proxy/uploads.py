"""The body of a request as its client sends it, in time or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable

from aiohttp import StreamReader


class Upload:
    """Raises `TimeoutError` if the client takes longer than `seconds`; `is_late` then says that it was the client."""

    def __init__(self, content: StreamReader, seconds: float) -> None:
        self._content = content
        self._seconds = seconds
        self.is_late = False

    async def whole(self, size: int) -> bytes:
        """A body that is small enough to keep; it must be complete in time."""
        return await self._in_time(self._content.readexactly(size))

    async def pieces(self) -> AsyncIterator[bytes]:
        """Any body; each piece must arrive in time. The time that the broker takes to read a piece does not count."""
        while piece := await self._in_time(self._content.readany()):
            yield piece

    async def _in_time(self, arrival: Awaitable[bytes]) -> bytes:
        try:
            async with asyncio.timeout(self._seconds):
                return await arrival
        except TimeoutError:
            self.is_late = True
            raise
