"""Compaction, as seen by compacted readers of the official client."""

from collections.abc import Sequence
from pathlib import Path

import pulsar
import pytest

from broker_core.compaction.compaction import CompactionState
from broker_core.config.broker import BrokerConfig, StorageConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.topic import Topic
from tests.clients.conftest import TIMEOUT_MS
from tests.condition import wait_until
from tests.managed_ledgers import managed_ledger

pytestmark = pytest.mark.feature("compaction")


def loaded(broker: EmbeddedBroker, topic: str) -> Topic:
    return broker.call(broker.broker.topics.get(parse_topic(topic)))


def start(broker: EmbeddedBroker, topic: str) -> Topic:
    found = loaded(broker, topic)

    async def begin() -> None:
        found.compaction.start()

    broker.call(begin())
    return found


def compact(broker: EmbeddedBroker, topic: str) -> Topic:
    found = start(broker, topic)
    wait_until(lambda: found.compaction.state is not CompactionState.RUNNING, 20)
    assert found.compaction.state is CompactionState.SUCCESS, found.compaction.last_error
    return found


def publish(client: pulsar.Client, topic: str, messages: Sequence[tuple[str | None, bytes]], *, batch: bool) -> None:
    producer = client.create_producer(topic, batching_enabled=batch, block_if_queue_full=True)
    for key, value in messages:
        if key is None:
            producer.send_async(value, lambda result, message_id: None)
        else:
            producer.send_async(value, lambda result, message_id: None, partition_key=key)
    producer.flush()
    producer.close()


def read_compacted(client: pulsar.Client, topic: str) -> list[tuple[str, bytes]]:
    """The remaining messages by key.

    This client returns the empty slots of a compacted batch as messages without key and value, also with
    Apache Pulsar 4.0.7. They are left out.
    """
    reader = client.create_reader(topic, pulsar.MessageId.earliest, is_read_compacted=True)
    found = []
    while reader.has_message_available():
        message = reader.read_next(timeout_millis=TIMEOUT_MS)
        if message.partition_key() or message.data():
            found.append((message.partition_key(), message.data()))
    reader.close()
    return found


@pytest.mark.parametrize("batch", [False, True])
def test_the_last_value_of_each_key_is_read(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, batch: bool
) -> None:
    messages: list[tuple[str | None, bytes]] = [(str(n % 10), str(n).encode()) for n in range(1000)]
    publish(client, topic, [*messages, (None, b"no key"), ("3", b"")], batch=batch)
    compact(pulsar_broker, topic)
    expected = [(str(n % 10), str(n).encode()) for n in range(990, 1000) if n % 10 != 3]
    assert read_compacted(client, topic) == expected


def test_messages_after_the_compaction_horizon_follow(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    publish(client, topic, [("a", b"1"), ("a", b"2")], batch=False)
    compact(pulsar_broker, topic)
    publish(client, topic, [("a", b"3"), ("a", b"4")], batch=False)
    assert read_compacted(client, topic) == [("a", b"2"), ("a", b"3"), ("a", b"4")]


def test_a_second_compaction_builds_on_the_first(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    publish(client, topic, [("a", b"1"), ("b", b"1")], batch=True)
    compact(pulsar_broker, topic)
    publish(client, topic, [("a", b"2"), ("c", b"1")], batch=True)
    topic_object = compact(pulsar_broker, topic)
    assert read_compacted(client, topic) == [("b", b"1"), ("a", b"2"), ("c", b"1")]
    assert topic_object.compaction.compacted is not None


def test_compaction_without_new_messages_keeps_the_result(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    publish(client, topic, [("a", b"1")], batch=False)
    first = compact(pulsar_broker, topic).compaction.compacted
    assert compact(pulsar_broker, topic).compaction.compacted is first


def test_a_plain_reader_sees_everything(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    publish(client, topic, [("a", b"1"), ("a", b"2")], batch=False)
    compact(pulsar_broker, topic)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    assert [reader.read_next(timeout_millis=TIMEOUT_MS).data() for _ in range(2)] == [b"1", b"2"]


def test_keys_survive_the_ledgers_they_were_written_to(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    publish(client, topic, [(str(n % 5), str(n).encode()) for n in range(100)], batch=False)
    for _ in range(100):
        consumer.acknowledge(consumer.receive(timeout_millis=TIMEOUT_MS))
    consumer.close()
    compacted = compact(pulsar_broker, topic)
    ledger = compacted.ledger
    pulsar_broker.call(compacted.trim())
    wait_until(lambda: ledger.size == 0, 5)
    assert sorted(read_compacted(client, topic)) == [(str(n % 5), str(n).encode()) for n in range(95, 100)]


def test_a_reader_finds_keys_of_trimmed_ledgers_before_later_ones(tmp_path: Path) -> None:
    config = BrokerConfig(server=FREE_PORTS, storage=StorageConfig(max_entries_per_ledger=10))
    with EmbeddedBroker(tmp_path, config=config) as broker:
        client = pulsar.Client(broker.service_url)
        consumer = client.subscribe("t", "s")
        for n in range(20):  # one by one, so that no run of entries spans the end of a ledger
            publish(client, "t", [(str(n % 5), str(n).encode())], batch=False)
        ledger = managed_ledger(compact(broker, "t"))
        broker.call(ledger.roll())
        publish(client, "t", [("new", b"1")], batch=False)
        last = None
        for _ in range(21):
            last = consumer.receive(timeout_millis=TIMEOUT_MS)
        consumer.acknowledge_cumulative(last)
        wait_until(lambda: ledger.entries == 1, 5)  # only messages after the compaction are in the log
        expected = [*((str(n % 5), str(n).encode()) for n in range(15, 20)), ("new", b"1")]
        assert read_compacted(client, "t") == expected
        reader = client.create_reader("t", pulsar.MessageId.earliest, is_read_compacted=True)
        reader.read_next(TIMEOUT_MS)
        reader.seek(pulsar.MessageId.earliest)
        assert reader.read_next(TIMEOUT_MS).data() == b"15"
        client.close()


def test_the_compacted_ledger_survives_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("restart")
    config = BrokerConfig(server=FREE_PORTS, storage=StorageConfig(max_entries_per_ledger=10))
    with EmbeddedBroker(directory, config=config) as broker:
        client = pulsar.Client(broker.service_url)
        publish(client, "t", [(str(n % 5), str(n).encode()) for n in range(100)], batch=False)
        compact(broker, "t")
        client.close()
    with EmbeddedBroker(directory, config=config) as broker:
        client = pulsar.Client(broker.service_url)
        assert read_compacted(client, "t") == [(str(n % 5), str(n).encode()) for n in range(95, 100)]
        client.close()
