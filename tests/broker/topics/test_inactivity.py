"""Inactive topics and subscriptions are deleted if configured; the test moves the clock."""

import asyncio
import contextlib
import json
import urllib.request
from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import InactiveConfig
from broker_core.config.topic import TopicConfig
from broker_core.metadata.policies.values import CAUGHT_UP, InactiveTopics, RetentionPolicy
from broker_core.names import NamespaceName, TopicName, parse_topic
from broker_core.storage.records.position import Position
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topics.inactivity import _each
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.clocks import ShiftedClock
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer, subscribe
from tests.support.raw_publishing import close_producer, producer, send

NAME = parse_topic("persistent://public/default/t")
NAMESPACE = NamespaceName("public", "default")
MAX_SECONDS = 60


class Looking:
    """A broker that looks for inactive topics only when the test says so, and its clock."""

    def __init__(self, broker: EmbeddedBroker, clock: ShiftedClock) -> None:
        self.broker = broker
        self._clock = clock

    def load(self, name: TopicName = NAME) -> None:
        self.broker.call(self.broker.broker.topics.get(name, create=True))

    def exists(self, name: TopicName = NAME) -> bool:
        return self.broker.broker.topics.exists(name)

    def is_loaded(self, name: TopicName = NAME) -> bool:
        return str(name) in self.broker.broker.topics.loaded

    def when_unused(self) -> None:
        """Waits until the broker has noticed that the clients left."""
        wait_until(lambda: not self.broker.broker.topics.loaded[str(NAME)].producers, 10)

    def look_twice(self, seconds: float = MAX_SECONDS) -> None:
        """Checks once, and again after that time."""
        self.check_in(0)
        self.check_in(seconds)

    def check_in(self, seconds: float) -> None:
        self.pass_time(seconds)
        self.broker.call(self.broker.broker.inactivity.look_at_topics())

    def look_at_subscriptions_twice(self, seconds: float) -> None:
        self.check_subscriptions_in(0)
        self.check_subscriptions_in(seconds)

    def check_subscriptions_in(self, seconds: float) -> None:
        self.pass_time(seconds)
        self.broker.call(self.broker.broker.inactivity.look_at_subscriptions())

    def pass_time(self, seconds: float) -> None:
        self._clock.ran_seconds += seconds

    def set_policies(self, **policies: object) -> None:
        self.broker.call(self.broker.broker.tenancy.set_namespace_policies(NAMESPACE, **policies))

    def subscribe(self, name: TopicName = NAME, subscription: str = "s") -> None:
        topic = self.broker.call(self.broker.broker.topics.get(name, create=True))
        self.broker.call(topic.subscriptions.open(subscription, durable=True, start=None, earliest=True, properties={}))


@contextlib.contextmanager
def looking(inactive: InactiveConfig, topics: TopicConfig | None = None) -> Iterator[Looking]:
    clock = ShiftedClock()
    config = BrokerConfig(server=FREE_PORTS, inactive=inactive, topics=topics or TopicConfig())
    with EmbeddedBroker(config=config, clock=clock) as broker:
        yield Looking(broker, clock)


@pytest.fixture
def broker() -> Iterator[Looking]:
    with looking(InactiveConfig(delete=True)) as found:
        yield found


def publish(raw: RawClient) -> Position:
    raw.ask(producer(str(NAME)), BaseCommand.PRODUCER_SUCCESS)
    raw.send(send(0))
    message_id = raw.expect(BaseCommand.SEND_RECEIPT).message_id
    return Position(message_id.ledgerId, message_id.entryId)


def test_an_inactive_topic_is_deleted_after_the_configured_time(broker: Looking) -> None:
    broker.load()
    broker.look_twice(MAX_SECONDS - 1)
    assert broker.exists()
    broker.look_twice(1)
    assert not broker.exists()


def test_inactive_topics_are_kept_unless_deletion_is_enabled() -> None:
    with looking(InactiveConfig()) as broker:
        broker.load()
        broker.look_twice(1_000_000)
        assert broker.exists()


def test_a_namespace_policy_enables_deletion_and_sets_its_time() -> None:
    with looking(InactiveConfig()) as broker:
        broker.set_policies(inactive_topics=InactiveTopics(None, 5, delete=True))
        broker.load()
        broker.look_twice(5)
        assert not broker.exists()


def test_a_producer_keeps_a_topic_and_use_restarts_the_time(broker: Looking) -> None:
    with RawClient(broker.broker.service_url) as raw:
        publish(raw)
        broker.look_twice()
        assert broker.exists()
    broker.broker.call(broker.broker.broker.topics.unload(NAME))
    broker.load()
    broker.look_twice(MAX_SECONDS - 1)
    assert broker.exists()


def test_the_time_counts_from_the_last_producer_between_two_checks(broker: Looking) -> None:
    broker.load()
    broker.check_in(0)
    broker.pass_time(MAX_SECONDS - 1)
    with RawClient(broker.broker.service_url) as raw:
        publish(raw)
        raw.send(close_producer())
        raw.expect(BaseCommand.SUCCESS)
    broker.check_in(1)
    assert broker.exists()
    broker.check_in(MAX_SECONDS)
    assert not broker.exists()


def test_a_subscription_keeps_a_topic(broker: Looking) -> None:
    broker.subscribe()
    broker.look_twice()
    assert broker.exists()


def test_with_the_matching_policy_a_caught_up_subscription_does_not_keep_a_topic() -> None:
    with looking(InactiveConfig(delete=True, mode=CAUGHT_UP)) as broker:
        broker.subscribe()
        with RawClient(broker.broker.service_url) as raw:
            last = publish(raw)
        broker.broker.call(broker.broker.broker.topics.unload(NAME))  # all closing clients are closed
        broker.load()
        broker.look_twice()
        assert broker.exists()  # it has a backlog
        topic = broker.broker.call(broker.broker.broker.topics.get(NAME))
        topic.subscriptions["s"].cursor.acknowledge_up_to(last)
        broker.look_twice()
        assert not broker.exists()


@pytest.mark.parametrize("minutes", [-1, 10])
def test_retention_keeps_a_topic_as_long_as_its_messages(broker: Looking, minutes: int) -> None:
    broker.set_policies(retention=RetentionPolicy(minutes, -1))
    broker.load()
    broker.look_twice()
    assert broker.exists()


def test_a_system_topic_is_never_deleted(broker: Looking) -> None:
    name = parse_topic("persistent://public/default/__change_events")
    broker.load(name)
    broker.look_twice(1_000_000)
    assert broker.exists(name)


def test_an_inactive_non_persistent_topic_is_always_deleted() -> None:
    name = parse_topic("non-persistent://public/default/t")
    with looking(InactiveConfig()) as broker:
        broker.load(name)
        broker.look_twice()
        assert not broker.exists(name)


def test_an_inactive_topic_is_unloaded_with_its_messages_if_configured() -> None:
    with looking(InactiveConfig(close=True)) as broker:
        broker.set_policies(inactive_topics=InactiveTopics(None, MAX_SECONDS, delete=True))
        with RawClient(broker.broker.service_url) as raw:
            publish(raw)
            broker.look_twice()
            assert broker.is_loaded()
        broker.when_unused()
        broker.look_twice(MAX_SECONDS - 1)
        assert broker.is_loaded()
        broker.look_twice(1)
        assert (broker.is_loaded(), broker.exists()) == (False, True)
        broker.load()
        assert broker.broker.broker.topics.loaded[str(NAME)].ledger.entries == 1


@pytest.mark.parametrize(
    "policies",
    [
        {"inactive_topics": InactiveTopics(CAUGHT_UP, 1, delete=False)},
        {"ttl_seconds": 60},
        {"retention": RetentionPolicy(10, -1)},
    ],
    ids=["consumers may be connected", "messages expire", "retention ends"],
)
def test_a_topic_that_would_be_loaded_again_at_once_stays_loaded(policies: dict[str, object]) -> None:
    with looking(InactiveConfig(close=True)) as broker:
        broker.set_policies(**policies)
        broker.load()
        broker.look_twice(1_000_000)
        assert broker.is_loaded()


@pytest.mark.parametrize("wanted", [True, False])
def test_a_partitioned_topic_is_deleted_with_its_last_partition_if_configured(wanted: bool) -> None:
    with looking(InactiveConfig(delete=True, delete_partitioned=wanted)) as broker:
        broker.broker.create_partitioned_topic(str(NAME), 2)
        for index in range(2):
            broker.load(NAME.partition_name(index))
        broker.look_twice()
        assert not broker.exists(NAME.partition_name(1))
        assert broker.broker.broker.partitioned.count(NAME) == (0 if wanted else 2)


def test_an_unused_subscription_expires_if_configured() -> None:
    with looking(InactiveConfig(), TopicConfig(subscription_expiration_minutes=2)) as broker:
        broker.subscribe()
        topic = broker.broker.broker.topics.loaded[str(NAME)]
        broker.look_at_subscriptions_twice(119)
        assert "s" in topic.subscriptions
        broker.look_at_subscriptions_twice(1)
        assert "s" not in topic.subscriptions


def test_the_time_of_a_topic_precedes_that_of_its_namespace() -> None:
    with looking(InactiveConfig()) as broker:
        other = parse_topic("persistent://public/default/other")
        broker.set_policies(subscription_expiration_minutes=2)
        for name in (NAME, other):
            broker.subscribe(name)
        policies = broker.broker.broker.tenancy.topic_policies
        broker.broker.call(policies.set(NAME, subscription_expiration_minutes=0))
        broker.look_at_subscriptions_twice(1_000)
        loaded = broker.broker.broker.topics.loaded
        assert [list(loaded[str(name)].subscriptions) for name in (NAME, other)] == [["s"], []]


def test_a_replicated_subscription_does_not_expire() -> None:
    with looking(InactiveConfig(), TopicConfig(subscription_expiration_minutes=2)) as broker:
        broker.subscribe()
        topic = broker.broker.broker.topics.loaded[str(NAME)]
        broker.broker.call(topic.subscriptions["s"].set_replicated(True))
        broker.look_at_subscriptions_twice(1_000)
        assert "s" in topic.subscriptions


def test_a_subscription_with_a_consumer_does_not_expire() -> None:
    topics = TopicConfig(subscription_expiration_minutes=2)
    with looking(InactiveConfig(), topics) as broker, RawClient(broker.broker.service_url) as raw:
        raw.send(client_commands.subscribe(1, str(NAME), "s", 1))
        raw.expect(BaseCommand.SUCCESS)
        broker.look_at_subscriptions_twice(1_000)
        assert "s" in broker.broker.broker.topics.loaded[str(NAME)].subscriptions


def test_the_time_of_a_subscription_counts_from_the_last_consumer_between_two_checks() -> None:
    topics = TopicConfig(subscription_expiration_minutes=2)
    with looking(InactiveConfig(), topics) as broker, RawClient(broker.broker.service_url) as raw:
        broker.subscribe()
        found = broker.broker.broker.topics.loaded[str(NAME)].subscriptions
        broker.check_subscriptions_in(0)
        broker.pass_time(119)
        subscribe(raw, str(NAME))
        raw.send(close_consumer())
        raw.expect(BaseCommand.SUCCESS)
        broker.check_subscriptions_in(1)
        assert "s" in found
        broker.check_subscriptions_in(120)
        assert "s" not in found


def test_a_message_that_comes_over_http_restarts_the_time(broker: Looking) -> None:
    broker.load()
    broker.check_in(0)
    broker.pass_time(MAX_SECONDS - 1)
    publish_by_http(broker.broker, NAME)
    broker.check_in(1)
    assert broker.exists()


def publish_by_http(broker: EmbeddedBroker, name: TopicName) -> None:
    body = json.dumps({"messages": [{"payload": "x"}]}).encode()
    path = f"{broker.http_url}/topics/persistent/{name.namespace}/{name.local}"
    request = urllib.request.Request(path, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


async def test_a_failed_check_is_repeated() -> None:
    looks: list[int] = []
    twice = asyncio.Event()

    async def look() -> None:
        looks.append(len(looks))
        if len(looks) == 1:
            raise OSError("the disk is full")
        twice.set()

    looking = asyncio.ensure_future(_each(lambda: 0, look))
    await asyncio.wait_for(twice.wait(), 5)
    looking.cancel()
