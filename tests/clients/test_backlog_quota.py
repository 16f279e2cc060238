"""Backlog quotas by size and age: they hold or refuse producers, or drop old messages, until the backlog shrinks."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pulsar
import pytest

from broker_core.clock import SystemClock
from broker_core.config.broker import BrokerConfig
from broker_core.config.features import BacklogQuotaConfig
from broker_core.metadata.policies.values import EVICT, HOLD, REFUSE, BacklogQuota
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.policies import set_topic_policies
from tests.support import official_client
from tests.support.clocks import ShiftedClock
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.managed_ledgers import managed_ledger
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer as asking

pytestmark = pytest.mark.feature("backlog_quota")

KB = 1024
REFUSAL = "Cannot create producer on topic with backlog quota exceeded"


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def precise(clock: ShiftedClock) -> Iterator[EmbeddedBroker]:
    """A broker that uses the oldest message for the age of a backlog."""
    config = BrokerConfig(server=FREE_PORTS, backlog_quota=BacklogQuotaConfig(precise_time=True))
    with EmbeddedBroker(config=config, clock=clock) as broker:
        yield broker


def publish(client: pulsar.Client, topic: str, count: int, size: int = KB) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    for _ in range(count):
        producer.send_async(b"x" * size, lambda result, message_id: None)
    producer.flush()
    producer.close()


def check(broker: EmbeddedBroker, topic: str) -> None:
    """Runs the check that the broker runs at every interval."""
    broker.call(loaded(broker, topic).quotas.check())


def backlog_of(broker: EmbeddedBroker, topic: str, subscription: str = "s") -> int:
    return loaded(broker, topic).subscriptions[subscription].cursor.backlog_entries


@pytest.mark.parametrize(
    ("policy", "error"),
    [(HOLD, pb.ProducerBlockedQuotaExceededError), (REFUSE, pb.ProducerBlockedQuotaExceededException)],
)
def test_above_the_quota_no_producer_connects_until_the_backlog_shrinks(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, policy: str, error: int
) -> None:
    consumer = client.subscribe(topic, "s")
    publish(client, topic, 10)
    set_topic_policies(pulsar_broker, topic, size_quota=BacklogQuota(5 * KB, 0, policy))
    with RawClient(pulsar_broker.service_url) as raw:
        refused = raw.ask(asking(topic), BaseCommand.ERROR)
        assert (refused.error, refused.message) == (error, REFUSAL)
        for _ in range(6):
            consumer.acknowledge(consumer.receive(TIMEOUT_MS))
        wait_until(lambda: backlog_of(pulsar_broker, topic) == 4, 5)
        raw.ask(asking(topic), BaseCommand.PRODUCER_SUCCESS)


class ChangingClock(SystemClock):
    """Calls a function the next time the wall clock is read."""

    def __init__(self) -> None:
        self.event: Callable[[], None] | None = None

    def wall_ms(self) -> int:
        event, self.event = self.event, None
        if event is not None:
            event()
        return super().wall_ms()


def test_a_quota_that_changes_while_it_is_enforced_does_not_become_one_of_age(topic: str) -> None:
    clock = ChangingClock()
    config = BrokerConfig(server=FREE_PORTS, backlog_quota=BacklogQuotaConfig(precise_time=True))
    with EmbeddedBroker(config=config, clock=clock) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        client.subscribe(topic, "s")
        publish(client, topic, 10)
        age = BacklogQuota(0, 3600, EVICT)
        set_topic_policies(broker, topic, size_quota=BacklogQuota(10 * KB, 0, EVICT), age_quota=age)
        check(broker, topic)
        kept = backlog_of(broker, topic)
        publish(client, topic, 10 - kept)
        there = loaded(broker, topic)

        def change() -> None:
            there._in_force.current = replace(there.policies, size_quota=BacklogQuota(11 * KB, 0, EVICT))

        clock.event = change
        check(broker, topic)
        assert backlog_of(broker, topic) == kept > 0
        client.close()


def test_without_a_durable_subscription_there_is_no_backlog(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_topic_policies(pulsar_broker, topic, size_quota=BacklogQuota(5 * KB, 0, REFUSE))
    client.create_reader(topic, pulsar.MessageId.earliest)
    publish(client, topic, 10)
    client.create_producer(topic).close()


def test_held_producers_continue_when_the_backlog_shrinks(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=False)
    set_topic_policies(pulsar_broker, topic, size_quota=BacklogQuota(5 * KB, 0, HOLD))
    for _ in range(10):
        producer.send(b"x" * KB)  # between two checks the quota can be exceeded
    check(pulsar_broker, topic)
    assert not loaded(pulsar_broker, topic).producers
    with ThreadPoolExecutor() as pool:
        held = pool.submit(producer.send, b"last")
        for _ in range(10):
            consumer.acknowledge(consumer.receive(TIMEOUT_MS))
        held.result(20)
    assert consumer.receive(TIMEOUT_MS).data() == b"last"


def test_refused_producers_receive_the_reason(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    client.subscribe(topic, "s").close()
    publish(client, topic, 10)
    set_topic_policies(pulsar_broker, topic, size_quota=BacklogQuota(5 * KB, 0, REFUSE))
    with pytest.raises(pulsar.ProducerBlockedQuotaExceededException):
        client.create_producer(topic)


def test_a_quota_that_is_set_is_enforced_at_once_and_lifted_at_once(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic, batching_enabled=False)
    for _ in range(10):
        producer.send(b"x" * KB)
    set_topic_policies(pulsar_broker, topic, size_quota=BacklogQuota(5 * KB, 0, HOLD))
    wait_until(lambda: not loaded(pulsar_broker, topic).producers, 5)
    set_topic_policies(pulsar_broker, topic, size_quota=None)
    producer.send(b"x")


def test_the_oldest_are_dropped_down_to_nine_tenths_of_the_quota(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    for name in ("s", "ahead"):
        client.subscribe(topic, name).close()
    publish(client, topic, 100)
    ahead = client.subscribe(topic, "ahead")
    for _ in range(95):
        ahead.acknowledge_cumulative(ahead.receive(TIMEOUT_MS))
    wait_until(lambda: backlog_of(pulsar_broker, topic, "ahead") == 5, 5)
    set_topic_policies(pulsar_broker, topic, size_quota=BacklogQuota(50 * KB, 0, EVICT))
    wait_until(lambda: backlog_of(pulsar_broker, topic) < 100, 5)
    cursor = loaded(pulsar_broker, topic).subscriptions["s"].cursor
    assert 40 * KB < cursor.backlog_bytes <= 46 * KB
    first = cursor.oldest_unacknowledged()
    assert first is not None and first.entry_id == 100 - cursor.backlog_entries
    assert backlog_of(pulsar_broker, topic, "ahead") == 5
    client.create_producer(topic).close()


def test_above_the_age_limit_no_producer_connects(precise: EmbeddedBroker, clock: ShiftedClock, topic: str) -> None:
    client = official_client.connect(precise.service_url)
    client.subscribe(topic, "s").close()
    publish(client, topic, 1)
    set_topic_policies(precise, topic, age_quota=BacklogQuota(0, 100, REFUSE))
    client.create_producer(topic).close()
    clock.slept_ms = 101_000
    with pytest.raises(pulsar.ProducerBlockedQuotaExceededException):
        client.create_producer(topic)
    precise.call(loaded(precise, topic).subscriptions["s"].clear_backlog())
    client.create_producer(topic).close()
    client.close()


def test_messages_older_than_nine_tenths_of_the_age_are_dropped(
    precise: EmbeddedBroker, clock: ShiftedClock, topic: str
) -> None:
    client = official_client.connect(precise.service_url)
    client.subscribe(topic, "s").close()
    publish(client, topic, 5)
    clock.slept_ms = 101_000
    set_topic_policies(precise, topic, age_quota=BacklogQuota(0, 100, EVICT))
    wait_until(lambda: backlog_of(precise, topic) == 0, 5)
    client.close()


def test_whole_ledgers_that_are_too_old_are_dropped(clock: ShiftedClock, topic: str) -> None:
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS), clock=clock) as broker:
        client = official_client.connect(broker.service_url)
        client.subscribe(topic, "s").close()
        publish(client, topic, 5)
        ledger = managed_ledger(loaded(broker, topic))
        broker.call(ledger.roll())
        publish(client, topic, 3)
        set_topic_policies(broker, topic, age_quota=BacklogQuota(0, 100, EVICT))
        check(broker, topic)
        assert backlog_of(broker, topic) == 8
        clock.slept_ms = 101_000
        check(broker, topic)
        assert backlog_of(broker, topic) == 3  # the open ledger is as old, but not full
        client.close()


def test_the_configured_quota_applies_without_a_policy() -> None:
    quota = BacklogQuotaConfig(default_bytes=5 * KB, default_policy=REFUSE, check_seconds=1)
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, backlog_quota=quota)) as broker:
        client = official_client.connect(broker.service_url)
        client.subscribe("t", "s").close()
        producer = client.create_producer("t", batching_enabled=False)
        for _ in range(10):
            producer.send(b"x" * KB)
        topic = "persistent://public/default/t"
        wait_until(lambda: not loaded(broker, topic).producers, 5)  # by the check at every interval
        client.close()
