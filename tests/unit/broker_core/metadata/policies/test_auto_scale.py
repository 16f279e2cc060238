"""The auto-scale policy: what it may contain, and how those of a topic, a namespace, and the broker combine."""

from typing import Any

import pytest

from broker_core.config.scaling import ScalingConfig
from broker_core.errors import InvalidRequest, InvalidValue
from broker_core.metadata.policies.auto_scale import merged, read_override

BROKER = ScalingConfig(max_segments=32)
INVALID = "Invalid auto split/merge configuration: "


def test_a_policy_has_the_fields_that_are_set() -> None:
    sent = {"enabled": False, "maxSegments": 8, "splitMsgRateInThreshold": 0.5, "minSegments": None, "color": "red"}
    assert read_override(sent, "policy") == {"enabled": False, "maxSegments": 8, "splitMsgRateInThreshold": 0.5}


def test_a_policy_has_fields_about_entry_buckets() -> None:
    sent = {"rebucketCooldownSeconds": 5, "splitVsRebucketMinMsgRateInThreshold": 1.5}
    assert read_override(sent, "policy") == sent
    rules = merged(BROKER, sent)
    assert (rules.rebucket_cooldown_seconds, rules.busy_messages_in) == (5, 1.5)


@pytest.mark.parametrize(
    ("sent", "refused"),
    [
        ([], "policy must be a JSON object"),
        ({"enabled": 1}, "enabled must be true or false"),
        ({"maxSegments": "many"}, "maxSegments must be a whole number"),
        ({"maxDagDepth": 1 << 31}, "maxDagDepth must be between"),
        ({"mergeBytesRateOutThreshold": "1 MB"}, "mergeBytesRateOutThreshold must be a number"),
    ],
)
def test_a_field_of_another_type_is_refused(sent: Any, refused: str) -> None:
    with pytest.raises(InvalidRequest, match=refused):
        read_override(sent, "policy")


def test_a_field_of_the_topic_precedes_that_of_the_namespace_and_that_of_the_broker() -> None:
    namespace = {"minSegments": 2, "mergeWindowSeconds": 10}
    rules = merged(BROKER, namespace, {"minSegments": 4})
    assert (rules.min_segments, rules.merge_window_seconds, rules.max_segments) == (4, 10, 32)
    assert merged(BROKER, None, None) == BROKER


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ({"minSegments": 0}, "minSegments must be >= 1"),
        ({"maxSegments": 2, "minSegments": 3}, "maxSegments must be >= minSegments"),
        ({"maxDagDepth": -1}, "maxDagDepth must be >= 0"),
        ({"splitCooldownSeconds": -1}, "splitCooldownSeconds must be >= 0"),
        ({"mergeCooldownSeconds": -1}, "mergeCooldownSeconds must be >= 0"),
        ({"mergeWindowSeconds": -1}, "mergeWindowSeconds must be >= 0"),
        ({"rebucketCooldownSeconds": -1}, "rebucketCooldownSeconds must be >= 0"),
        ({"splitMsgRateOutThreshold": 0}, "splitMsgRateOutThreshold must be > 0"),
        ({"mergeBytesRateInThreshold": -1}, "mergeBytesRateInThreshold must be >= 0 and < splitBytesRateInThreshold"),
        ({"splitMsgRateInThreshold": 1000}, "mergeMsgRateInThreshold must be >= 0 and < splitMsgRateInThreshold"),
    ],
)
def test_a_combination_that_contradicts_itself_is_refused(policy: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        merged(BROKER, policy)
    assert str(refused.value) == INVALID + problem


def test_fields_of_different_levels_may_contradict_each_other() -> None:
    with pytest.raises(InvalidValue, match="maxSegments must be >= minSegments"):
        merged(BROKER, {"minSegments": 8}, {"maxSegments": 4})
