"""Requests that arrive while a topic changes its phase: each is either done before the change or refused."""

import itertools
import json
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from urllib.error import HTTPError

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe, CommandTopicMigrated
from tests.support.clusters import admin
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("migration")

GREEN = "pulsar://green:6650"
NAMES = itertools.count()
THREADS = 6
SECONDS = 30


@pytest.fixture
def topic(pulsar_broker: EmbeddedBroker) -> str:
    name = f"persistent://public/default/race-{next(NAMES)}"
    admin(pulsar_broker.http_url, "PUT", name.replace("://", "/"))
    return name


def enter(broker: EmbeddedBroker, topic: str, phase: str) -> None:
    admin(
        broker.http_url, "POST", f"{topic.replace('://', '/')}/migration", {"phase": phase, "brokerServiceUrl": GREEN}
    )


def rest_produce(broker: EmbeddedBroker, topic: str) -> None:
    """One message; raises `HTTPError`."""
    url = f"{broker.http_url}/topics/{topic.replace('://', '/')}"
    request = urllib.request.Request(url, json.dumps({"messages": [{"payload": "x"}]}).encode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=SECONDS):
        pass


def count_until_refused(act: Callable[[], None], under_way: Event) -> tuple[int, int]:
    """How many times it succeeded, and the status of the refusal."""
    for done in itertools.count():
        try:
            act()
        except HTTPError as refused:
            return done, refused.code
        under_way.set()
    raise AssertionError("unreachable")


@pytest.mark.parametrize(("phase", "refusal"), [("stopped", 503), ("moved", 409)])
def test_what_rest_publishes_is_in_the_topic_before_the_phase_begins_or_refused(
    pulsar_broker: EmbeddedBroker, topic: str, phase: str, refusal: int
) -> None:
    under_way = Event()
    with ThreadPoolExecutor(THREADS) as threads:
        counts = [
            threads.submit(count_until_refused, lambda: rest_produce(pulsar_broker, topic), under_way)
            for _ in range(THREADS)
        ]
        assert under_way.wait(SECONDS)
        enter(pulsar_broker, topic, phase)
        stored = loaded(pulsar_broker, topic).ledger.entries
        answers = [one.result(SECONDS) for one in counts]
    assert sum(done for done, _ in answers) == stored == loaded(pulsar_broker, topic).ledger.entries
    assert {code for _, code in answers} == {refusal}


def test_a_consumer_that_subscribes_while_its_topic_moves_is_sent_after_it(
    pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    number = 60
    with RawClient(pulsar_broker.service_url) as raw, ThreadPoolExecutor(1) as threads:
        commands = [subscribe(topic, consumer_id) for consumer_id in range(1, number + 1)]
        raw.send(b"".join(commands[: number // 3]))
        raw.expect(BaseCommand.SUCCESS)
        moving = threads.submit(enter, pulsar_broker, topic, "moved")
        for command in commands[number // 3 :]:
            raw.send(command)
        moved, closed = sent_away(raw, number)
        moving.result(SECONDS)
    everyone = Counter(range(1, number + 1))
    assert (moved, closed) == (everyone, everyone)
    assert not list(loaded(pulsar_broker, topic).subscriptions.consumers())


def subscribe(topic: str, consumer_id: int) -> bytes:
    name = f"s{consumer_id}"
    return client_commands.subscribe(consumer_id, topic, name, consumer_id, initial_position=CommandSubscribe.Latest)


def sent_away(raw: RawClient, number: int) -> tuple[Counter[int], Counter[int]]:
    """Whom TOPIC_MIGRATED and CLOSE_CONSUMER name, until each consumer was closed."""
    moved, closed = Counter[int](), Counter[int]()
    while closed.total() < number:
        item = raw.next(SECONDS)
        if isinstance(item, Command) and item.type == BaseCommand.TOPIC_MIGRATED:
            assert item.message.resource_type == CommandTopicMigrated.Consumer
            assert item.message.brokerServiceUrl == GREEN
            moved[item.message.resource_id] += 1
        elif isinstance(item, Command) and item.type == BaseCommand.CLOSE_CONSUMER:
            closed[item.message.consumer_id] += 1
    return moved, closed
