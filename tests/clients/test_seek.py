"""Seek with the official client: by ID, into batches, by time, to both ends, with one or several consumers."""

import time
from itertools import chain
from pathlib import Path

import pulsar
import pytest

from broker_core.metadata.policies.values import RetentionPolicy
from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.policies import set_namespace_policies
from tests.clients.publishing import publish
from tests.clients.receiving import gets_only, receive, shares, values
from tests.support.condition import wait_until

pytestmark = pytest.mark.feature("seek")

EXCLUSIVE, SHARED = pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Shared
FAILOVER, KEY_SHARED = pulsar.ConsumerType.Failover, pulsar.ConsumerType.KeyShared
TYPES = [EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED]


@pytest.fixture(autouse=True)
def kept(pulsar_broker: EmbeddedBroker) -> None:
    """Retains acknowledged messages, so that a seek can go back to them."""
    set_namespace_policies(pulsar_broker, "persistent://public/default/t", retention=RetentionPolicy(-1, -1))


@pytest.mark.parametrize("consumer_type", TYPES)
@pytest.mark.parametrize("inclusive", [False, True])
def test_an_inclusive_seek_by_id_returns_the_message_itself(
    client: pulsar.Client, topic: str, consumer_type: pulsar.ConsumerType, inclusive: bool
) -> None:
    consumer = client.subscribe(topic, "s", consumer_type, start_message_id_inclusive=inclusive)
    ids = publish(client, topic, *range(10))
    receive(consumer, 10)
    consumer.seek(ids[4])
    assert gets_only(consumer, *range(4 if inclusive else 5, 10))


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("batch_index_acks", [False, True])
def test_seek_goes_into_a_batch(client: pulsar.Client, topic: str, inclusive: bool, batch_index_acks: bool) -> None:
    consumer = client.subscribe(
        topic, "s", start_message_id_inclusive=inclusive, batch_index_ack_enabled=batch_index_acks
    )
    ids = publish(client, topic, *range(10), batched=True)
    publish(client, topic, 10)
    receive(consumer, 11)
    consumer.seek(ids[6])
    assert gets_only(consumer, *range(6 if inclusive else 7, 11))


@pytest.mark.parametrize("consumer_type", TYPES)
def test_seek_goes_to_either_end(client: pulsar.Client, topic: str, consumer_type: pulsar.ConsumerType) -> None:
    consumer = client.subscribe(topic, "s", consumer_type)
    publish(client, topic, *range(5))
    receive(consumer, 2)
    consumer.seek(pulsar.MessageId.latest)
    assert gets_only(consumer)
    consumer.seek(pulsar.MessageId.earliest)
    assert gets_only(consumer, *range(5))
    consumer.seek(pulsar.MessageId.latest)
    publish(client, topic, 5)
    assert gets_only(consumer, 5)


def test_seek_by_time_begins_with_the_first_message_of_that_time(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    times: list[int] = []
    for value in range(5):
        publish(client, topic, value)
        message = receive(consumer, 1)[0]
        times.append(message.publish_timestamp())
        wait_until(lambda: time.time_ns() // 1_000_000 > times[-1], 5)
    for index in (3, 0, 4):
        consumer.seek(times[index])
        assert gets_only(consumer, *range(index, 5))
    consumer.seek(times[-1] + 1)
    assert gets_only(consumer)


def test_seek_moves_all_consumers_of_a_shared_subscription(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", SHARED, receiver_queue_size=1)
    second = client.subscribe(topic, "s", SHARED, receiver_queue_size=1)
    ids = publish(client, topic, *range(20))
    assert sorted(chain.from_iterable(map(values, shares([first, second], 20)))) == list(range(20))
    first.seek(ids[9])
    assert sorted(chain.from_iterable(map(values, shares([first, second], 10)))) == list(range(10, 20))


def test_after_a_seek_no_earlier_delivery_arrives(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    ids = publish(client, topic, *range(2000))
    for index in (1500, 200, 1000, 0, 1999):
        receive(consumer, 1)
        consumer.seek(ids[index])
        expected = list(range(index + 1, min(index + 4, 2000)))
        assert values(receive(consumer, len(expected))) == expected


def test_a_seek_undoes_acknowledgments(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, batch_index_ack_enabled=True)
    ids = publish(client, topic, 0, 1, 2)
    publish(client, topic, *range(3, 8), batched=True)
    for message in receive(consumer, 8)[1::2]:
        consumer.acknowledge(message)
    consumer.seek(ids[0])
    assert gets_only(consumer, *range(1, 8))


def test_a_seek_survives_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        client = pulsar.Client(broker.service_url)
        consumer = client.subscribe("restarted", "s")
        ids = publish(client, "restarted", *range(10))
        receive(consumer, 10)
        consumer.seek(ids[6])
        client.close()
    with EmbeddedBroker(tmp_path) as broker:
        client = pulsar.Client(broker.service_url)
        assert values(receive(client.subscribe("restarted", "s"), 4)) == [6, 7, 8, 9]
        client.close()


def test_readers_can_seek(client: pulsar.Client, topic: str) -> None:
    ids = publish(client, topic, *range(10))
    batch = publish(client, topic, *range(10, 20), batched=True)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    assert read_all(reader) == list(range(20))
    for target, expected in (
        (ids[4], range(5, 20)),
        (batch[3], range(14, 20)),
        (pulsar.MessageId.earliest, range(20)),
        (pulsar.MessageId.latest, ()),
        (1, range(20)),
    ):
        reader.seek(target)
        assert read_all(reader) == list(expected)


def read_all(reader: pulsar.Reader) -> list[int]:
    found = []
    while reader.has_message_available():
        found.append(int(reader.read_next(timeout_millis=TIMEOUT_MS).data()))
    return found
