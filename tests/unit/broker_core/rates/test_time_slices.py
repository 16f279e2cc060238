"""Long work on the event loop in time slices."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from broker_core.rates.time_slices import AT_A_TIME, SLICE_SECONDS, gathered, sliced


def busy(items: int, seconds: float) -> Iterator[int]:
    for number in range(items):
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            pass
        yield number


async def passes_of_others(work: Callable[[], Iterator[int]]) -> tuple[list[int], int]:
    """The items of the work, and how often another task ran in the meantime."""
    passes = 0

    async def count() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    items = [item async for item in sliced(work())]
    counting.cancel()
    return items, passes


def test_long_work_lets_other_tasks_run() -> None:
    items, passes = asyncio.run(passes_of_others(lambda: busy(20, SLICE_SECONDS)))
    assert items == list(range(20))
    assert passes >= 10


def test_short_work_does_not_pause() -> None:
    items, passes = asyncio.run(passes_of_others(lambda: iter(range(20))))
    assert items == list(range(20))
    assert passes <= 1


def test_gathered_acts_on_some_items_at_a_time() -> None:
    async def most_at_once() -> tuple[list[int], int]:
        acting, most = 0, 0

        async def act(item: int) -> int:
            nonlocal acting, most
            acting += 1
            most = max(most, acting)
            await asyncio.sleep(0)
            acting -= 1
            return 2 * item

        return await gathered(range(10 * AT_A_TIME), act), most

    results, most = asyncio.run(most_at_once())
    assert results == [2 * item for item in range(10 * AT_A_TIME)]
    assert most == AT_A_TIME


async def test_gathered_raises_an_error_when_nothing_of_it_runs_any_longer() -> None:
    ended = []

    async def act(item: int) -> None:
        if item == 0:
            raise ValueError("the first one")
        for _ in range(10):
            await asyncio.sleep(0)
        ended.append(item)

    with pytest.raises(ValueError, match="the first one"):
        await gathered(range(3), act)
    assert ended == [1, 2]
