"""Compaction, as seen by compacted readers of the official client."""

from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.storage import StorageConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.clients.compacting import compact, read_compacted
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.publishing import publish_keyed
from tests.support.condition import wait_until
from tests.support.managed_ledgers import managed_ledger

pytestmark = pytest.mark.feature("compaction")


@pytest.mark.parametrize("batch", [False, True])
def test_the_last_value_of_each_key_is_read(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, batch: bool
) -> None:
    messages: list[tuple[str | None, bytes]] = [(str(n % 10), str(n).encode()) for n in range(1000)]
    publish_keyed(client, topic, [*messages, (None, b"no key"), ("3", b"")], batched=batch)
    compact(pulsar_broker, topic)
    expected = [(str(n % 10), str(n).encode()) for n in range(990, 1000) if n % 10 != 3]
    assert read_compacted(client, topic) == expected


def test_messages_after_the_compaction_horizon_follow(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    publish_keyed(client, topic, [("a", b"1"), ("a", b"2")])
    compact(pulsar_broker, topic)
    publish_keyed(client, topic, [("a", b"3"), ("a", b"4")])
    assert read_compacted(client, topic) == [("a", b"2"), ("a", b"3"), ("a", b"4")]


def test_a_second_compaction_builds_on_the_first(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    publish_keyed(client, topic, [("a", b"1"), ("b", b"1")], batched=True)
    compact(pulsar_broker, topic)
    publish_keyed(client, topic, [("a", b"2"), ("c", b"1")], batched=True)
    topic_object = compact(pulsar_broker, topic)
    assert read_compacted(client, topic) == [("b", b"1"), ("a", b"2"), ("c", b"1")]
    assert topic_object.compaction.compacted is not None


def test_compaction_without_new_messages_keeps_the_result(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    publish_keyed(client, topic, [("a", b"1")])
    first = compact(pulsar_broker, topic).compaction.compacted
    assert compact(pulsar_broker, topic).compaction.compacted is first


def test_a_plain_reader_sees_everything(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    publish_keyed(client, topic, [("a", b"1"), ("a", b"2")])
    compact(pulsar_broker, topic)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    assert [reader.read_next(timeout_millis=TIMEOUT_MS).data() for _ in range(2)] == [b"1", b"2"]


def test_keys_survive_the_ledgers_they_were_written_to(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    publish_keyed(client, topic, [(str(n % 5), str(n).encode()) for n in range(100)])
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
            publish_keyed(client, "t", [(str(n % 5), str(n).encode())])
        ledger = managed_ledger(compact(broker, "t"))
        broker.call(ledger.roll())
        publish_keyed(client, "t", [("new", b"1")])
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
        publish_keyed(client, "t", [(str(n % 5), str(n).encode()) for n in range(100)])
        compact(broker, "t")
        client.close()
    with EmbeddedBroker(directory, config=config) as broker:
        client = pulsar.Client(broker.service_url)
        assert read_compacted(client, "t") == [(str(n % 5), str(n).encode()) for n in range(95, 100)]
        client.close()
