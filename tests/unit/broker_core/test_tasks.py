"""Changes that run to their end, whatever becomes of their caller."""

import asyncio
import gc
import inspect
from typing import Any

import pytest

from broker_core.tasks import to_the_end


async def test_a_change_raises_to_its_caller() -> None:
    async def fail() -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        await to_the_end(asyncio.get_running_loop().create_task, fail())


async def test_a_change_that_fails_after_its_caller_left_reports_nothing() -> None:
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    begun, go_on = asyncio.Event(), asyncio.Event()
    changes: list[asyncio.Task[Any]] = []

    def spawn(work: Any) -> asyncio.Task[Any]:
        changes.append(loop.create_task(work))
        return changes[-1]

    async def fail() -> None:
        begun.set()
        await go_on.wait()
        raise ValueError("refused")

    caller = loop.create_task(to_the_end(spawn, fail()))
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    go_on.set()
    await changes[0]
    changes.clear()
    del caller
    gc.collect()
    assert reported == []


async def test_a_change_that_is_canceled_before_it_begins_is_closed() -> None:
    async def never() -> None:
        raise AssertionError

    def spawn(work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        task.cancel()
        return task

    change = never()
    with pytest.raises(asyncio.CancelledError):
        await to_the_end(spawn, change)
    assert inspect.getcoroutinestate(change) == inspect.CORO_CLOSED
