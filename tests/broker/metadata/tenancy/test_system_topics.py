"""Which topics are system topics, and which limits do not apply to them."""

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.config.policies import PolicyConfig
from broker_core.config.topic import TopicConfig
from broker_core.metadata.policies.topic_policies import TopicPolicies
from broker_core.metadata.tenancy.system_topics import is_broker_internal, is_system_topic, users_topics
from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker


@pytest.mark.parametrize(
    ("topic", "system", "internal"),
    [
        ("public/default/__change_events", True, False),
        ("public/default/__change_events-partition-3", True, False),
        ("public/default/__transaction_buffer_snapshot", True, False),
        ("public/default/t-s__transaction_pending_ack", True, True),
        ("pulsar/system/transaction_coordinator_assign-partition-1", True, True),
        ("pulsar/system/__transaction_log_3", True, True),
        ("pulsar/system/anything", True, False),
        ("public/default/__mine", False, False),
        ("public/default/t-multiTopicsReader-0a1b2c", False, False),
        ("public/default/transaction_coordinator_assign", False, False),
    ],
)
def test_system_topics_are_recognized_by_name(topic: str, system: bool, internal: bool) -> None:
    name = parse_topic(f"persistent://{topic}")
    assert (is_system_topic(name), is_broker_internal(name)) == (system, internal)


def test_limits_and_expiry_do_not_apply_to_system_topics() -> None:
    config = BrokerConfig(
        server=FREE_PORTS,
        policies=PolicyConfig(ttl_seconds=5, retention_minutes=5, retention_mb=5),
        topics=TopicConfig(max_producers=1),
        deduplication=DeduplicationConfig(enabled=True),
    )
    with EmbeddedBroker(config=config) as broker:
        system = policies(broker, "persistent://public/default/__change_events")
        users = policies(broker, "persistent://public/default/__mine")
    assert held(system) == (0, 0, 0, False)
    assert held(users) == (5, 5, 1, True)


def policies(broker: EmbeddedBroker, topic: str) -> TopicPolicies:
    async def loaded(found: Broker) -> TopicPolicies:
        return (await found.topics.get(parse_topic(topic), create=True)).policies

    return broker.call(loaded(broker.broker))


def held(policies: TopicPolicies) -> tuple[int, int, int, bool]:
    return policies.ttl_seconds, policies.retention.minutes, policies.max_producers, policies.deduplication_enabled


@pytest.mark.parametrize("namespace", ["public/default", "public/cluster/default", "pulsar/system"])
def test_user_topics_exclude_system_topics(namespace: str) -> None:
    locals_ = [
        "t",
        "__change_events",
        "__change_events-partition-0",
        "t__transaction_pending_ack",
        "__mine",
        "t-partition-3",
    ]
    topics = [f"persistent://{namespace}/{local}" for local in locals_]
    expected = [topic for topic in topics if not is_system_topic(parse_topic(topic))]
    assert users_topics(NamespaceName.parse(namespace), topics) == expected
