"""Long work on the event loop in time slices, between which messages and requests are handled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

SLICE_SECONDS = 0.000_5
PAUSE_SECONDS = 0.001
AT_A_TIME = 100


class TimeSlices:
    """Pauses after each time slice, in work that is more than one loop.

    A pause is a sleep and not only a yield: while the loop sleeps, the journal's thread gets the interpreter and
    clients on the same machine get the processor. `make bench ARGS='--row beside'` measures what producers see of it.
    """

    __slots__ = ("_ends", "_pause_seconds")

    def __init__(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        """`pause_seconds`: 0 for work that a message or a stop waits for."""
        self._pause_seconds = pause_seconds
        self._ends = time.perf_counter() + SLICE_SECONDS

    @property
    def over(self) -> bool:
        return time.perf_counter() >= self._ends

    async def pause(self) -> None:
        """Returns at once if the time slice is not over."""
        if self.over:
            await asyncio.sleep(self._pause_seconds)
            self._ends = time.perf_counter() + SLICE_SECONDS


async def sliced(items: Iterable[Item], slices: TimeSlices | None = None) -> AsyncIterator[Item]:
    """Yields the items one by one, and pauses after each time slice of work on them.

    `slices` are the time slices of the larger work that this belongs to.
    """
    slices = slices or TimeSlices()
    for item in items:
        await slices.pause()
        yield item


async def gathered(items: Iterable[Item], act: Callable[[Item], Awaitable[Result]]) -> list[Result]:
    """The results of `act` for each item, `AT_A_TIME` of them together, so that they share the syncs of the disk.

    Raises the first error after all acts of the same batch have ended, so that none runs without an owner.
    """
    remaining, results = iter(items), list[Result]()
    while batch := list(islice(remaining, AT_A_TIME)):
        for result in await asyncio.gather(*map(act, batch), return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
            results.append(result)
    return results
