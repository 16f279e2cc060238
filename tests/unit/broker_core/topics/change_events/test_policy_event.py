"""Events of topic policies as bytes: those of a real Pulsar, and ours."""

import json
from base64 import b64decode

import pytest

from broker_core.admin import policy_places
from broker_core.errors import InvalidValue
from broker_core.metadata.policies.json_values import refuse
from broker_core.metadata.policies.offload_policies import OffloadPolicies
from broker_core.metadata.policies.policy_set import NOTHING_SET, PolicySet
from broker_core.metadata.policies.values import (
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
from broker_core.names import parse_topic
from broker_core.topics.change_events.event_fields import QUOTAS, from_event
from broker_core.topics.change_events.event_reader import MOST_ENTRY_BYTES, MOST_MESSAGES, EventReader
from broker_core.topics.change_events.policy_event import (
    GLOBAL_KEY,
    MOST_BYTES,
    PolicyChange,
    event_entry,
    own_schema,
)
from broker_core.topics.change_events.writer_schema import RECORD
from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata, SingleMessageMetadata

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


def read(entry: bytes, schema: bytes | None = None) -> tuple[list[PolicyChange], list[str]]:
    """What it says, and why something in it is skipped."""
    reasons: list[str] = []
    reader = EventReader(TOPIC.namespace, lambda: {"east"}, lambda _: schema)
    return reader.changes(entry, reasons.append), reasons


def changes(entry: bytes) -> list[PolicyChange]:
    found, reasons = read(entry)
    assert reasons == []
    return found


def why(entry: bytes, schema: bytes | None = None) -> str:
    """The only reason why nothing of it is used."""
    found, [reason] = read(entry, schema)
    assert found == []
    return reason


def sent(policies: PolicySet) -> bytes:
    """The payload of our own event."""
    return parse_entry(own(policies)).payload


def own(policies: PolicySet, cluster: str = "west") -> bytes:
    change = PolicyChange(TOPIC, policies)
    return event_entry(change, cluster=cluster, sequence_id=1, now_ms=1, schema_version=bytes(8)).data


@pytest.mark.parametrize("policies", [EVERYTHING, NOTHING_SET], ids=["all policies", "none"])
def test_an_event_says_the_same_after_the_journey(policies: PolicySet) -> None:
    assert changes(copied(sent(policies))) == [PolicyChange(TOPIC, policies)]


def test_every_policy_that_a_topic_can_have_travels() -> None:
    settable = {place.field for place in policy_places.TOPIC} | {*QUOTAS}
    settable |= {"ttl_seconds", "replication_clusters", "dispatch_rates"}  # whose paths are no ordinary ones
    assert {field for field, _ in EVERYTHING} == settable


def test_a_policy_that_only_newer_brokers_send_is_read() -> None:
    policies = from_event({"subscriptionExpirationTimeInMinutes": 5}, refuse)
    assert policies == PolicySet(subscription_expiration_minutes=5)


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


def test_an_event_of_this_cluster_changes_nothing() -> None:
    assert changes(own(EVERYTHING)) == []


def test_clusters_do_not_share_a_producer_name() -> None:
    names = {parse_entry(own(EVERYTHING, cluster)).metadata.producer_name for cluster in ("west", "east")}
    assert len(names) == 2


def test_a_value_that_is_invalid_here_does_not_hide_the_others() -> None:
    wrong = PolicySet(ttl_seconds=5).changed(max_producers=-1)
    found, [reason] = read(copied(sent(wrong)))
    assert found == [PolicyChange(TOPIC, PolicySet(ttl_seconds=5))]
    assert "max_producers" in reason


@pytest.mark.parametrize("payload", [b"\xff" * 20, b"\x02", sent(EVERYTHING)[:-10]])
def test_bytes_that_are_no_event_are_reported(payload: bytes) -> None:
    assert "does not fit its schema" in why(copied(payload))


def schema_of(about: object) -> bytes:
    """The schema of an event whose `topicPoliciesEvent` has the type `about`."""
    fields: list[dict[str, object]] = [{"name": name, "type": "string"} for name in ("eventType", "actionType")]
    fields.append({"name": "topicPoliciesEvent", "type": about})
    return json.dumps({"type": "record", "name": RECORD, "fields": fields}).encode()


def record(name: str, **fields: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": one} for key, one in fields.items()]}


TOPIC_FIELDS: dict[str, object] = {"domain": "string", "tenant": "string", "namespace": "string", "topic": "string"}
WRONG_RATES = record(
    "P", isGlobal="boolean", messageTTLInSeconds="int", subscriptionPolicies={"type": "map", "values": "string"}
)
HEAD = b"\x18TOPIC_POLICY\x0cUPDATE"


def test_an_event_of_another_shape_is_reported() -> None:
    assert "must be a JSON object" in why(copied(HEAD + b"\x02x"), schema_of("string"))


def test_a_policy_of_another_shape_does_not_hide_the_others() -> None:
    where = b"\x14persistent\x0cpublic\x04g1\x02t"
    payload = HEAD + where + b"\x01\x0a" + b"\x02\x06sub\x02x\x00"
    schema = schema_of(record("A", **TOPIC_FIELDS, policies=WRONG_RATES))
    found, [reason] = read(copied(payload, ""), schema)
    assert found == [PolicyChange(TOPIC, PolicySet(ttl_seconds=5))]
    assert "dispatch_rates" in reason


def test_events_of_a_cluster_that_the_namespace_does_not_have_are_skipped() -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, replicated_from="north")
    assert "north" in why(build_entry(metadata, sent(EVERYTHING)))


def test_events_about_another_namespace_are_skipped() -> None:
    assert "another namespace" in why(copied(b"", f"{GLOBAL_KEY}persistent://public/other/t"))


def test_an_event_that_is_too_long_is_not_decoded() -> None:
    assert f"{MOST_BYTES} are the maximum" in why(copied(bytes(MOST_BYTES + 1)))
    assert f"{MOST_ENTRY_BYTES} are the maximum" in why(copied(b"", "k" * MOST_ENTRY_BYTES))


def batch(*messages: tuple[str, bytes]) -> bytes:
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, replicated_from="east")
    singles = [BatchMessage(SingleMessageMetadata(partition_key=key), payload) for key, payload in messages]
    return build_batch(metadata, singles)


def test_a_batch_of_too_many_events_is_skipped() -> None:
    removal = (f"{GLOBAL_KEY}{TOPIC}", b"")
    assert f"more than {MOST_MESSAGES}" in why(batch(*[removal] * (MOST_MESSAGES + 1)))


def test_a_message_that_cannot_be_read_does_not_hide_the_rest_of_its_batch() -> None:
    found, reasons = read(batch(("", b"\xff" * 9), (f"{GLOBAL_KEY}{TOPIC}", b"")))
    assert found == [PolicyChange(TOPIC, NOTHING_SET)]
    assert len(reasons) == 1


def test_policies_that_do_not_fit_into_an_event_are_refused() -> None:
    with pytest.raises(InvalidValue, match="does not fit"):
        own(PolicySet(ttl_seconds=1 << 40))
    rates = {f"{'s' * 2000}-{number}": RATE for number in range(100)}
    with pytest.raises(InvalidValue, match="are the maximum"):
        own(PolicySet(dispatch_rates=rates))


def test_the_schema_is_that_of_pulsar_without_a_change() -> None:
    assert own_schema().data.startswith(b'{"type":"record","name":"PulsarEvent","namespace":"org.apache.pulsar')
    assert len(own_schema().data) == 9217
