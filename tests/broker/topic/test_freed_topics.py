"""A topic that was deleted or unloaded is freed at once, with its log and its parts. The garbage collector is off."""

import weakref
from collections.abc import Callable, Iterator

import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe
from tests.long.abuse.attackers import Requests
from tests.support.collector import collector_off
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer

Use = Callable[[EmbeddedBroker, str], None]
End = Callable[[EmbeddedBroker, str], None]


def nothing(broker: EmbeddedBroker, topic: str) -> None:
    """It is only loaded."""


def clients(broker: EmbeddedBroker, topic: str) -> None:
    with RawClient(broker.service_url) as client:
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        client.send(client_commands.subscribe(1, topic, "s", 1, initial_position=CommandSubscribe.Latest))
        client.expect(BaseCommand.SUCCESS)
        client.send(client_commands.flow(1, 100))


def deduplication(broker: EmbeddedBroker, topic: str) -> None:
    policies(broker, topic, "deduplicationEnabled", b"true")
    clients(broker, topic)


def compaction(broker: EmbeddedBroker, topic: str) -> None:
    compacted = loaded(broker, topic).compaction
    policies(broker, topic, "compactionThreshold", b"1")
    wait_until(lambda: not compacted.is_running, 30)


def rates(broker: EmbeddedBroker, topic: str) -> None:
    policies(broker, topic, "dispatchRate", b'{"dispatchThrottlingRateInMsg": 5, "relativeToPublishRate": true}')
    clients(broker, topic)


def policies(broker: EmbeddedBroker, topic: str, policy: str, value: bytes) -> None:
    requests = Requests(broker.http_url)
    try:
        path = f"/admin/v2/{topic.replace('://', '/')}/{policy}"
        status, _ = requests.ask("POST", path, value)
        assert status == 204
    finally:
        requests.close()


def deletes(broker: EmbeddedBroker, topic: str) -> None:
    broker.call(broker.broker.topics.delete(parse_topic(topic), force=True))


def unloads(broker: EmbeddedBroker, topic: str) -> None:
    broker.call(broker.broker.topics.unload(parse_topic(topic)))


@pytest.fixture(autouse=True, scope="module")
def counted_references() -> Iterator[None]:
    with collector_off():
        yield


def used(broker: EmbeddedBroker, topic: str, use: Use) -> "weakref.ref[Topic]":
    reference = weakref.ref(loaded(broker, topic, create=True))
    use(broker, topic)
    return reference


@pytest.mark.parametrize("end", [deletes, unloads])
@pytest.mark.parametrize("use", [nothing, clients, deduplication, compaction, rates])
def test_a_topic_is_freed_at_its_end(use: Use, end: End, broker: EmbeddedBroker) -> None:
    topic = f"persistent://public/default/{use.__name__}-{end.__name__}"
    freed = used(broker, topic, use)
    log = weakref.ref(loaded(broker, topic).ledger)
    end(broker, topic)
    wait_until(lambda: freed() is None and log() is None, 30)


@pytest.mark.parametrize("end", [deletes, unloads])
@pytest.mark.parametrize("use", [nothing, clients])
def test_a_non_persistent_topic_is_freed_at_its_end(use: Use, end: End, broker: EmbeddedBroker) -> None:
    topic = f"non-persistent://public/default/{use.__name__}-{end.__name__}"
    freed = used(broker, topic, use)
    end(broker, topic)
    wait_until(lambda: freed() is None, 30)


def test_the_topic_of_change_events_is_freed_at_its_end(broker: EmbeddedBroker) -> None:
    topic = "persistent://public/default/__change_events"
    freed = used(broker, topic, nothing)
    unloads(broker, topic)
    wait_until(lambda: freed() is None, 30)


def test_a_topic_is_freed_while_a_client_that_used_it_stays(broker: EmbeddedBroker) -> None:
    topic = "persistent://public/default/left"
    freed = weakref.ref(loaded(broker, topic, create=True))
    with RawClient(broker.service_url) as client:
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        client.send(client_commands.subscribe(1, topic, "s", 1, initial_position=CommandSubscribe.Latest))
        client.expect(BaseCommand.SUCCESS)
        deletes(broker, topic)
        wait_until(lambda: freed() is None, 30)
