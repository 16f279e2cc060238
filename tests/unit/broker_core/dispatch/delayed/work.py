"""The tasks that an index starts, as its owner in the broker keeps them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.support.condition import until


class Work:
    """Owns the tasks of an index."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def done(self) -> None:
        await until(lambda: not self.tasks)
