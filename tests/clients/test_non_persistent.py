"""Non-persistent topics: ready consumers get the messages, the rest is dropped, counted, and never stored."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.receiving import consume, payloads, shares
from tests.support.condition import wait_until

pytestmark = pytest.mark.feature("non_persistent")


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"non-persistent://public/default/{request.node.name.replace('[', '-').replace(']', '')}"


def rest(broker: EmbeddedBroker, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{broker.http_url}/admin/v2/{path}", method=method, data=data)
    with urllib.request.urlopen(request, timeout=10) as answer:
        content = answer.read()
    return json.loads(content) if content else None


def stats(broker: EmbeddedBroker, topic: str) -> Any:
    return rest(broker, "GET", f"{topic.replace('://', '/')}/stats")


ORDERED = [pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Failover]
ALL_TYPES = [*ORDERED, pulsar.ConsumerType.Shared, pulsar.ConsumerType.KeyShared]


@pytest.mark.parametrize("kind", ALL_TYPES, ids=lambda kind: kind.name)
def test_each_type_of_subscription_gets_the_messages_in_order(
    client: pulsar.Client, topic: str, kind: pulsar.ConsumerType
) -> None:
    consumer = client.subscribe(topic, "s", consumer_type=kind)
    producer = client.create_producer(topic)
    for index in range(50):
        producer.send(b"%d" % index, partition_key="k")
    assert payloads(consume(consumer, 50)) == [b"%d" % index for index in range(50)]


def test_each_of_several_subscriptions_gets_all_messages(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, name) for name in ("a", "b")]
    producer = client.create_producer(topic, batching_enabled=True)
    for index in range(20):
        producer.send_async(b"%d" % index, None)
    producer.flush()
    for consumer in consumers:
        assert payloads(consume(consumer, 20)) == [b"%d" % index for index in range(20)]


def test_consumers_of_a_shared_subscription_take_turns(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", consumer_type=pulsar.ConsumerType.Shared) for _ in range(2)]
    producer = client.create_producer(topic)
    for index in range(100):
        producer.send(b"%d" % index)
    found = [payloads(consume(consumer, 1)) for consumer in consumers]
    assert all(found)


def test_a_key_stays_with_one_consumer(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", consumer_type=pulsar.ConsumerType.KeyShared) for _ in range(2)]
    producer = client.create_producer(topic)
    for index in range(40):
        producer.send(b"%d" % (index % 10), partition_key=str(index % 10))
    keys = [set(payloads(share)) for share in shares(consumers, 40)]
    assert not keys[0] & keys[1]
    assert len(keys[0] | keys[1]) == 10


def test_messages_without_a_ready_consumer_are_dropped_and_counted(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s", receiver_queue_size=2)
    producer = client.create_producer(topic)
    for index in range(50):
        producer.send(b"%d" % index)
    found = stats(pulsar_broker, topic)
    assert found["msgInCounter"] == 50
    subscription = found["subscriptions"]["s"]
    assert subscription["msgOutCounter"] < 10
    dropped = pulsar_broker.broker.topics.loaded[topic].subscriptions["s"].dropped
    assert dropped is not None and dropped.messages == 50 - subscription["msgOutCounter"]
    assert (subscription["msgDropRate"], found["msgDropRate"]) > (0, 0)
    assert (subscription["msgBacklog"], found["storageSize"]) == (0, 0)
    assert payloads(consume(consumer, 2)) == [b"0", b"1"]


def test_without_a_subscription_all_messages_are_dropped(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    assert producer.send(b"lost")
    consumer = client.subscribe(topic, "s", initial_position=pulsar.InitialPosition.Earliest)
    producer.send(b"seen")
    assert payloads(consume(consumer, 1)) == [b"seen"]


def test_unacknowledged_messages_do_not_block_a_consumer(client: pulsar.Client, topic: str) -> None:
    """More messages than maxUnackedMessagesPerConsumer allows, nacked and never acknowledged, are not redelivered."""
    consumer = client.subscribe(
        topic, "s", consumer_type=pulsar.ConsumerType.Shared, negative_ack_redelivery_delay_ms=100
    )
    producer = client.create_producer(topic)
    for index in range(20):
        producer.send(b"%d" % index)
        message = consumer.receive(TIMEOUT_MS)
        assert message.data() == b"%d" % index
        consumer.negative_acknowledge(message)
    with pytest.raises(pulsar.Timeout):
        consumer.receive(500)


def test_a_non_persistent_topic_writes_nothing(tmp_path: Path, topic: str) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        client.subscribe(topic, "s")
        client.create_producer(topic).send(b"a needle in no file")
        assert rest(broker, "GET", "non-persistent/public/default") == [topic]
        client.close()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"needle" not in written
    with EmbeddedBroker(tmp_path) as broker:
        assert rest(broker, "GET", "non-persistent/public/default") == []


def is_ready(broker: EmbeddedBroker, topic: str) -> bool:
    """Whether the consumer of subscription "s" is back and has said how many messages it takes."""
    loaded = broker.broker.topics.loaded.get(topic)
    subscription = None if loaded is None else loaded.subscriptions.get("s")
    return subscription is not None and any(consumer.permits > 0 for consumer in subscription.consumers)


def test_clients_continue_after_an_unload(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    producer.send(b"before")
    assert payloads(consume(consumer, 1)) == [b"before"]
    rest(pulsar_broker, "PUT", f"{topic.replace('://', '/')}/unload")
    producer.send(b"maybe lost")
    wait_until(lambda: is_ready(pulsar_broker, topic), 10)
    producer.send(b"after")
    assert payloads(consume(consumer, 1))[0] in (b"maybe lost", b"after")


def test_a_partitioned_non_persistent_topic_delivers_all_messages(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    rest(pulsar_broker, "PUT", f"{topic.replace('://', '/')}/partitions", 3)
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, message_routing_mode=pulsar.PartitionsRoutingMode.RoundRobinDistribution)
    for index in range(9):
        producer.send(b"%d" % index)
    assert set(payloads(consume(consumer, 9))) == {b"%d" % index for index in range(9)}
    assert rest(pulsar_broker, "GET", "non-persistent/public/default/partitioned") == [topic]


def test_a_reader_gets_only_new_messages(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    reader = client.create_reader(topic, pulsar.MessageId.latest)
    client.create_producer(topic).send(b"now")
    assert reader.read_next(TIMEOUT_MS).data() == b"now"
    reader.close()
    wait_until(lambda: not pulsar_broker.broker.topics.loaded[topic].subscriptions, 5)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "terminate", 406),
        ("PUT", "compaction", 405),
        ("POST", "trim", 405),
        ("GET", "lastMessageId", 405),
        ("GET", "properties", 406),
        ("PUT", "subscription/new", 400),
        ("POST", "subscription/s/skip_all", 405),
        ("POST", "subscription/s/expireMessages/1", 405),
    ],
)
def test_requests_that_need_stored_messages_are_refused(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, method: str, path: str, status: int
) -> None:
    topic = "non-persistent://public/default/refusing"
    consumer = client.subscribe(topic, "s")
    with pytest.raises(urllib.error.HTTPError) as refused:
        rest(pulsar_broker, method, f"{topic.replace('://', '/')}/{path}")
    assert refused.value.code == status
    refused.value.close()
    consumer.close()


def test_a_non_persistent_topic_is_created_listed_and_deleted_over_rest(
    pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    path = topic.replace("://", "/")
    rest(pulsar_broker, "PUT", path)
    assert topic in rest(pulsar_broker, "GET", "namespaces/public/default/topics?mode=NON_PERSISTENT")
    assert topic in rest(pulsar_broker, "GET", "namespaces/public/default/topics?mode=ALL")
    assert rest(pulsar_broker, "GET", f"{path}/internalStats")["numberOfEntries"] == 0
    rest(pulsar_broker, "DELETE", path)
    assert topic not in rest(pulsar_broker, "GET", "namespaces/public/default/topics?mode=ALL")
