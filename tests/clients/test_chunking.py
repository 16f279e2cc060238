"""Messages above the maximum entry size: the client splits and joins them, and the broker passes the chunks on."""

import contextlib
import threading
from collections.abc import Iterator

import pulsar
import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.names import parse_topic
from broker_core.publishing.deduplication_switch import DeduplicationStatus
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.topic import Topic
from tests.clients.compacting import compact, read_compacted
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.receiving import consume, payloads
from tests.support.condition import wait_until

pytestmark = pytest.mark.feature("chunking")

LARGEST = 10_000  # bytes: a message of 100,000 has about ten chunks
EARLIEST = pulsar.InitialPosition.Earliest


@pytest.fixture(scope="module")
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_message_size=LARGEST))
    with EmbeddedBroker(config=config) as broker:
        yield broker


def payload(number: int, size: int = 50_000) -> bytes:
    text = f"{number}:".encode()
    return (text * (size // len(text) + 1))[:size]


def chunking(client: pulsar.Client, topic: str, **options: object) -> pulsar.Producer:
    return client.create_producer(topic, chunking_enabled=True, **options)


@pytest.mark.parametrize("size", [LARGEST, LARGEST + 1, 100_000, 2_000_000])
def test_a_large_message_arrives_complete(client: pulsar.Client, topic: str, size: int) -> None:
    consumer = client.subscribe(topic, "s")
    chunking(client, topic).send(payload(1, size), {"p": "1"}, partition_key="k")
    message = consumer.receive(timeout_millis=TIMEOUT_MS)
    assert message.data() == payload(1, size)
    assert (message.properties(), message.partition_key()) == ({"p": "1"}, "k")


def test_a_large_message_is_refused_by_the_client_without_chunking(client: pulsar.Client, topic: str) -> None:
    with pytest.raises(pulsar.MessageTooBig):
        client.create_producer(topic).send(payload(1))


@pytest.mark.parametrize(
    "kind",
    [pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Shared, pulsar.ConsumerType.Failover],
    ids=["exclusive", "shared", "failover"],
)
def test_chunks_of_several_producers_are_not_mixed(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", kind)
    producers = [chunking(client, topic) for _ in range(4)]

    def publish(first: int, producer: pulsar.Producer) -> None:
        for number in range(first, 40, 4):
            producer.send(payload(number))

    threads = [threading.Thread(target=publish, args=pair) for pair in enumerate(producers)]
    for thread in threads:
        thread.start()
    assert sorted(payloads(consume(consumer, 40))) == sorted(payload(number) for number in range(40))
    for thread in threads:
        thread.join()


def test_small_and_large_messages_keep_their_order(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = chunking(client, topic)
    sent = [payload(number, 50_000 if number % 3 == 0 else 10) for number in range(30)]
    for one in sent:
        producer.send_async(one, lambda result, message_id: None)
    producer.flush()
    assert payloads(consume(consumer, 30)) == sent


def test_a_compressed_large_message_arrives_complete(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    chunking(client, topic, compression_type=pulsar.CompressionType.LZ4).send(payload(1, 3_000_000))
    assert payloads(consume(consumer, 1)) == [payload(1, 3_000_000)]


def test_the_chunks_of_a_message_go_to_one_consumer(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", pulsar.ConsumerType.Shared, receiver_queue_size=5) for _ in range(3)]
    producer = chunking(client, topic)
    for number in range(30):
        producer.send_async(payload(number), lambda result, message_id: None)
    producer.flush()
    found: list[bytes] = []

    def receive_all() -> bool:
        for consumer in consumers:
            with contextlib.suppress(pulsar.Timeout):
                message = consumer.receive(timeout_millis=50)
                consumer.acknowledge(message)
                found.append(message.data())
        return len(found) >= 30

    wait_until(receive_all, 20)
    assert sorted(found) == sorted(payload(number) for number in range(30))


def test_an_unacknowledged_large_message_is_redelivered(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    chunking(client, topic).send(payload(1))
    first.receive(timeout_millis=TIMEOUT_MS)
    first.close()
    second = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    assert payloads(consume(second, 1)) == [payload(1)]


def test_acknowledging_a_large_message_acknowledges_its_chunks(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    chunking(client, topic).send(payload(1))
    consume(consumer)
    consumer.close()
    assert backlog(pulsar_broker, topic) == 0


def backlog(broker: EmbeddedBroker, topic: str) -> int:
    async def read(broker: Broker) -> int:
        return (await broker.topics.get(parse_topic(topic))).subscriptions["s"].cursor.backlog_entries

    return broker.call(read(broker.broker))


def test_a_seek_to_a_large_message_finds_its_first_chunk(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", start_message_id_inclusive=True)
    producer = chunking(client, topic)
    for number in range(4):
        producer.send(payload(number))
    messages = [consumer.receive(timeout_millis=TIMEOUT_MS) for _ in range(4)]
    consumer.seek(messages[2].message_id())
    assert payloads(consume(consumer, 2)) == [payload(2), payload(3)]


def test_a_reader_starts_at_a_large_message_and_sees_the_end(client: pulsar.Client, topic: str) -> None:
    producer = chunking(client, topic)
    ids = [producer.send(payload(number)) for number in range(3)]
    reader = client.create_reader(topic, ids[1], start_message_id_inclusive=True)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(TIMEOUT_MS).data())
    assert found == [payload(1), payload(2)]


def test_the_last_message_id_is_that_of_the_last_chunk(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    sent = chunking(client, topic).send(payload(1))
    last = consumer.get_last_message_id()
    assert (last.ledger_id(), last.entry_id()) == (sent.ledger_id(), sent.entry_id())
    assert sent.entry_id() > 3, "several chunks"


def deduplicate(broker: EmbeddedBroker, topic: str) -> None:
    async def set_policy(broker: Broker) -> Topic:
        await broker.tenancy.topic_policies.set(parse_topic(topic), deduplication_enabled=True)
        return await broker.topics.get(parse_topic(topic))

    loaded = broker.call(set_policy(broker.broker))
    wait_until(lambda: loaded.deduplication_switch.status is DeduplicationStatus.ENABLED, 5)


def test_a_large_message_sent_again_is_stored_once(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    deduplicate(pulsar_broker, topic)
    producer = chunking(client, topic, producer_name="p")
    for sequence_id in (1, 1, 2, 1, 2, 3):  # the client treats 0 as unset
        producer.send(payload(sequence_id), sequence_id=sequence_id)
    assert payloads(consume(consumer, 3)) == [payload(1), payload(2), payload(3)]


def test_a_chunked_value_survives_compactions_until_it_is_replaced(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    producer = chunking(client, topic)
    producer.send(payload(1), partition_key="large")
    producer.send(b"small", partition_key="other")
    for _ in range(2):  # the second compaction reads the chunks from the compacted ledger
        compact(pulsar_broker, topic)
        assert read_compacted(client, topic) == [("large", payload(1)), ("other", b"small")]
        producer.send(b"small", partition_key="other")
    producer.send(payload(2), partition_key="large")
    compact(pulsar_broker, topic)
    assert read_compacted(client, topic) == [("other", b"small"), ("large", payload(2))]
