"""Work that waits until the broker is idle, since it would stop everything else for a moment."""

from __future__ import annotations

import asyncio
import time

from broker_core.server.allocator import FREE_WHEN_BUSY, FREE_WHEN_IDLE, trimmer
from broker_core.server.collector import Collector

LOOK_SECONDS = 10.0
IDLE_SHARE = 0.03  # share of one processor


class Idleness:
    """Whether the process has done next to nothing since the last check."""

    def __init__(self) -> None:
        self._at, self._used = time.monotonic(), time.process_time()

    def look(self) -> bool:
        before, used = self._at, self._used
        self._at, self._used = time.monotonic(), time.process_time()
        return self._used - used < IDLE_SHARE * (self._at - before)


async def work_when_idle(collector: Collector) -> None:
    """Until canceled: thorough garbage collections, and freed memory back to the system."""
    trim, idleness = trimmer(), Idleness()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        idle = idleness.look()
        collector.look(idle=idle)
        if trim is not None:  # in a thread: the calls release the interpreter's lock
            await asyncio.to_thread(trim, FREE_WHEN_IDLE if idle else FREE_WHEN_BUSY)
