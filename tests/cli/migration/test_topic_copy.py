"""A copied topic has the same entries, and its subscriptions the same backlog."""

import contextlib
import random
from collections.abc import Iterator
from contextlib import closing

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.config.storage import StorageConfig
from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import CannotConnect, Conflict
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.switch import Destination, Switch, has_moved
from pulsarctl.migration.topic_copy import PartitionCopy, PartitionResult
from pulsarctl.migration.topic_setup import prepare
from pulsarctl.settings.settings import Settings
from tests.support.cutting_relay import CuttingRelay
from tests.support.official_client import connect

SCHEMES = (pulsar.CompressionType.NONE, pulsar.CompressionType.ZSTD)


@pytest.fixture(scope="module")
def source() -> Iterator[EmbeddedBroker]:
    storage = StorageConfig(max_entries_per_ledger=50, min_rollover_minutes=0)
    with EmbeddedBroker(config=BrokerConfig(server=ServerConfig(broker_port=0, web_port=0), storage=storage)) as broker:
        yield broker


@pytest.fixture(scope="module")
def target() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


def endpoint(name: str, broker: EmbeddedBroker) -> Endpoint:
    return Endpoint(name, Settings(service_url=broker.service_url, web_url=broker.http_url), 30.0)


def publish(client: pulsar.Client, topic: str) -> None:
    for compression in SCHEMES:
        for batched in (True, False):
            producer = client.create_producer(
                topic, batching_enabled=batched, batching_max_messages=7, compression_type=compression
            )
            for number in range(60):
                fields = {"properties": {"n": str(number)}, "partition_key": f"k{number % 5}", "event_timestamp": 9}
                producer.send_async(b"%d" % number, None, **fields)
            producer.flush()
            producer.close()


def copy(source: Endpoint, target: Endpoint, topic: str) -> PartitionResult:
    (part,) = prepare(source, topic, target, topic)
    return part.copy(lambda entries, size: None, switch=None, verify=True)


def read(client: pulsar.Client, topic: str) -> list[tuple[object, ...]]:
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found: list[tuple[object, ...]] = []
    while reader.has_message_available():
        one = reader.read_next(5000)
        found.append(
            (one.data(), one.properties(), one.partition_key(), one.event_timestamp(), one.publish_timestamp())
        )
    reader.close()
    return found


def unread(client: pulsar.Client, topic: str, subscription: str) -> list[bytes]:
    """What a subscription has left, in order."""
    consumer = client.subscribe(topic, subscription, consumer_type=pulsar.ConsumerType.Shared)
    found: list[bytes] = []
    with contextlib.suppress(pulsar.Timeout):
        while True:
            found.append(consumer.receive(1000).data())
    consumer.close()
    return found


def test_a_copy_has_the_same_messages_and_backlogs(source: EmbeddedBroker, target: EmbeddedBroker, topic: str) -> None:
    there, here = connect(source.service_url), connect(target.service_url)
    consumer = there.subscribe(topic, "holes", consumer_type=pulsar.ConsumerType.Shared)
    there.subscribe(topic, "nothing").close()
    publish(there, topic)
    for number in range(240):
        message = consumer.receive(5000)
        if number % 40:
            consumer.acknowledge(message)
    consumer.close()
    there.subscribe(topic, "everything").close()
    result = copy(endpoint("source", source), endpoint("target", target), topic)
    assert result.sent == result.entries > 100
    assert result.subscriptions == 3
    assert read(here, topic) == read(there, topic)
    left = unread(there, topic, "holes")
    assert 6 <= len(left) < 60
    assert sorted(unread(here, topic, "holes")) == sorted(left)
    assert len(unread(here, topic, "nothing")) == 240
    assert unread(here, topic, "everything") == []
    there.close()
    here.close()


def test_a_subscription_is_copied_whatever_its_name_begins_with(
    source: EmbeddedBroker, target: EmbeddedBroker, topic: str
) -> None:
    names = ("pulsarctl-copy-of-mine", "pulsar.deduplicated", "__compaction_audit")
    there, here = connect(source.service_url), connect(target.service_url)
    for name in names:
        there.subscribe(topic, name).close()
    there.create_producer(topic).send(b"one")
    assert copy(endpoint("source", source), endpoint("target", target), topic).subscriptions == 3
    assert [unread(here, topic, name) for name in names] == [[b"one"]] * 3
    there.close()
    here.close()


def test_connections_that_break_lose_and_repeat_nothing(
    source: EmbeddedBroker, target: EmbeddedBroker, topic: str
) -> None:
    there, here = connect(source.service_url), connect(target.service_url)
    there.subscribe(topic, "keeper").close()
    producer = there.create_producer(topic, batching_enabled=False, block_if_queue_full=True)
    for number in range(2000):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    chosen = random.Random(11)
    with (
        CuttingRelay(source, (chosen.randint(2_000, 40_000) for _ in range(30))) as reading,
        CuttingRelay(target, (chosen.randint(500, 5_000) for _ in range(30))) as writing,
    ):
        relayed = Settings(service_url=writing.url, web_url=target.http_url)
        slow = Settings(service_url=reading.url, web_url=source.http_url)
        result = copy(Endpoint("source", slow, 30.0), Endpoint("target", relayed, 30.0), topic)
    assert min(reading.cuts, writing.cuts) > 3
    assert result.entries == 2000
    assert [row[0] for row in read(here, topic)] == [b"%d" % number for number in range(2000)]
    there.close()
    here.close()


def test_a_second_run_copies_only_what_is_missing(source: EmbeddedBroker, target: EmbeddedBroker, topic: str) -> None:
    there = connect(source.service_url)
    there.subscribe(topic, "keeper").close()
    producer = there.create_producer(topic, batching_enabled=False)
    sides = endpoint("source", source), endpoint("target", target)
    for count in (5, 3):
        for number in range(count):
            producer.send(b"%d" % number)
        assert copy(*sides, topic).sent == count
    assert (copy(*sides, topic).entries, copy(*sides, topic).sent) == (8, 0)
    there.close()


def test_a_topic_with_messages_of_its_own_is_not_written_to(
    source: EmbeddedBroker, target: EmbeddedBroker, topic: str
) -> None:
    there, here = connect(source.service_url), connect(target.service_url)
    for client in (there, here):
        client.subscribe(topic, "keeper").close()
        client.create_producer(topic).send(b"mine")
    with pytest.raises(Conflict, match=f"cannot copy {topic} to {topic}: it has messages already"):
        copy(endpoint("source", source), endpoint("target", target), topic)
    assert [row[0] for row in read(here, topic)] == [b"mine"]
    there.close()
    here.close()


class FailingSwitch(Switch):
    """Loses the admin API of the source at one of its methods."""

    def __init__(self, part: PartitionCopy, fails_at: str) -> None:
        super().__init__(part.source, part.source_topic, Destination.of([part.target.settings.service_url]))
        self._fails_at = fails_at

    def stop_delivering(self) -> None:
        self._fail_at("stop_delivering")
        super().stop_delivering()

    def move(self) -> None:
        self._fail_at("move")
        super().move()

    def _fail_at(self, method: str) -> None:
        if method == self._fails_at:
            self._source = Endpoint("lost", Settings(web_url="http://127.0.0.1:1"), 30.0)  # a port without a service


@pytest.mark.parametrize("fails_at", ["stop_delivering", "move"])
def test_a_switch_that_fails_and_cannot_be_undone_says_that_the_topic_is_stopped(
    source: EmbeddedBroker, target: EmbeddedBroker, topic: str, fails_at: str
) -> None:
    there = connect(source.service_url)
    there.subscribe(topic, "keeper").close()
    there.create_producer(topic).send(b"one")
    sides = endpoint("source", source), topic, endpoint("target", target), topic
    (part,) = prepare(*sides)
    with pytest.raises(CannotConnect) as caught:
        part.copy(lambda entries, size: None, switch=FailingSwitch(part, fails_at), verify=True)
    assert f"{topic} is still stopped: run the same command again" in (caught.value.hint or "")
    (part,) = prepare(*sides)
    part.copy(lambda entries, size: None, switch=part.switch(Destination.of([target.service_url])), verify=True)
    with closing(part.source.admin()) as admin:
        assert has_moved(admin, topic)
    there.close()
