"""Keys that only the compacted ledger has, for readers that begin or go on in the middle of them."""

from collections.abc import Callable, Iterator

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.clients.compacting import compact
from tests.clients.conftest import TIMEOUT_MS
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded

pytestmark = pytest.mark.feature("compaction")

KEYS = [f"k{n}" for n in range(6)]
EARLIEST = pulsar.MessageId.earliest


@pytest.fixture
def ids(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> Iterator[list[pulsar.MessageId]]:
    """The IDs of six keys, which were trimmed after the compaction; the log has the key `new`."""
    producer = client.create_producer(topic, batching_enabled=False)
    found = [producer.send(b"old", partition_key=key) for key in KEYS]
    compact(pulsar_broker, topic)
    client.subscribe(topic, "s").close()  # without one, retention keeps messages for ten minutes
    pulsar_broker.call(loaded(pulsar_broker, topic).trim())
    wait_until(lambda: loaded(pulsar_broker, topic).ledger.size == 0, 30)
    producer.send(b"value", partition_key="new")
    yield found
    producer.close()


def keys(receive: Callable[[int], pulsar.Message], count: int) -> list[str]:
    return [receive(TIMEOUT_MS).partition_key() for _ in range(count)]


def test_a_compacted_reader_begins_between_trimmed_keys(
    client: pulsar.Client, topic: str, ids: list[pulsar.MessageId]
) -> None:
    reader = client.create_reader(topic, ids[2], is_read_compacted=True)
    assert keys(reader.read_next, 4) == ["k3", "k4", "k5", "new"]
    reader.close()


def test_a_compacted_reader_seeks_to_a_trimmed_key(
    client: pulsar.Client, topic: str, ids: list[pulsar.MessageId]
) -> None:
    reader = client.create_reader(topic, EARLIEST, is_read_compacted=True)
    reader.seek(ids[2])
    found = keys(reader.read_next, 4)
    assert found[-4:] == ["k3", "k4", "k5", "new"]
    reader.close()


def test_a_compacted_reader_that_connects_again_goes_on_between_trimmed_keys(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, ids: list[pulsar.MessageId]
) -> None:
    reader = client.create_reader(topic, EARLIEST, receiver_queue_size=1, is_read_compacted=True)
    before = keys(reader.read_next, 3)
    pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))
    assert before + keys(reader.read_next, 4) == [*KEYS, "new"]
    reader.close()


def test_a_durable_compacted_consumer_goes_on_after_a_seek_and_a_restart_of_its_topic(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, ids: list[pulsar.MessageId]
) -> None:
    consumer = client.subscribe(topic, "durable", is_read_compacted=True)
    consumer.seek(ids[2])
    wait_until(consumer.is_connected, 10)
    consumer.close()
    pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))
    again = client.subscribe(topic, "durable", is_read_compacted=True)
    assert keys(again.receive, 5) == ["k2", "k3", "k4", "k5", "new"]
    again.close()
