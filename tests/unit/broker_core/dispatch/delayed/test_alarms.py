"""Alarms fire at wall clock times and only then, however the wall clock changes in the meantime."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker_core.dispatch.delayed.alarms import Alarms
from tests.support.clocks import ShiftedClock

HOUR_MS = 3600_000


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
async def rung(clock: ShiftedClock) -> AsyncIterator[tuple[Alarms, asyncio.Queue[str]]]:
    ringing = Alarms(clock)
    yield ringing, asyncio.Queue()
    ringing.close()


async def next_of(queue: asyncio.Queue[str]) -> str:
    return await asyncio.wait_for(queue.get(), 5)


Rung = tuple[Alarms, asyncio.Queue[str]]


async def test_alarms_fire_in_order_of_time_and_never_early(rung: Rung, clock: ShiftedClock) -> None:
    ringing, queue = rung
    at = clock.wall_ms() + 30
    early: list[int] = []

    def ring(name: str, due: int) -> None:
        if clock.wall_ms() < due:
            early.append(due)
        queue.put_nowait(name)

    ringing.set(at + 20, lambda: ring("second", at + 20))
    ringing.set(at, lambda: ring("first", at))
    assert [await next_of(queue), await next_of(queue)] == ["first", "second"]
    assert not early


async def test_a_clock_set_forward_fires_an_alarm(rung: Rung, clock: ShiftedClock) -> None:
    ringing, queue = rung
    ringing.set(clock.wall_ms() + HOUR_MS, lambda: queue.put_nowait("rung"))
    clock.jump_ms = HOUR_MS
    assert await next_of(queue) == "rung"


async def test_a_clock_set_back_delays_an_alarm(rung: Rung, clock: ShiftedClock) -> None:
    ringing, queue = rung
    ringing.set(clock.wall_ms() + 10, lambda: queue.put_nowait("rung"))
    clock.jump_ms = -HOUR_MS
    looked = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, looked.set)
    await looked.wait()
    assert queue.empty()
    clock.jump_ms = 0
    assert await next_of(queue) == "rung"


async def test_a_canceled_alarm_never_fires(rung: Rung, clock: ShiftedClock) -> None:
    ringing, queue = rung
    cancelled = ringing.set(clock.wall_ms() + 10, lambda: queue.put_nowait("cancelled"))
    ringing.set(clock.wall_ms() + 20, lambda: queue.put_nowait("kept"))
    ringing.cancel(cancelled)
    ringing.cancel(cancelled)
    assert await next_of(queue) == "kept"
    assert queue.empty()


async def test_canceled_alarms_do_not_accumulate(rung: Rung, clock: ShiftedClock) -> None:
    ringing, queue = rung
    ringing.set(clock.wall_ms() + 30, lambda: queue.put_nowait("kept"))
    for _ in range(10_000):
        ringing.cancel(ringing.set(clock.wall_ms() + HOUR_MS, lambda: None))
    assert len(ringing._alarms) < 3000  # the test measures their memory
    assert await next_of(queue) == "kept"


async def test_an_alarm_can_set_another(rung: Rung, clock: ShiftedClock) -> None:
    ringing, queue = rung

    def ring() -> None:
        ringing.set(clock.wall_ms() + 1, lambda: queue.put_nowait("again"))

    ringing.set(clock.wall_ms(), ring)
    assert await next_of(queue) == "again"
