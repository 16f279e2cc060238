"""Long works of one event loop take turns, and rest while messages are under way."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import chain, pairwise, repeat
from typing import Any, TypeVar, TypeVarTuple

import pytest

from broker_core.rates.turns import (
    BREAK_SECONDS,
    MESSAGES_SECONDS,
    REST_SECONDS,
    RESTS,
    SHORT_TURN_SECONDS,
    TURN_SECONDS,
    Turnstile,
    entered,
    in_turns,
    turnstile,
)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SleeplessLoop(asyncio.SelectorEventLoop):
    """Notes how long it is asked to sleep, and goes on at once."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.timers: list[asyncio.TimerHandle] = []
        self.is_sleepless = True

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self.slept.append(delay)
        timer = super().call_later(0 if self.is_sleepless else delay, callback, *args, context=context)
        self.timers.append(timer)
        return timer


def run(scenario: Callable[[SleeplessLoop], Coroutine[Any, Any, T]]) -> T:
    loop = SleeplessLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(scenario(loop))


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which two looks take more than a turn, so that what happens in a turn depends on nothing else."""
    looks = iter(range(10**9))
    monkeypatch.setattr(time, "perf_counter", lambda: next(looks) * TURN_SECONDS * 0.6)


def test_work_goes_on_without_a_rest_while_no_message_is_under_way() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        turnstile().gives_way_to(lambda: False)
        await turnstile().wait()
        return loop.slept

    assert run(scenario) == []


def test_work_rests_until_messages_are_on_disk() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        answers = chain([True], repeat(False))
        turnstile().gives_way_to(lambda: next(answers))
        await turnstile().wait()
        return loop.slept

    assert run(scenario) == [REST_SECONDS]


def test_work_rests_for_a_message_that_comes_while_the_broker_gives_up_its_processor() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        answers = chain([False, True], repeat(False))
        turnstile().gives_way_to(lambda: next(answers))
        await turnstile().wait()
        return loop.slept

    assert run(scenario) == [REST_SECONDS]


def test_the_rests_of_a_canceled_work_do_not_count_for_the_next() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        turnstile().gives_way_to(lambda: True)
        canceled = asyncio.ensure_future(turnstile().wait())
        while len(loop.slept) < RESTS:  # noqa: ASYNC110  # before the iteration after the last rest
            await asyncio.sleep(0)
        canceled.cancel()
        await a_few_iterations()
        loop.slept.clear()
        await turnstile().wait()
        return loop.slept

    assert run(scenario) == [REST_SECONDS] * RESTS


async def a_few_iterations() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_rest_ends_when_the_last_message_has_been_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_core.rates.turns.REST_SECONDS", 3600)

    async def scenario() -> list[bool]:
        stile, under_way, found = Turnstile(), list(range(RESTS + 2)), list[bool]()
        stile.gives_way_to(lambda: bool(under_way))
        waiting = asyncio.ensure_future(stile.wait())
        await a_few_iterations()
        while under_way:
            under_way.pop()
            stile.messages_went()
            await a_few_iterations()
            found.append(waiting.done())
        return found

    assert asyncio.run(scenario()) == [False] * (RESTS + 1) + [True]


def test_a_rest_that_messages_have_ended_does_not_end_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, two works would have their turns side by side from then on."""
    monkeypatch.setattr("broker_core.rates.turns.REST_SECONDS", 3600)

    async def scenario(loop: SleeplessLoop) -> list[bool]:
        loop.is_sleepless = False
        stile, under_way = Turnstile(), [True]
        stile.gives_way_to(lambda: bool(under_way))
        waiting = asyncio.ensure_future(stile.wait())
        await a_few_iterations()
        under_way.clear()
        stile.messages_went()
        await waiting
        return [timer.cancelled() for timer in loop.timers]

    assert run(scenario) == [True]


def test_work_goes_on_beside_a_load_that_never_ends() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        turnstile().gives_way_to(lambda: True)
        for _ in range(3):
            await turnstile().wait()
        return loop.slept

    assert run(scenario) == [REST_SECONDS] * RESTS * 3


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The sleeps of the thread itself, which end at once."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


async def three_turns(*, beside_messages: bool) -> None:
    turnstile().gives_way_to(lambda: beside_messages)
    for _ in range(3):
        await turnstile().wait()


def test_the_broker_gives_up_its_processor_before_each_turn_beside_messages(breaks: list[float]) -> None:
    run(lambda _: three_turns(beside_messages=True))
    assert breaks == [BREAK_SECONDS] * 3


def test_work_alone_keeps_its_processor(breaks: list[float]) -> None:
    run(lambda _: three_turns(beside_messages=False))
    assert breaks == []


def test_turns_are_short_until_no_message_has_come_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)

    async def scenario(_: SleeplessLoop) -> list[float]:
        nonlocal now
        answers = chain([True], repeat(False))
        turnstile().gives_way_to(lambda: next(answers))
        found = [turnstile().turn_seconds]
        await turnstile().wait()
        found.append(turnstile().turn_seconds)
        now += MESSAGES_SECONDS
        return [*found, turnstile().turn_seconds]

    assert run(scenario) == [TURN_SECONDS, SHORT_TURN_SECONDS, TURN_SECONDS]


def test_a_broker_that_has_stopped_holds_up_nothing() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        forget = turnstile().gives_way_to(lambda: True)
        forget()
        await turnstile().wait()
        return loop.slept

    assert run(scenario) == []


def test_what_arrives_in_a_turn_is_seen_before_the_next_one() -> None:
    """A message that arrives while one work has its turn stops the other work, not the one after it."""

    async def scenario(loop: SleeplessLoop) -> list[str]:
        stile, said = Turnstile(), list[str]()
        stile.gives_way_to(lambda: said[-1:] == ["message"])

        async def work(name: str) -> None:
            await stile.wait()
            said.append(name)
            if name == "first":
                loop.call_soon(said.append, "message")

        await asyncio.gather(work("first"), work("second"))
        return said if loop.slept else []

    assert run(scenario) == ["first", "message", "second"]


def test_works_have_their_turns_one_by_one_in_the_order_in_which_they_came() -> None:
    async def scenario(_: SleeplessLoop) -> list[str]:
        said: list[str] = []

        async def work(name: str) -> None:
            for _ in range(3):
                await turnstile().wait()
                said.append(name)
                asyncio.get_running_loop().call_soon(said.append, "others")

        await asyncio.gather(work("a"), work("b"))
        return said

    assert run(scenario)[:8] == ["a", "others", "b", "others", "a", "others", "b", "others"]


def test_a_canceled_work_stops_no_other() -> None:
    async def scenario(_: SleeplessLoop) -> None:
        canceled = asyncio.ensure_future(turnstile().wait())
        waiting = asyncio.ensure_future(turnstile().wait())
        await asyncio.sleep(0)
        canceled.cancel()
        await waiting

    run(scenario)


async def three_requests_apart(loop: SleeplessLoop) -> list[float]:
    for _ in range(3):
        await entered()
        for _ in range(round(2 * REST_SECONDS / TURN_SECONDS)):
            time.perf_counter()
    return loop.slept


@pytest.mark.usefixtures("slow_clock")
def test_a_request_that_comes_alone_begins_at_once() -> None:
    assert run(three_requests_apart) == []


@pytest.mark.parametrize("iterations", range(1, 5))
def test_a_request_has_no_turn_in_the_iteration_of_another_work(iterations: int) -> None:
    async def scenario(loop: SleeplessLoop) -> list[str]:
        stile, said = Turnstile(), list[str]()

        async def work() -> None:
            await stile.wait()
            said.append("work")
            loop.call_soon(said.append, "others")

        async def request() -> None:
            await stile.enter()
            said.append("request")

        working = asyncio.ensure_future(work())
        for _ in range(iterations):
            await asyncio.sleep(0)
        await asyncio.gather(working, request())
        return said

    assert run(scenario) == ["work", "others", "request"]


@pytest.mark.usefixtures("slow_clock")
def test_a_request_that_comes_while_messages_are_under_way_rests_first() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        turnstile().gives_way_to(lambda: True)
        return await three_requests_apart(loop)

    assert run(scenario) == [REST_SECONDS] * RESTS * 3


@pytest.mark.usefixtures("slow_clock")
def test_requests_that_come_together_begin_one_by_one() -> None:
    async def scenario(loop: SleeplessLoop) -> list[float]:
        turnstile().gives_way_to(lambda: True)
        await asyncio.gather(*(entered() for _ in range(5)))
        return loop.slept

    assert run(scenario) == [REST_SECONDS] * RESTS * 5


@pytest.mark.usefixtures("slow_clock")
def test_work_on_many_items_lets_others_run_after_every_turn() -> None:
    async def scenario(loop: SleeplessLoop) -> list[int]:
        done, together = 0, list[int]()

        async def others() -> None:
            while True:
                together.append(done)
                await asyncio.sleep(0)

        looking = loop.create_task(others())
        async for _ in in_turns(range(100)):
            done += 1
        looking.cancel()
        return [after - before for before, after in pairwise(together)]

    assert max(run(scenario)) <= 2
