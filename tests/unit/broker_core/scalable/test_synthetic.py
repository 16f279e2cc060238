"""The layout of a regular topic as clients of scalable topics see it."""

from broker_core.names import parse_topic
from broker_core.scalable.synthetic import synthetic_layout

NAME = parse_topic("persistent://t/ns/x")


def test_a_topic_without_partitions_is_one_segment() -> None:
    segments = synthetic_layout(NAME, 0).active
    assert [(one.start, one.end, one.topic_of(NAME)) for one in segments] == [(0, 0xFFFF, "persistent://t/ns/x")]


def test_each_partition_is_a_segment_in_the_order_of_partitions() -> None:
    layout = synthetic_layout(NAME, 12)
    assert layout.epoch == 0
    assert [one.id for one in layout.active] == list(range(12))
    assert [one.legacy_topic for one in layout.active] == [f"persistent://t/ns/x-partition-{k}" for k in range(12)]


def test_more_partitions_than_hashes_have_a_segment_each() -> None:
    assert len(synthetic_layout(NAME, 70_000).segments) == 70_000
