import pytest

from broker_core.bundles import Bundles
from broker_core.config import PolicyConfig
from broker_core.errors import BrokerError, InvalidRequest, PreconditionFailed
from broker_core.policies import PolicySet, RetentionPolicy, resolve
from broker_core.storage.retention import Retention

ONE_ZERO = (
    "Invalid retention policy: Setting a single time or size limit to 0 is invalid when one of the limits has"
    " a non-zero value. Use the value of -1 instead of 0 to ignore a specific limit. To disable retention"
    " both limits must be set to 0."
)


@pytest.mark.parametrize(("minutes", "mb"), [(0, 0), (-1, -1), (-1, 5), (5, -1), (5, 5)], ids=lambda value: str(value))
def test_retention_takes_limits_that_make_sense(minutes: int, mb: int) -> None:
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


def test_a_policy_set_refuses_negative_values() -> None:
    with pytest.raises(PreconditionFailed, match="Invalid value for message TTL"):
        PolicySet(ttl_seconds=-1)
    with pytest.raises(PreconditionFailed, match="compactionThreshold must be 0 or more"):
        PolicySet(compaction_threshold=-1)


def test_a_policy_set_survives_its_document() -> None:
    policies = PolicySet(RetentionPolicy(5, -1), 0, 1 << 40)
    assert PolicySet.from_document(policies.to_document()) == policies
    assert PolicySet().to_document() == {}


@pytest.mark.parametrize("value", ["x", True, [], {}, "1.5"])
def test_a_value_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(BrokerError, match="message_ttl_in_seconds must be a whole number"):
        PolicySet.from_document({"message_ttl_in_seconds": value})


def test_a_topic_policy_wins_over_its_namespace_and_that_over_the_configuration() -> None:
    configured = PolicyConfig(ttl_seconds=60, retention_minutes=1, retention_mb=1, compaction_threshold=7)
    topic = PolicySet(ttl_seconds=0)
    namespace = PolicySet(RetentionPolicy(-1, -1), ttl_seconds=5)

    in_force = resolve([topic, namespace], configured)

    assert in_force.ttl_seconds == 0
    assert in_force.retention == RetentionPolicy(-1, -1)
    assert in_force.compaction_threshold == 7


def test_four_bundles_split_the_hash_range_evenly() -> None:
    assert Bundles.evenly(4).to_document() == {
        "boundaries": ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"],
        "numBundles": 4,
    }


def test_the_bundle_of_a_topic_is_found_by_the_hash_of_its_name() -> None:
    topic = "persistent://public/default/test-get-topic-bundle-range"
    assert Bundles.evenly(4).bundle_of(topic) == "0xc0000000_0xffffffff"
    assert Bundles.evenly(1).bundle_of(topic) == "0x00000000_0xffffffff"


def test_bundles_that_leave_a_gap_are_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        Bundles.from_document({"boundaries": ["0x00000000", "0x8"], "numBundles": 1}, 4)
    assert refused.value.reason == (
        "Input bundles do not cover the whole hash range. first:0x00000000, last:0x00000008"
    )
