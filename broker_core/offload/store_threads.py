"""Threads for requests to stores, each with a deadline for the whole call.

The deadlines of Arrow's clients are for one request without any data: a store that sends a byte a second, or pages of a
listing without end, keeps such a call for good. Nothing ends it, so its thread is given up: it takes no other call
until the store lets it go, and when all threads are given up, further calls are refused at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from broker_core.offload.errors import OffloadFailed

T = TypeVar("T")


class StoreThreads:
    def __init__(self, count: int, name: str, seconds: float) -> None:
        self._count = count
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(count, name)
        self._given_up: set[Future[Any]] = set()

    @property
    def given_up(self) -> int:
        self._given_up = {call for call in self._given_up if not call.done()}
        return len(self._given_up)

    async def run(self, work: Callable[[], T], seconds: float = 0.0) -> T:
        """Raises `OffloadFailed` between one and two deadlines after the start of the call, and what `work` raises.

        The time in the queue does not count.
        """
        seconds = seconds or self._seconds
        self._check_threads(seconds)
        call = self._threads.submit(work)
        result = asyncio.wrap_future(call)
        runs = False
        try:
            while not (await asyncio.wait([result], timeout=seconds))[0]:
                if runs:
                    self._given_up.add(call)
                    raise _too_slow(seconds)
                self._check_threads(seconds)
                runs = call.running()
            return result.result()
        finally:
            result.cancel()  # without an effect on a call that has started

    async def run_to_end(self, work: Callable[[], T]) -> T:
        """For a call that must not go on after its caller: it has no deadline."""
        return await asyncio.wrap_future(self._threads.submit(work))

    def _check_threads(self, seconds: float) -> None:
        """Raises `OffloadFailed` if all of them are given up."""
        if self.given_up == self._count:
            raise _too_slow(seconds)

    def close(self) -> None:
        """Blocks until running calls end, except those that were given up."""
        self._threads.shutdown(wait=not self.given_up, cancel_futures=True)


def _too_slow(seconds: float) -> OffloadFailed:
    return OffloadFailed(f"the store did not complete its answer within {seconds:g} seconds")
