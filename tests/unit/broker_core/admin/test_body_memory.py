"""The memory for bodies, shared by requests: they wait in order, are refused, and release it."""

import asyncio

import pytest

from broker_core.admin.body_memory import BodyMemory, BodyMemoryFull


async def test_a_request_for_more_than_is_free_waits_for_a_release() -> None:
    memory = BodyMemory(10)
    first, second = memory.share(), memory.share()
    await first.take(6)
    waiting = asyncio.create_task(second.take(6))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.keep(4)
    await waiting


async def test_requests_get_memory_in_the_order_in_which_they_ask() -> None:
    memory = BodyMemory(10)
    holder, large, small = memory.share(), memory.share(), memory.share()
    await holder.take(5)
    turns = [asyncio.create_task(large.take(8)), asyncio.create_task(small.take(1))]
    await asyncio.sleep(0)
    assert not any(turn.done() for turn in turns)
    holder.keep(0)
    await asyncio.gather(*turns)


async def test_a_request_that_stops_waiting_lets_the_next_one_continue() -> None:
    memory = BodyMemory(10)
    await memory.share().take(5)
    large, small = asyncio.create_task(memory.share().take(8)), asyncio.create_task(memory.share().take(1))
    await asyncio.sleep(0)
    large.cancel()
    await small
    with pytest.raises(asyncio.CancelledError):
        await large


async def test_a_canceled_request_releases_its_memory() -> None:
    memory = BodyMemory(10)
    holder = memory.share()
    await holder.take(10)
    turn = asyncio.create_task(memory.share().take(10))
    await asyncio.sleep(0)
    holder.keep(0)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    memory.take_now(10)


async def test_new_data_is_refused_without_free_memory() -> None:
    memory = BodyMemory(10)
    with memory.share() as share:
        share.take_now(8)
        with pytest.raises(BodyMemoryFull, match="try again later"):
            memory.take_now(3)
    memory.take_now(10)


async def test_a_request_for_more_than_the_total_takes_the_total() -> None:
    memory = BodyMemory(10)
    with memory.share() as share:
        await share.take(100)
        with pytest.raises(BodyMemoryFull):
            memory.take_now(1)
    memory.take_now(10)
