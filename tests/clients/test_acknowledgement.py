"""Acknowledging with the official client: individually, cumulatively, and inside batches."""

from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.publishing import publish
from tests.clients.receiving import gets_only, receive, values

pytestmark = pytest.mark.feature("acknowledgement", "batch_index_ack")

EARLIEST = pulsar.InitialPosition.Earliest
EXCLUSIVE, SHARED = pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Shared
KEY_SHARED = pulsar.ConsumerType.KeyShared


@pytest.mark.parametrize("consumer_type", [EXCLUSIVE, SHARED, KEY_SHARED])
@pytest.mark.parametrize("batched", [False, True])
def test_messages_acknowledged_in_any_order_are_not_redelivered(
    client: pulsar.Client, topic: str, consumer_type: pulsar.ConsumerType, batched: bool
) -> None:
    publish(client, topic, *range(20), batched=batched)
    options = {"initial_position": EARLIEST, "batch_index_ack_enabled": True}
    consumer = client.subscribe(topic, "s", consumer_type, **options)
    for message in reversed(receive(consumer, 20)):
        if int(message.data()) % 3:
            consumer.acknowledge(message)
    consumer.close()
    assert gets_only(client.subscribe(topic, "s", consumer_type, **options), *range(0, 20, 3))


def test_without_batch_index_acknowledgment_a_client_gets_the_whole_batch_again(
    client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, *range(5), batched=True)
    consumer = client.subscribe(topic, "s", SHARED, initial_position=EARLIEST)
    for message in receive(consumer, 5)[:4]:
        consumer.acknowledge(message)
    consumer.close()
    assert gets_only(client.subscribe(topic, "s", SHARED), 0, 1, 2, 3, 4)


def test_a_cumulative_acknowledgment_ends_inside_a_batch(client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 0, 1)
    publish(client, topic, *range(2, 12), batched=True)
    options = {"initial_position": EARLIEST, "batch_index_ack_enabled": True}
    consumer = client.subscribe(topic, "s", **options)
    consumer.acknowledge_cumulative(receive(consumer, 12)[6])
    consumer.close()
    assert gets_only(client.subscribe(topic, "s", **options), 7, 8, 9, 10, 11)


def test_a_cumulative_acknowledgment_on_a_shared_subscription_is_refused(client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 0, 1, 2)
    consumer = client.subscribe(topic, "s", SHARED, initial_position=EARLIEST)
    last = receive(consumer, 3)[-1]
    with pytest.raises(pulsar.CumulativeAcknowledgementNotAllowedError):
        consumer.acknowledge_cumulative(last)
    consumer.close()
    assert gets_only(client.subscribe(topic, "s", SHARED), 0, 1, 2)


def test_a_message_can_be_acknowledged_by_another_consumer(client: pulsar.Client, topic: str) -> None:
    ids = publish(client, topic, 0, 1, 2)
    holder = client.subscribe(topic, "s", SHARED, initial_position=EARLIEST)
    receive(holder, 3)
    other = client.subscribe(topic, "s", SHARED)
    other.acknowledge(ids[1])
    other.acknowledge(ids[1])
    other.close()
    holder.close()
    assert gets_only(client.subscribe(topic, "s", SHARED), 0, 2)


def test_unacknowledged_messages_of_a_closed_consumer_go_to_the_others(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", SHARED, batch_index_ack_enabled=True)
    publish(client, topic, *range(10), batched=True)
    for message in receive(first, 10)[::2]:
        first.acknowledge(message)
    second = client.subscribe(topic, "s", SHARED, batch_index_ack_enabled=True)
    first.close()
    given_back = receive(second, 5)
    assert values(given_back) == [1, 3, 5, 7, 9]


def test_acknowledged_messages_of_a_batch_survive_every_restart(tmp_path: Path) -> None:
    topic, options = "restarted", {"initial_position": EARLIEST, "batch_index_ack_enabled": True}
    with EmbeddedBroker(tmp_path) as broker:
        client = pulsar.Client(broker.service_url)
        publish(client, topic, *range(10), batched=True)
        consumer = client.subscribe(topic, "s", **options)
        for message in receive(consumer, 10)[::2]:
            consumer.acknowledge(message)
        client.close()
    with EmbeddedBroker(tmp_path) as broker:
        client = pulsar.Client(broker.service_url)
        assert values(receive(client.subscribe(topic, "s", **options), 5)) == [1, 3, 5, 7, 9]
        client.close()


def test_ten_thousand_gaps_survive_a_reconnect(client: pulsar.Client, topic: str) -> None:
    publish(client, topic, *range(10_000))
    consumer = client.subscribe(topic, "s", SHARED, initial_position=EARLIEST, receiver_queue_size=10_000)
    for message in receive(consumer, 10_000)[::2]:
        consumer.acknowledge(message)
    consumer.close()
    again = client.subscribe(topic, "s", SHARED, receiver_queue_size=10_000)
    assert values(receive(again, 5000)) == list(range(1, 10_000, 2))
