"""Long work on the event loop in slices."""

import asyncio
import time
from collections.abc import Callable, Iterator

from broker_core.rates.turns import AT_A_TIME, TURN_SECONDS, in_turns, side_by_side


def busy(items: int, seconds: float) -> Iterator[int]:
    for number in range(items):
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            pass
        yield number


async def turns_of_others(work: Callable[[], Iterator[int]]) -> tuple[list[int], int]:
    """The items of the work, and how often another task ran in the meantime."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    items = [item async for item in in_turns(work())]
    counting.cancel()
    return items, turns


def test_long_work_lets_other_tasks_run() -> None:
    items, turns = asyncio.run(turns_of_others(lambda: busy(20, TURN_SECONDS)))
    assert items == list(range(20))
    assert turns >= 10


def test_short_work_is_done_in_one_turn() -> None:
    items, turns = asyncio.run(turns_of_others(lambda: iter(range(20))))
    assert items == list(range(20))
    assert turns <= 1


def test_side_by_side_acts_on_some_items_at_a_time() -> None:
    async def most_at_once() -> tuple[list[int], int]:
        under_way, most = 0, 0

        async def act(item: int) -> int:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return 2 * item

        return await side_by_side(range(10 * AT_A_TIME), act), most

    found, most = asyncio.run(most_at_once())
    assert found == [2 * item for item in range(10 * AT_A_TIME)]
    assert most == AT_A_TIME
