"""Delayed delivery with the official client: no message arrives early or is lost, and others do not wait."""

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DelayedConfig
from broker_core.metadata.policies.values import DelayedDelivery
from broker_core.names import NamespaceName, parse_topic
from broker_core.storage.records.position import Position
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.subscription import Subscription
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.receiving import is_silent
from tests.long.bench import delivery_times
from tests.support.broker_process import BrokerProcess
from tests.support.clocks import ShiftedClock
from tests.support.condition import wait_until
from tests.support.official_client import connect

pytestmark = pytest.mark.feature("delayed_delivery")

STRICT = BrokerConfig(server=FREE_PORTS, delayed=DelayedConfig(strict=True))
SHARED = pulsar.ConsumerType.Shared
KINDS = [SHARED, pulsar.ConsumerType.KeyShared]
AT_ONCE = [pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Failover]
LATER = timedelta(hours=1)
NAMESPACE = NamespaceName("public", "default")


@pytest.fixture(scope="module")
def strict_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=STRICT) as broker:
        yield broker


@pytest.fixture
def client(strict_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = connect(strict_broker.service_url)
    yield client
    client.close()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def receive(consumer: pulsar.Consumer, count: int) -> list[tuple[bytes, int]]:
    """Receives and acknowledges messages; returns their contents and arrival times (ms)."""
    found = []
    for _ in range(count):
        message = consumer.receive(TIMEOUT_MS)
        found.append((message.data(), now_ms()))
        consumer.acknowledge(message)
    return found


def subscription_of(broker: EmbeddedBroker, topic: str) -> Subscription:
    found = broker.call(broker.broker.topics.get(parse_topic(topic)))
    return found.subscriptions["s"]


def stats_of(broker: EmbeddedBroker, topic: str) -> dict[str, Any]:
    with urlopen(f"{broker.http_url}/admin/v2/{topic.replace('://', '/')}/stats") as response:
        return dict(json.load(response)["subscriptions"]["s"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_message_arrives_at_its_time_and_not_before(client: pulsar.Client, topic: str, kind: Any) -> None:
    consumer = client.subscribe(topic, "s", kind)
    producer = client.create_producer(topic)
    due = now_ms() + 400
    producer.send(b"after", deliver_after=timedelta(milliseconds=300))
    producer.send(b"at", deliver_at=due)
    (first, _), (second, came) = receive(consumer, 2)
    assert [first, second] == [b"after", b"at"]
    assert due <= came < due + 200


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_messages_after_a_delayed_one_do_not_wait_for_it(client: pulsar.Client, topic: str, kind: Any) -> None:
    consumer = client.subscribe(topic, "s", kind, receiver_queue_size=1)
    producer = client.create_producer(topic)
    for _ in range(100):
        producer.send_async(b"later", lambda result, message_id: None, deliver_after=LATER)
    for number in range(3):
        producer.send(b"%d" % number)
    assert [content for content, _ in receive(consumer, 3)] == [b"0", b"1", b"2"]
    assert is_silent(consumer)


@pytest.mark.parametrize("kind", AT_ONCE, ids=lambda kind: kind.name)
def test_exclusive_and_failover_deliver_at_once(client: pulsar.Client, topic: str, kind: Any) -> None:
    consumer = client.subscribe(topic, "s", kind)
    client.create_producer(topic).send(b"later", deliver_after=LATER)
    assert receive(consumer, 1)[0][0] == b"later"


def test_a_non_persistent_topic_delivers_at_once(client: pulsar.Client, topic: str) -> None:
    topic = topic.replace("persistent", "non-persistent")
    consumer = client.subscribe(topic, "s", SHARED)
    client.create_producer(topic).send(b"later", deliver_after=LATER)
    assert receive(consumer, 1)[0][0] == b"later"


def test_delayed_messages_arrive_in_order_of_delivery_time(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(topic)
    start = now_ms() + 200
    for number in (3, 1, 4, 0, 2):
        producer.send(b"%d" % number, deliver_at=start + 40 * number)
    found = receive(consumer, 5)
    assert [content for content, _ in found] == [b"0", b"1", b"2", b"3", b"4"]
    assert all(came >= start + 40 * int(content) for content, came in found)


def test_a_message_that_was_due_is_not_delayed_again(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", SHARED, negative_ack_redelivery_delay_ms=100)
    client.create_producer(topic).send(b"due", deliver_after=timedelta(milliseconds=200))
    message = consumer.receive(TIMEOUT_MS)
    consumer.negative_acknowledge(message)
    again = consumer.receive(TIMEOUT_MS)
    assert (again.data(), again.redelivery_count()) == (b"due", 1)


def test_later_consumers_wait_too(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", SHARED)
    due = now_ms() + 600
    client.create_producer(topic).send(b"due", deliver_at=due)
    assert is_silent(first)
    first.close()
    ((_, came),) = receive(client.subscribe(topic, "s", SHARED), 1)
    assert came >= due


def test_delayed_messages_are_shown_separately(
    client: pulsar.Client, strict_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(topic)
    for _ in range(3):
        producer.send(b"later", deliver_after=LATER)
    producer.send(b"now")
    message = consumer.receive(TIMEOUT_MS)
    stats = stats_of(strict_broker, topic)
    assert (stats["msgBacklog"], stats["msgDelayed"], stats["msgBacklogNoDelayed"]) == (4, 3, 1)
    assert stats["unackedMessages"] == 1
    assert stats["delayedMessageIndexSizeInBytes"] > 0
    consumer.acknowledge(message)


def test_a_seek_delivers_delayed_messages_again(
    client: pulsar.Client, strict_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(topic)
    producer.send(b"now")
    producer.send(b"later", deliver_after=LATER)
    producer.send(b"soon", deliver_after=timedelta(milliseconds=300))
    assert [content for content, _ in receive(consumer, 2)] == [b"now", b"soon"]
    consumer.seek(pulsar.MessageId.earliest)
    assert [content for content, _ in receive(consumer, 2)] == [b"now", b"soon"]
    wait_until(lambda: stats_of(strict_broker, topic)["msgDelayed"] == 1, 5)


@pytest.mark.parametrize("how", ["clear", "skip", "expire"])
def test_a_cleared_backlog_is_not_delivered_later(
    client: pulsar.Client, strict_broker: EmbeddedBroker, topic: str, how: str
) -> None:
    consumer = client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(topic)
    producer.send(b"gone", deliver_after=timedelta(milliseconds=400))
    gone = producer.send(b"gone too", deliver_after=timedelta(milliseconds=400))
    wait_until(lambda: stats_of(strict_broker, topic)["msgDelayed"] == 2, 5)
    subscription = subscription_of(strict_broker, topic)
    if how == "clear":
        strict_broker.call(subscription.clear_backlog())
    elif how == "skip":
        strict_broker.call(subscription.skip(2))
    else:
        last = Position(gone.ledger_id(), gone.entry_id())
        strict_broker.call(subscription.expire_up_to(last, inclusive=True))
    assert stats_of(strict_broker, topic)["msgDelayed"] == 0
    producer.send(b"kept", deliver_after=timedelta(milliseconds=450))
    assert receive(consumer, 1)[0][0] == b"kept"


def test_a_delayed_message_acknowledged_before_its_time_never_arrives(
    client: pulsar.Client, strict_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s", SHARED)
    producer = client.create_producer(topic)
    known = producer.send(b"gone", deliver_after=timedelta(milliseconds=400))
    producer.send(b"kept", deliver_after=timedelta(milliseconds=450))
    wait_until(lambda: stats_of(strict_broker, topic)["msgDelayed"] == 2, 5)
    consumer.acknowledge(known)
    wait_until(lambda: stats_of(strict_broker, topic)["msgDelayed"] == 1, 5)
    assert receive(consumer, 1)[0][0] == b"kept"


def test_with_delayed_delivery_disabled_messages_arrive_at_once(
    client: pulsar.Client, strict_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s", SHARED)
    policy = DelayedDelivery(tick_ms=1000, active=False, max_delay_ms=0)
    tenancy = strict_broker.broker.tenancy
    strict_broker.call(tenancy.topic_policies.set(parse_topic(topic), delayed_delivery=policy))
    client.create_producer(topic).send(b"later", deliver_after=LATER)
    assert receive(consumer, 1)[0][0] == b"later"


def test_a_restart_neither_loses_delayed_messages_nor_delivers_them_early(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path, config=STRICT) as broker:
        client = connect(broker.service_url)
        client.subscribe("t", "s", SHARED)
        producer = client.create_producer("t")
        due = now_ms() + 1500
        producer.send(b"later", deliver_after=LATER)
        producer.send(b"due", deliver_at=due)
        client.close()
    with EmbeddedBroker(tmp_path, config=STRICT) as broker:
        client = connect(broker.service_url)
        consumer = client.subscribe("t", "s", SHARED)
        ((content, came),) = receive(consumer, 1)
        assert content == b"due"
        assert came >= due
        assert stats_of(broker, "persistent://public/default/t")["msgDelayed"] == 1
        client.close()


def test_by_default_a_message_arrives_at_most_a_tick_early(tmp_path: Path) -> None:
    tick_ms = 300
    config = BrokerConfig(server=FREE_PORTS, delayed=DelayedConfig(tick_ms=tick_ms))
    with EmbeddedBroker(tmp_path, config=config) as broker:
        client = connect(broker.service_url)
        consumer = client.subscribe("t", "s", SHARED)
        producer = client.create_producer("t")
        start = now_ms() + 500
        for number in range(100):
            producer.send_async(b"%d" % number, lambda result, message_id: None, deliver_at=start + 7 * number)
        for content, came in receive(consumer, 100):
            due = start + 7 * int(content)
            assert due - tick_ms <= came < due + 200
        client.close()


def test_setting_the_wall_clock_moves_the_delivery_time(tmp_path: Path) -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(tmp_path, config=STRICT, clock=clock) as broker:
        client = connect(broker.service_url)
        consumer = client.subscribe("t", "s", SHARED)
        producer = client.create_producer("t")
        producer.send(b"far", deliver_after=LATER)
        producer.send(b"near", deliver_after=timedelta(milliseconds=300))
        clock.jump_ms = -3600_000
        assert is_silent(consumer, 700)
        clock.jump_ms = 0
        assert receive(consumer, 1)[0][0] == b"near"
        clock.jump_ms = 3600_000
        assert receive(consumer, 1)[0][0] == b"far"
        client.close()


def test_reading_stops_after_many_fixed_delays_and_continues_when_they_are_due(tmp_path: Path) -> None:
    config = BrokerConfig(server=FREE_PORTS, delayed=DelayedConfig(strict=True, lookahead=10))
    with EmbeddedBroker(tmp_path, config=config) as broker:
        client = connect(broker.service_url)
        producer = client.create_producer("persistent://public/default/t")
        due = now_ms() + 1500
        client.subscribe("t", "s", SHARED, receiver_queue_size=5).close()
        for _ in range(100):
            producer.send_async(b"e", lambda result, message_id: None, deliver_at=due)
        producer.flush()
        consumer = client.subscribe("t", "s", SHARED, receiver_queue_size=5)
        topic = "persistent://public/default/t"
        wait_until(lambda: 10 <= stats_of(broker, topic)["msgDelayed"] < 100, 5)
        assert min(came for _, came in receive(consumer, 100)) >= due
        client.close()


@pytest.mark.parametrize("how", ["unsubscribe", "seek", "unload", "close"])
def test_the_index_on_disk_is_deleted_when_no_message_is_delayed(tmp_path: Path, how: str) -> None:
    config = BrokerConfig(server=FREE_PORTS, delayed=DelayedConfig(bucket_rows=10))
    with EmbeddedBroker(tmp_path, config=config) as broker:
        client = connect(broker.service_url)
        topic = "persistent://public/default/t"
        consumer = client.subscribe(topic, "s", SHARED)
        producer = client.create_producer(topic)
        for _ in range(100):
            producer.send_async(b"later", lambda result, message_id: None, deliver_after=LATER)
        producer.flush()
        buckets = tmp_path / "delayed"
        wait_until(lambda: any(buckets.iterdir()), 5)
        before = set(buckets.iterdir())
        if how == "seek":
            consumer.seek(pulsar.MessageId.latest)
        elif how == "unload":
            broker.call(broker.broker.topics.unload(parse_topic(topic)))
        else:
            getattr(consumer, how)()
        wait_until(lambda: not before & set(buckets.iterdir()), 5)
        client.close()


def test_strict_delivery_is_never_early_and_barely_late(tmp_path: Path) -> None:
    """`make bench` measures the delay on an idle machine (row `delivery-times`)."""
    with BrokerProcess(tmp_path / "data", delivery_times.STRICT) as process:
        late = delivery_times.lateness(process.service_url, "t", 1000, lead_ms=1000)
    assert late[0] >= 0
    assert late[int(len(late) * 0.99)] <= 500
