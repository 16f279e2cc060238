"""Deduplication with the official client: sequence IDs of the application, and those that a client continues from.

The Python client treats a sequence ID of 0 as unset, so the IDs here start with 1.
"""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS

pytestmark = pytest.mark.feature("deduplication")


@pytest.fixture(scope="module")
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    config = BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True))
    with EmbeddedBroker(config=config) as broker:
        yield broker


def contents(client: pulsar.Client, topic: str) -> list[bytes]:
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(TIMEOUT_MS).data())
    return found


def test_a_sequence_id_sent_twice_is_stored_once(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, producer_name="p", send_timeout_millis=0)
    for sequence_id in (1, 2, 2, 1, 5, 4):
        producer.send(b"%d" % sequence_id, sequence_id=sequence_id)
    assert contents(client, topic) == [b"1", b"2", b"5"]


def test_a_producer_continues_the_sequence_of_its_predecessor(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, producer_name="p")
    producer.send(b"a", sequence_id=41)
    producer.close()
    producer = client.create_producer(topic, producer_name="p")
    assert producer.last_sequence_id() == 41
    producer.send(b"b")
    assert producer.last_sequence_id() == 42
    producer.send(b"c", sequence_id=42)
    assert contents(client, topic) == [b"a", b"b"]


def test_each_producer_has_its_own_sequence_ids(client: pulsar.Client, topic: str) -> None:
    for name in ("p", "q"):
        client.create_producer(topic, producer_name=name).send(name.encode(), sequence_id=1)
    assert contents(client, topic) == [b"p", b"q"]


@pytest.mark.parametrize("batching", [pulsar.BatchingType.Default, pulsar.BatchingType.KeyBased])
def test_batches_sent_again_are_stored_once(client: pulsar.Client, topic: str, batching: pulsar.BatchingType) -> None:
    sent = [b"%d" % number for number in range(100)]
    for _ in range(2):
        producer = client.create_producer(
            topic, producer_name="p", initial_sequence_id=-1, batching_enabled=True, batching_type=batching
        )
        for number, one in enumerate(sent, 1):
            producer.send_async(one, lambda result, message_id: None, sequence_id=number, partition_key="k")
        producer.flush()
        producer.close()
    assert contents(client, topic) == sent


def test_each_partition_remembers_its_own_sequence_ids(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    producer = client.create_producer(topic, producer_name="p")
    for _ in range(2):
        for sequence_id in range(1, 13):
            producer.send(b"%d" % sequence_id, sequence_id=sequence_id, partition_key=str(sequence_id))
    found = [one for index in range(3) for one in contents(client, f"{topic}-partition-{index}")]
    assert sorted(found, key=int) == [b"%d" % number for number in range(1, 13)]
