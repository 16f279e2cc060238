"""With the official client, nacked messages are redelivered with a count and end up in a dead letter topic."""

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.publishing import publish
from tests.clients.receiving import gets_only, is_silent, receive, values
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded

pytestmark = pytest.mark.feature("negative_ack", "dead_letter")

EARLIEST = pulsar.InitialPosition.Earliest
SHARED, KEY_SHARED = pulsar.ConsumerType.Shared, pulsar.ConsumerType.KeyShared
NACK_MS = 100


@pytest.mark.parametrize("consumer_type", [SHARED, KEY_SHARED])
def test_each_negative_acknowledgment_is_counted(
    client: pulsar.Client, topic: str, consumer_type: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", consumer_type, negative_ack_redelivery_delay_ms=NACK_MS)
    publish(client, topic, 0, 1)
    taken, given_back = receive(consumer, 2)
    consumer.acknowledge(taken)
    for count in range(1, 4):
        consumer.negative_acknowledge(given_back)
        (given_back,) = receive(consumer, 1)
        assert (int(given_back.data()), given_back.redelivery_count()) == (1, count)


def test_redelivering_all_counts_too(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED)
    publish(client, topic, 0, 1, 2)
    consumer.acknowledge(receive(consumer, 3)[0])
    consumer.redeliver_unacknowledged_messages()
    again = receive(consumer, 2)
    assert values(again) == [1, 2]
    assert [message.redelivery_count() for message in again] == [1, 1]


def test_only_the_nacked_message_of_a_batch_is_redelivered(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(
        topic,
        "s",
        SHARED,
        negative_ack_redelivery_delay_ms=5 * NACK_MS,  # the others are acknowledged by now
        batch_index_ack_enabled=True,
    )
    publish(client, topic, *range(10), batched=True)
    for message in receive(consumer, 10):
        if int(message.data()) == 6:
            consumer.negative_acknowledge(message)
        else:
            consumer.acknowledge(message)
    assert gets_only(consumer, 6)


@pytest.mark.slow
def test_a_message_that_is_not_acknowledged_in_time_is_redelivered(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, unacked_messages_timeout_ms=10_000)
    publish(client, topic, 0, 1)
    consumer.acknowledge(receive(consumer, 2)[0])
    message = consumer.receive(timeout_millis=3 * TIMEOUT_MS)
    assert (int(message.data()), message.redelivery_count()) == (1, 1)


def dead_letters(topic: str, times: int, initial_subscription: str | None = None) -> pulsar.ConsumerDeadLetterPolicy:
    return pulsar.ConsumerDeadLetterPolicy(times, f"{topic}-dead", initial_subscription)


@pytest.mark.parametrize("consumer_type", [SHARED, KEY_SHARED])
def test_a_message_that_is_always_nacked_becomes_a_dead_letter(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, consumer_type: pulsar.ConsumerType
) -> None:
    dead = client.subscribe(f"{topic}-dead", "d")
    consumer = client.subscribe(
        topic,
        "s",
        consumer_type,
        negative_ack_redelivery_delay_ms=NACK_MS,
        dead_letter_policy=dead_letters(topic, 2),
    )
    publish(client, topic, 0, 1, 2)
    give_back(consumer, 1, times=3)  # once, and redelivered twice
    (letter,) = receive(dead, 1)
    assert int(letter.data()) == 1
    assert letter.properties()["REAL_TOPIC"] == topic
    cursor = loaded(pulsar_broker, topic).subscriptions["s"].cursor
    wait_until(lambda: cursor.backlog_messages == 0, 10)
    assert is_silent(consumer)


def give_back(consumer: pulsar.Consumer, value: int, *, times: int) -> None:
    """Acknowledges all other messages until that one has come, and been negatively acknowledged, `times` times."""
    while times:
        (message,) = receive(consumer, 1)
        if int(message.data()) == value:
            times -= 1
            consumer.negative_acknowledge(message)
        else:
            consumer.acknowledge(message)


def test_a_dead_letter_topic_has_its_initial_subscription(client: pulsar.Client, topic: str) -> None:
    letters = client.create_reader(f"{topic}-dead", pulsar.MessageId.earliest)
    consumer = client.subscribe(
        topic,
        "s",
        SHARED,
        negative_ack_redelivery_delay_ms=NACK_MS,
        dead_letter_policy=dead_letters(topic, 1, "kept"),
    )
    publish(client, topic, 1, 0)
    give_back(consumer, 0, times=2)
    assert int(letters.read_next(TIMEOUT_MS).data()) == 0
    assert values(receive(client.subscribe(f"{topic}-dead", "kept"), 1)) == [0]


def test_a_consumer_that_leaves_creates_no_dead_letters(client: pulsar.Client, topic: str) -> None:
    """A restart of the application does not count as a redelivery, as in Pulsar."""
    first = client.subscribe(topic, "s", SHARED)
    publish(client, topic, 0)
    receive(first, 1)
    second = client.subscribe(topic, "s", SHARED)
    first.close()
    assert receive(second, 1)[0].redelivery_count() == 0
