"""When the broker splits and merges the segments of a scalable topic by itself (PIP-483).

Policies of a topic and of its namespace can replace every setting but the interval (`metadata.policies.auto_scale`).
"""

from typing import Any

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


def _seconds(key: str, default: int, doc: str) -> Any:
    return setting(f"scalableTopic{key}", default, f"{doc} (s).", least=0, dynamic=True)


def _split_above(key: str, default: int, unit: str) -> Any:
    doc = f"Rate above which a segment is split ({unit})."
    return setting(f"scalableTopicSplit{key}Threshold", default, doc, least=0, dynamic=True)


def _merge_below(key: str, default: int, unit: str) -> Any:
    doc = f"Rate below which a segment can be merged, if its other three rates are low, too ({unit})."
    return setting(f"scalableTopicMerge{key}Threshold", default, doc, least=0, dynamic=True)


@frozen
class ScalingConfig:
    """Names are those of Pulsar's settings. A combination that contradicts itself turns automatic changes off."""

    enabled: bool = setting(
        "scalableTopicAutoScaleEnabled",
        True,
        "Whether the broker splits and merges segments by itself.",
        dynamic=True,
    )
    interval_seconds: float = setting(
        "scalableTopicAutoScaleIntervalSeconds",
        60,
        "Interval between decisions about splits and merges (s); a new consumer is decided about at once.",
        least=1,
    )
    max_segments: int = setting(
        "scalableTopicMaxSegments",
        64,
        "Maximum number of active segments of a topic; a request to split can exceed it.",
        least=1,
        dynamic=True,
    )
    min_segments: int = setting(
        "scalableTopicMinSegments",
        1,
        "Minimum number of active segments of a topic; a request to merge can go below it.",
        least=1,
        dynamic=True,
    )
    max_depth: int = setting(
        "scalableTopicMaxDagDepth",
        10,
        "Maximum number of merges between a segment and its oldest ancestor.",
        least=0,
        dynamic=True,
    )
    split_cooldown_seconds: int = _seconds("SplitCooldownSeconds", 60, "Minimum time between two splits of a topic")
    merge_cooldown_seconds: int = _seconds("MergeCooldownSeconds", 300, "Minimum time between two merges of a topic")
    merge_window_seconds: int = _seconds(
        "MergeWindowSeconds", 300, "Time for which the rates of two segments are low before they are merged"
    )
    rebucket_cooldown_seconds: int = _seconds(
        "RebucketCooldownSeconds", 60, "Minimum time between two changes of the entry buckets of a topic"
    )
    busy_messages_in: float = setting(
        "scalableTopicSplitVsRebucketMinMsgRateInThreshold",
        1000,
        "Rate from which a segment is split if more consumers share segments than there are; below it, the broker "
        "adds entry buckets if there are too few (published messages/s).",
        least=0,
        dynamic=True,
    )
    split_messages_in: float = _split_above("MsgRateIn", 10_000, "published messages/s")
    split_bytes_in: float = _split_above("BytesRateIn", 50_000_000, "published bytes/s")
    split_messages_out: float = _split_above("MsgRateOut", 50_000, "consumed messages/s")
    split_bytes_out: float = _split_above("BytesRateOut", 250_000_000, "consumed bytes/s")
    merge_messages_in: float = _merge_below("MsgRateIn", 1000, "published messages/s")
    merge_bytes_in: float = _merge_below("BytesRateIn", 5_000_000, "published bytes/s")
    merge_messages_out: float = _merge_below("MsgRateOut", 5000, "consumed messages/s")
    merge_bytes_out: float = _merge_below("BytesRateOut", 25_000_000, "consumed bytes/s")
