"""The operation that runs on each topic: its creation, load, unload, deletion, or change.

Only one runs at a time; callers wait here for the others. Keys are full names.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.topic.topic import Topic


class TopicOperations:
    def __init__(self) -> None:
        self.creations: dict[str, asyncio.Future[None]] = {}  # the topic's document is being written
        self.loads: dict[str, asyncio.Task[Topic]] = {}
        self._changes: dict[str, asyncio.Future[None]] = {}  # and unloads and deletions

    async def wait_until_idle(self, key: str) -> None:
        """Waits while the topic is being created, unloaded, or deleted."""
        while busy := self._changes.get(key) or self.creations.get(key):
            await asyncio.wait([busy])

    @contextlib.asynccontextmanager
    async def alone(self, key: str) -> AsyncIterator[None]:
        """Allows one unload, deletion, or change of a topic at a time, and no load during it."""
        await self.wait_until_idle(key)
        future = self._changes[key] = asyncio.get_running_loop().create_future()
        try:
            if key in self.loads:
                await asyncio.wait([self.loads[key]])
            yield
        finally:
            del self._changes[key]
            future.set_result(None)
