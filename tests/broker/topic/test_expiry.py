"""The expiry of messages whose producers have different clocks, or whose topic goes to another cluster."""

import time
from pathlib import Path

import pytest

from broker_core.errors import TopicFenced
from broker_core.metadata.policies.migration import Destination
from broker_core.metadata.policies.values import EVICT, BacklogQuota, RetentionPolicy
from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.topic import housekeeping
from broker_core.topic.migration import Phase
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, publish, send

TOPIC = "persistent://public/default/t"
NAMESPACE = NamespaceName("public", "default")
ELSEWHERE = Destination("pulsar://elsewhere:6650", "")


def test_a_message_expires_after_one_of_a_producer_whose_clock_is_ahead(tmp_path: Path) -> None:
    now_ms = int(time.time() * 1000)
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        subscribe(client, TOPIC, permits=0)
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        for number, publish_time in enumerate((now_ms + 600_000, now_ms - 60_000)):
            client.send(send(number, metadata={"publish_time": publish_time}))
            client.expect(BaseCommand.SEND_RECEIPT)
        client.send(client_commands.flow(1, 2))
        ahead, _ = receive(client, 2)
        client.send(client_commands.acknowledge(1, [ahead.message_id]))
        cursor = broker.call(broker.broker.topics.get(parse_topic(TOPIC))).subscriptions["s"].cursor
        wait_until(lambda: cursor.backlog_entries == 1, 10)
        retention = RetentionPolicy(-1, -1)  # the acknowledged message stays
        broker.call(broker.broker.tenancy.set_namespace_policies(NAMESPACE, ttl_seconds=1, retention=retention))
        wait_until(lambda: cursor.backlog_entries == 0, 10)


def frozen(broker: EmbeddedBroker, client: RawClient) -> Topic:
    """A topic with ten messages that the subscription `s` has not acknowledged; a copy of it is being completed."""
    subscribe(client, TOPIC, permits=0)
    client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    publish(client, 10)
    topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
    broker.call(topic.migration.enter(Phase.FROZEN, ELSEWHERE))
    return topic


def test_nothing_expires_while_the_topic_is_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "CHECK_AGAIN_SECONDS", 0.1)
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        topic = frozen(broker, client)
        subscription = topic.subscriptions["s"]
        expired = broker.call(subscription.expire_before(int(time.time() * 1000) + 1000))
        assert (expired, subscription.cursor.backlog_entries) == (0, 10)
        broker.call(broker.broker.tenancy.set_namespace_policies(NAMESPACE, ttl_seconds=1))
        broker.call(topic.migration.enter(Phase.IN_USE, ELSEWHERE))
        wait_until(lambda: subscription.cursor.backlog_entries == 0, 10)


def test_a_frozen_topic_is_not_truncated(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        topic = frozen(broker, client)
        with pytest.raises(TopicFenced):
            broker.call(topic.truncate())
        assert topic.subscriptions["s"].cursor.backlog_entries == 10


def test_a_frozen_subscription_does_not_follow_another_cluster(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        topic = frozen(broker, client)
        broker.call(topic.subscriptions["s"].follow(topic.ledger.last_confirmed))
        assert topic.subscriptions["s"].cursor.backlog_entries == 10


def test_a_quota_drops_nothing_while_the_topic_is_frozen(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        topic = frozen(broker, client)
        quota = BacklogQuota(size=1, policy=EVICT)
        broker.call(broker.broker.tenancy.set_namespace_policies(NAMESPACE, size_quota=quota))
        broker.call(topic.quotas.check())
        assert topic.subscriptions["s"].cursor.backlog_entries == 10
