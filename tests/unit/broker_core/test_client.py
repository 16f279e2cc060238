"""When what connections have queued leaves."""

import asyncio

import pytest

from broker_core.client import Unsent


async def test_what_is_queued_leaves_at_the_end_of_the_turn() -> None:
    unsent, written = Unsent(), list[str]()
    unsent.add(lambda: written.append("first"))
    unsent.add(lambda: written.append("second"))
    assert written == []
    await asyncio.sleep(0)
    assert written == ["first", "second"]


async def test_what_is_queued_inside_a_block_leaves_at_its_end() -> None:
    unsent, written = Unsent(), list[str]()
    with unsent:
        unsent.add(lambda: written.append("inside"))
        assert written == []
    assert written == ["inside"]


async def test_what_was_queued_before_a_block_leaves_with_it_and_only_once() -> None:
    unsent, written = Unsent(), list[str]()
    unsent.add(lambda: written.append("before"))
    with unsent:
        unsent.add(lambda: written.append("inside"))
    assert written == ["before", "inside"]
    unsent.add(lambda: written.append("after"))
    await asyncio.sleep(0)
    assert written == ["before", "inside", "after"]


async def test_a_block_leaves_nothing_behind_that_holds_up_the_next_turn() -> None:
    unsent, written = Unsent(), list[str]()
    with unsent:
        pass
    unsent.add(lambda: written.append("later"))
    await asyncio.sleep(0)
    assert written == ["later"]


async def test_a_connection_that_fails_does_not_silence_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise MemoryError

    unsent, written = Unsent(), list[str]()
    with unsent:
        unsent.add(fail)
        unsent.add(lambda: written.append("other"))
    assert written == ["other"]
    assert "cannot send the queued answers of a connection" in caplog.text
