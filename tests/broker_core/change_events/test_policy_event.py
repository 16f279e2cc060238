"""Events of topic policies as bytes: those of a real Pulsar, and ours."""

from base64 import b64decode

import pytest

from broker_core.admin import policy_places
from broker_core.change_events.event_fields import QUOTAS
from broker_core.change_events.policy_event import (
    GLOBAL_KEY,
    PolicyChange,
    UnreadableEvent,
    changes_in,
    event_entry,
    own_schema,
)
from broker_core.names import parse_topic
from broker_core.policies.offload_policies import OffloadPolicies
from broker_core.policies.policy_set import NOTHING_SET, PolicySet
from broker_core.policies.values import (
    AutoSubscriptionCreation,
    BacklogQuota,
    DelayedDelivery,
    DispatchRate,
    InactiveTopics,
    Persistence,
    PublishRate,
    RetentionPolicy,
    SubscribeRate,
)
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

TOPIC = parse_topic("persistent://public/g1/t")
RATE = DispatchRate(3, -1, False, 1)
OF_PULSAR_LOCAL = (
    "AgQCAAICFHN0YW5kYWxvbmUAAgIUcGVyc2lzdGVudAIEZzECAAIAAAAAAAAAAAAAAAIAAAAAAAAAAAISAAAAAAAAAgYAAAAAAgACAAIMcHVibGlj"
    "AgJ0"
)
OF_PULSAR = (  # by Apache Pulsar 4.0.7, with many of the policies that a topic can have
    "AgQCAAACAhRwZXJzaXN0ZW50AgRnMQICAQICJmRlc3RpbmF0aW9uX3N0b3JhZ2XQDwLQDwECAgAAAAACAQIAAtAPAgEGAgAAAAIBAgASAgEAAAAA"
    "AAAAAgoCAAISZmlsZTovLy94AAKAgICAAQKAgIABAAACAAAAAhRmaWxlc3lzdGVtAAIEAgIAAAACmgEAAAIYLi9vZmZsb2FkZXJzAAAAAoCAgEAC"
    "gICAAQAAAiJwdWxzYXItczMtb2ZmbG9hZAACAgICAAAAAAAAAAAAAgoIAgIUc3RhbmRhbG9uZQAAAigUAAAAAjwIAAICBnN1YgIACAAAAAICAgAC"
    "DHB1YmxpYwICdA=="
)
EVERYTHING = PolicySet(
    retention=RetentionPolicy(10, 20),
    ttl_seconds=5,
    compaction_threshold=1 << 40,
    offload=OffloadPolicies(driver="filesystem", filesystem_uri="file:///x", threshold_bytes=77),
    publish_rate=PublishRate(4, 5),
    dispatch_rate=RATE,
    subscription_dispatch_rate=RATE,
    replicator_dispatch_rate=RATE,
    subscribe_rate=SubscribeRate(4, 30),
    max_producers=1,
    max_consumers=2,
    max_consumers_per_subscription=3,
    max_subscriptions=4,
    max_unacked_per_consumer=5,
    max_unacked_per_subscription=6,
    max_message_size=7,
    replication_clusters=("west", "east"),
    deduplication_enabled=True,
    deduplication_snapshot_seconds=8,
    inactive_topics=InactiveTopics("delete_when_no_subscriptions", 9, True),
    auto_subscription_creation=AutoSubscriptionCreation(True),
    subscription_types=("Shared", "Failover"),
    schema_compatibility_strategy="BACKWARD",
    schema_validation_enforced=True,
    dispatcher_pause=False,
    persistence=Persistence(1, 1, 1, 0.5),
    size_quota=BacklogQuota(1000, -1, "producer_exception"),
    age_quota=BacklogQuota(-1, 60, "consumer_backlog_eviction"),
    delayed_delivery=DelayedDelivery(1000, True, 3),
    dispatch_rates={"sub": RATE},
)


def copied(payload: bytes, key: str = f"{GLOBAL_KEY}{TOPIC}") -> bytes:
    """An entry as the replicator of another cluster sends it."""
    metadata = MessageMetadata(
        producer_name="p",
        sequence_id=1,
        publish_time=1,
        partition_key=key,
        replicated_from="east",
        null_value=not payload,
    )
    return build_entry(metadata, payload)


def changes(entry: bytes) -> list[PolicyChange]:
    return list(changes_in(entry, lambda _: None))


def sent(policies: PolicySet) -> bytes:
    """The payload of our own event."""
    entry = event_entry(PolicyChange(TOPIC, policies), sequence_id=1, now_ms=1, schema_version=bytes(8))
    return parse_entry(entry.data).payload


@pytest.mark.parametrize("policies", [EVERYTHING, NOTHING_SET], ids=["all policies", "none"])
def test_an_event_says_the_same_after_the_journey(policies: PolicySet) -> None:
    assert changes(copied(sent(policies))) == [PolicyChange(TOPIC, policies)]


def test_every_policy_that_a_topic_can_have_travels() -> None:
    settable = {place.field for place in policy_places.TOPIC} | {*QUOTAS}
    settable |= {"ttl_seconds", "replication_clusters", "dispatch_rates"}  # whose paths are no ordinary ones
    assert {field for field, _ in EVERYTHING} == settable


def test_an_event_of_a_real_pulsar_is_understood() -> None:
    [change] = changes(copied(b64decode(OF_PULSAR)))
    assert change.topic == TOPIC
    assert change.policies.changed(offload=None) == PolicySet(
        auto_subscription_creation=AutoSubscriptionCreation(True),
        size_quota=BacklogQuota(1000, -1, "producer_exception"),
        delayed_delivery=DelayedDelivery(1000, True, 0),
        dispatch_rate=RATE,
        dispatch_rates={"sub": DispatchRate(4)},
        inactive_topics=InactiveTopics("delete_when_no_subscriptions", 9, True),
        persistence=Persistence(1, 1, 1, 0.0),
        publish_rate=PublishRate(4, 5),
        replication_clusters=("standalone",),
        retention=RetentionPolicy(10, 20),
        subscribe_rate=SubscribeRate(4, 30),
        subscription_types=("Shared",),
        ttl_seconds=5,
    )
    assert change.policies.get("offload").driver == "filesystem"


def test_the_policies_of_one_cluster_are_not_applied_in_another() -> None:
    assert changes(copied(b64decode(OF_PULSAR_LOCAL), key=str(TOPIC))) == []


def test_an_event_without_a_value_removes_all_policies() -> None:
    assert changes(copied(b"")) == [PolicyChange(TOPIC, NOTHING_SET)]
    assert changes(copied(b"", key=str(TOPIC))) == []


def test_what_was_published_here_is_no_news() -> None:
    entry = event_entry(PolicyChange(TOPIC, EVERYTHING), sequence_id=1, now_ms=1, schema_version=bytes(8))
    assert changes(entry.data) == []


def test_a_value_that_is_invalid_here_does_not_hide_the_others() -> None:
    wrong = PolicySet(ttl_seconds=5).changed(max_producers=-1)
    assert changes(copied(sent(wrong))) == [PolicyChange(TOPIC, PolicySet(ttl_seconds=5))]


@pytest.mark.parametrize("payload", [b"\xff" * 20, b"\x02", sent(EVERYTHING)[:-10]])
def test_bytes_that_are_no_event_are_reported(payload: bytes) -> None:
    with pytest.raises(UnreadableEvent):
        changes(copied(payload))


def test_the_schema_is_that_of_pulsar_without_a_change() -> None:
    assert own_schema().data.startswith(b'{"type":"record","name":"PulsarEvent","namespace":"org.apache.pulsar')
    assert len(own_schema().data) == 9217
