from dataclasses import replace

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from broker_core.config.topic import TopicConfig
from broker_core.errors import BrokerError, InvalidRequest, InvalidValue
from broker_core.metadata.policies.json_values import properties
from broker_core.metadata.policies.policy_set import PolicySet, configured, resolve
from broker_core.metadata.policies.topic_policies import POLICIES
from broker_core.metadata.policies.values import (
    EVICT,
    AutoTopicCreation,
    BacklogQuota,
    DelayedDelivery,
    DispatchRate,
    RetentionPolicy,
)
from broker_core.metadata.tenancy.bundles import Bundles
from broker_core.storage.log.retention import Retention

ONE_ZERO = (
    "Invalid retention policy: Setting a single time or size limit to 0 is invalid when one of the limits has"
    " a non-zero value. Use the value of -1 instead of 0 to ignore a specific limit. To disable retention"
    " both limits must be set to 0."
)


@pytest.mark.parametrize(("minutes", "mb"), [(0, 0), (-1, -1), (-1, 5), (5, -1), (5, 5)], ids=lambda value: str(value))
def test_retention_accepts_valid_limits(minutes: int, mb: int) -> None:
    assert RetentionPolicy(minutes, mb).to_document() == {
        "retentionTimeInMinutes": minutes,
        "retentionSizeInMB": mb,
    }


@pytest.mark.parametrize(
    ("minutes", "mb", "reason"),
    [
        (0, 5, ONE_ZERO),
        (5, 0, ONE_ZERO),
        (0, -1, ONE_ZERO),
        (-2, 5, "Invalid retention policy: time limit must be >= -1"),
        (3, -5, "Invalid retention policy: size limit must be >= -1"),
    ],
)
def test_retention_refuses_with_the_reason_of_the_rest_api(minutes: int, mb: int, reason: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        RetentionPolicy(minutes, mb)
    assert refused.value.reason == reason


def test_an_absent_limit_in_a_retention_body_is_zero() -> None:
    assert RetentionPolicy.from_document({}) == RetentionPolicy(0, 0)
    with pytest.raises(InvalidRequest):
        RetentionPolicy.from_document({"retentionTimeInMinutes": 3})


def test_retention_limits_in_milliseconds_and_bytes() -> None:
    assert RetentionPolicy(2, 3).limits == Retention(time_ms=120_000, size_bytes=3 * 1024 * 1024)
    assert RetentionPolicy(-1, -1).limits == Retention(time_ms=-1, size_bytes=-1)


@pytest.mark.parametrize(
    ("policy", "time_ms"),
    [(RetentionPolicy(), 600_000), (RetentionPolicy(11, 5), 660_000), (RetentionPolicy(-1, 5), -1)],
)
def test_a_topic_without_durable_subscriptions_retains_messages_for_ten_minutes_or_longer(
    policy: RetentionPolicy, time_ms: int
) -> None:
    assert policy.limits_of(subscribed=False).time_ms == time_ms
    assert policy.limits_of(subscribed=True) == policy.limits


def test_a_policy_set_refuses_negative_values() -> None:
    with pytest.raises(InvalidValue, match="Invalid value for message TTL"):
        PolicySet.from_document({"message_ttl_in_seconds": -1}, "here")
    with pytest.raises(InvalidValue, match="compaction_threshold must be 0 or more"):
        PolicySet.from_document({"compaction_threshold": -1}, "here")


def test_a_policy_set_refuses_an_undeclared_policy() -> None:
    with pytest.raises(TypeError, match="ttl"):
        PolicySet(ttl=1)


def test_a_policy_set_is_read_back_from_its_document() -> None:
    policies = PolicySet(
        retention=RetentionPolicy(5, -1),
        ttl_seconds=0,
        compaction_threshold=1 << 40,
        age_quota=BacklogQuota(0, 5, EVICT),
        dispatch_rate=DispatchRate(5, -1, True, 2),
        subscription_types=("Shared", "Key_Shared"),
        dispatch_rates={"sub": DispatchRate(7)},
        delayed_delivery=DelayedDelivery(15, True, 10),
        auto_topic_creation=AutoTopicCreation(True, "partitioned", 3),
    )
    assert PolicySet.from_document(policies.to_document("here"), "here") == policies
    assert PolicySet().to_document("here") == {}


def test_any_configuration_is_read_back_from_a_document() -> None:
    in_force = configured(BrokerConfig())
    policies = PolicySet(**{field: getattr(in_force, field) for field in POLICIES})
    found = resolve([PolicySet.from_document(policies.to_document("here"), "here")], in_force)
    # An explicit retention, even zero, turns off the broker's grace period for new messages.
    assert found == replace(in_force, retention=replace(in_force.retention, open_ledger_seconds=0))


def test_rates_are_stored_under_the_name_of_the_cluster() -> None:
    document = PolicySet(dispatch_rate=DispatchRate(5)).to_document("here")
    assert list(document["topicDispatchRate"]) == ["here"]
    assert PolicySet.from_document(document, "elsewhere").is_empty


@pytest.mark.parametrize("value", ["x", True, [], {}, "1.5"])
def test_a_value_that_is_not_a_number_is_refused(value: object) -> None:
    with pytest.raises(BrokerError, match="message_ttl_in_seconds must be a whole number"):
        PolicySet.from_document({"message_ttl_in_seconds": value}, "here")


def test_a_topic_policy_overrides_its_namespace_which_overrides_the_configuration() -> None:
    policies = PolicyConfig(ttl_seconds=60, retention_minutes=1, retention_mb=1, compaction_threshold=7)
    config = BrokerConfig(policies=policies, topics=TopicConfig(max_producers=3))
    topic = PolicySet(ttl_seconds=0)
    namespace = PolicySet(retention=RetentionPolicy(-1, -1), ttl_seconds=5)

    in_force = resolve([topic, namespace], configured(config))

    assert in_force.ttl_seconds == 0
    assert in_force.retention == RetentionPolicy(-1, -1)
    assert in_force.compaction_threshold == 7
    assert in_force.max_producers == 3


@pytest.mark.parametrize(
    ("document", "detail"),
    [
        ({"topicType": "partitioned"}, "[defaultNumPartitions] cannot be null when the type is partitioned."),
        (
            {"topicType": "partitioned", "defaultNumPartitions": 0},
            "[defaultNumPartitions] cannot be less than 1 for partition type.",
        ),
        (
            {"topicType": "non-partitioned", "defaultNumPartitions": 1},
            "[defaultNumPartitions] is not allowed to be set when the type is non-partition.",
        ),
        ({}, "Unknown topic type [null]"),
        ({"topicType": "x"}, "Unknown topic type [x]"),
    ],
)
def test_an_invalid_auto_creation_policy_is_refused(document: dict[str, object], detail: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        AutoTopicCreation.from_document({"allowAutoTopicCreation": True, **document})
    assert refused.value.reason == f"Invalid configuration for autoTopicCreationOverride. the detail is {detail}"


def test_auto_creation_needs_a_type_only_when_enabled() -> None:
    document = {"allowAutoTopicCreation": False, "topicType": ""}
    assert AutoTopicCreation.from_document(document).to_document() == document


def test_the_size_of_a_quota_may_have_its_old_name_or_be_text() -> None:
    assert BacklogQuota.from_document({"limit": "10240", "policy": EVICT}).size == 10240


def test_a_quota_without_a_policy_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="the attribute policy cannot be null"):
        BacklogQuota.from_document({"limitSize": 5})


def test_four_bundles_split_the_hash_range_evenly() -> None:
    assert Bundles.evenly(4).to_document() == {
        "boundaries": ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"],
        "numBundles": 4,
    }


def test_the_bundle_of_a_topic_is_found_by_the_hash_of_its_name() -> None:
    topic = "persistent://public/default/test-get-topic-bundle-range"
    assert Bundles.evenly(4).bundle_of(topic) == "0xc0000000_0xffffffff"
    assert Bundles.evenly(1).bundle_of(topic) == "0x00000000_0xffffffff"


def test_bundles_with_a_gap_are_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        Bundles.from_document(4, 4096, {"boundaries": ["0x00000000", "0x8"], "numBundles": 1})
    assert refused.value.reason == (
        "Input bundles do not cover the whole hash range. first:0x00000000, last:0x00000008"
    )


class Unspeakable(str):
    """A key that must not be formatted."""

    __slots__ = ()

    def __repr__(self) -> str:
        raise AssertionError("a name was spelled out without need")


def test_member_paths_are_built_only_for_an_error() -> None:
    assert properties({Unspeakable("a"): "1", Unspeakable("b"): 2}, "properties") == {"a": "1", "b": "2"}


def test_an_error_in_a_member_names_the_member() -> None:
    with pytest.raises(InvalidRequest, match=r"properties\.'b' must be a string"):
        properties({"a": "1", "b": []}, "properties")


def test_numbers_keep_their_spelling_as_properties() -> None:
    assert properties({"a": 0.1, "b": 1.0, "c": 7, "d": True}, "properties") == {
        "a": "0.1", "b": "1.0", "c": "7", "d": "true"
    }  # fmt: skip
