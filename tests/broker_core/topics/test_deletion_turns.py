"""The deletion of a topic takes turns with the messages of others."""

import time
from itertools import count

import pytest

from broker_core.broker import Broker
from broker_core.names import parse_topic
from broker_core.rates.turns import BREAK_SECONDS, TURN_SECONDS, turnstile

NAME = parse_topic("persistent://public/default/t")


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The sleeps of threads, which end at once: beside messages, the loop takes one before each turn."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two looks take more than a turn."""
    begin, looks = time.perf_counter(), count()
    monkeypatch.setattr(time, "perf_counter", lambda: begin + next(looks) * TURN_SECONDS * 0.6)


async def turns_of_a_deletion(broker: Broker, breaks: list[float]) -> int:
    end = turnstile().gives_way_to(lambda: True)
    await broker.topics.create(NAME)
    breaks.clear()
    await broker.topics.delete(NAME)
    end()
    return breaks.count(BREAK_SECONDS)


@pytest.mark.usefixtures("slow_clock")
async def test_messages_pass_before_a_deletion_and_after_the_close_of_the_topic_and_the_deletion_of_its_log(
    broker: Broker, breaks: list[float]
) -> None:
    assert await turns_of_a_deletion(broker, breaks) == 3


async def test_messages_pass_between_a_request_and_the_deletion_it_asks_for(
    broker: Broker, breaks: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.perf_counter()
    monkeypatch.setattr(time, "perf_counter", lambda: now)  # no turn is over
    await turnstile().enter()
    assert await turns_of_a_deletion(broker, breaks) == 1
