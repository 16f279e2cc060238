"""Publishing and consuming with the official client."""

import re

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.receiving import consume, values

pytestmark = pytest.mark.feature(
    "publishing",
    "exclusive",
    "shared",
    "acknowledgement",
    "negative_ack",
    "dead_letter",
    "reader",
    "seek",
    "partitioned_topics",
)

EARLIEST = pulsar.InitialPosition.Earliest


def test_a_message_arrives_with_its_key_properties_and_time(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"value", {"p": "1"}, partition_key="k", event_timestamp=7)
    (message,) = consume(consumer, 1)
    assert message.data() == b"value"
    assert message.properties() == {"p": "1"}
    assert message.partition_key() == "k"
    assert message.event_timestamp() == 7


def test_messages_of_a_producer_arrive_in_order(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, block_if_queue_full=True)
    for index in range(5000):
        producer.send_async(str(index).encode(), lambda result, message_id: None)
    producer.flush()
    assert values(consume(consumer, 5000)) == list(range(5000))


@pytest.mark.parametrize(
    "compression",
    [
        pulsar.CompressionType.LZ4,
        pulsar.CompressionType.ZLib,
        pulsar.CompressionType.ZSTD,
        pulsar.CompressionType.SNAPPY,
    ],
)
def test_compressed_batches_arrive_complete(
    client: pulsar.Client, topic: str, compression: pulsar.CompressionType
) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=True, compression_type=compression)
    for index in range(500):
        producer.send_async(str(index).encode(), lambda result, message_id: None)
    producer.flush()
    assert values(consume(consumer, 500)) == list(range(500))


def test_a_message_of_the_largest_size_arrives(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    payload = bytes(range(256)) * (5 * 4096 - 2)  # the client counts its metadata against the limit
    client.create_producer(topic).send(payload)
    assert consume(consumer, 1)[0].data() == payload


def test_unacknowledged_messages_are_redelivered_in_order(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    for index in range(10):
        producer.send(str(index).encode())
    messages = [first.receive(timeout_millis=TIMEOUT_MS) for _ in range(10)]
    for message in messages[:3] + messages[5:6]:
        first.acknowledge(message)
    first.close()
    second = client.subscribe(topic, "s")
    assert values(consume(second, 6)) == [3, 4, 6, 7, 8, 9]


def test_a_cumulative_ack_acknowledges_everything_before(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    ids = [producer.send(str(index).encode()) for index in range(10)]
    for _ in ids:
        message = first.receive(timeout_millis=TIMEOUT_MS)
        if int(message.data()) == 6:
            first.acknowledge_cumulative(message)
    first.close()
    second = client.subscribe(topic, "s")
    assert values(consume(second, 3)) == [7, 8, 9]


def test_a_second_exclusive_consumer_is_refused(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s")
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topic, "s")


def test_a_shared_subscription_delivers_each_message_once(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", pulsar.ConsumerType.Shared, receiver_queue_size=10) for _ in range(3)]
    producer = client.create_producer(topic)
    for index in range(90):
        producer.send(str(index).encode())
    found: list[int] = []
    shares = []
    while len(found) < 90:
        for consumer in consumers:
            try:
                message = consumer.receive(timeout_millis=100)
            except pulsar.Timeout:
                continue
            consumer.acknowledge(message)
            found.append(int(message.data()))
            shares.append(consumer)
    assert sorted(found) == list(range(90))
    assert len({id(consumer) for consumer in shares}) == 3


def test_a_nacked_message_is_redelivered_with_its_count(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", pulsar.ConsumerType.Shared, negative_ack_redelivery_delay_ms=100)
    client.create_producer(topic).send(b"again")
    first = consumer.receive(timeout_millis=TIMEOUT_MS)
    assert first.redelivery_count() == 0
    consumer.negative_acknowledge(first)
    second = consumer.receive(timeout_millis=TIMEOUT_MS)
    assert (second.data(), second.redelivery_count()) == (b"again", 1)


def test_messages_of_a_lost_shared_consumer_go_to_the_others(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    second = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    producer = client.create_producer(topic)
    for index in range(100):
        producer.send(str(index).encode())
    first.close()
    assert sorted(values(consume(second, 100))) == list(range(100))


def test_partitions_are_published_to_and_consumed_as_one(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 4)
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    for index in range(200):
        producer.send(str(index).encode(), partition_key=str(index % 20))
    messages = consume(consumer, 200)
    assert sorted(int(message.data()) for message in messages) == list(range(200))
    assert len({message.topic_name() for message in messages}) == 4


def test_a_reader_from_the_earliest_sees_everything(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, batching_enabled=True)
    for index in range(1000):
        producer.send_async(str(index).encode(), lambda result, message_id: None)
    producer.flush()
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    while reader.has_message_available():
        found.append(int(reader.read_next(timeout_millis=TIMEOUT_MS).data()))
    assert found == list(range(1000))


def test_seek_by_id_goes_back(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    ids = [producer.send(str(index).encode()) for index in range(10)]
    consume(consumer, 10)
    consumer.seek(ids[4])  # the message itself is not included
    found = values(consume(consumer, 5))
    assert found[-1] == 9
    assert found[0] == 5


def test_seek_by_time_goes_back_to_that_time(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    for index in range(5):
        producer.send(str(index).encode())
    times = [message.publish_timestamp() for message in consume(consumer, 5)]
    consumer.seek(times[0])
    assert int(consume(consumer, 1)[0].data()) == 0


def test_an_unsubscribed_name_starts_over(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    producer.send(b"0")
    consumer.unsubscribe()
    second = client.subscribe(topic, "s", initial_position=EARLIEST)
    producer.send(b"1")
    assert consume(second, 1)[0].data() in (b"0", b"1")


def test_a_producer_name_in_use_is_refused(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, producer_name="p")
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(topic, producer_name="p")


def test_topics_of_a_namespace_match_a_pattern(client: pulsar.Client, topic: str) -> None:
    for suffix in "ab":
        client.create_producer(f"{topic}-{suffix}").send(suffix.encode())
    consumer = client.subscribe(re.compile(f"{topic}-.*"), "s", initial_position=EARLIEST)
    assert sorted(message.data() for message in consume(consumer, 2)) == [b"a", b"b"]


@pytest.mark.parametrize("name", ["with space", "per%cent", "umläut", "emoji-🚀", "a+b&c=d"])
def test_names_keys_and_properties_may_have_any_characters(client: pulsar.Client, topic: str, name: str) -> None:
    topic = f"persistent://public/default/{name}"
    consumer = client.subscribe(topic, name)
    client.create_producer(topic).send(name.encode(), {name: name}, partition_key=name)
    (message,) = consume(consumer, 1)
    assert (message.partition_key(), message.properties()) == (name, {name: name})
