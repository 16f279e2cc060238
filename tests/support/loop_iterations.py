"""An event loop that measures its iterations: how much CPU time its thread uses between two waits.

Unlike the time on a clock, this does not depend on what else runs on the machine.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from selectors import SelectorKey
from typing import Any, TypeVar

T = TypeVar("T")


class IterationSelector(selectors.DefaultSelector):
    """`longest`: the CPU seconds of the longest iteration, between two selects, since `reset`."""

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def reset(self) -> None:
        self.longest = 0.0
        self.iterations = 0
        self._began = time.thread_time()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        self.iterations += 1
        self.longest = max(self.longest, time.thread_time() - self._began)
        ready = super().select(timeout)
        self._began = time.thread_time()
        return ready


class MeasuredLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.iterations = IterationSelector()
        super().__init__(self.iterations)


def iterations() -> IterationSelector:
    """The iterations of the running loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, MeasuredLoop)
    return loop.iterations


async def longest_iteration(work: Coroutine[Any, Any, object]) -> float:
    """Awaits `work`; returns the CPU seconds of the longest iteration in the meantime."""
    await asyncio.sleep(0)
    iterations().reset()
    await work
    await asyncio.sleep(0)
    return iterations().longest


def run_measured(scenario: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=MeasuredLoop) as runner:
        return runner.run(scenario())
