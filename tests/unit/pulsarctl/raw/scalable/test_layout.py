"""Which segment a key belongs to, and in which order segments are read."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.names import parse_topic
from broker_core.scalable.layout import Layout as BrokerLayout
from broker_core.scalable.layout_message import layout_message
from broker_core.wire.pulsar_api_pb2 import ScalableTopicDAG, SegmentInfoProto
from pulsarctl.raw.scalable.layout import Layout, SegmentRouter, segment_hash

TOPIC = "topic://t/n/a"
NOW = 1_000

changes = st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=8)


def as_seen(layout: BrokerLayout) -> Layout:
    return Layout.of(TOPIC, layout_message(layout, "pulsar://broker:6650", ""))


def after(segments: int, steps: list[tuple[bool, int]]) -> list[Layout]:
    """The layout of a new topic, and each one after a split or a merge."""
    layout = BrokerLayout.initial(segments, NOW)
    seen = [as_seen(layout)]
    for is_split, number in steps:
        active = layout.active
        if is_split:
            layout = layout.split(active[number % len(active)].id, NOW)
        elif len(active) > 1:
            first = number % (len(active) - 1)
            layout = layout.merge(active[first].id, active[first + 1].id, NOW)
        seen.append(as_seen(layout))
    return seen


@pytest.mark.parametrize(("key", "place"), [("key-0", 0xE337), ("key-1", 0x98B1), ("key-5", 0x1E89)])
def test_the_place_of_a_key_is_the_upper_half_of_its_hash(key: str, place: int) -> None:
    assert segment_hash(key) == place


@given(st.integers(1, 5), changes, st.text(min_size=1))
def test_a_key_has_one_active_segment_and_then_a_child_of_it(
    segments: int, steps: list[tuple[bool, int]], key: str
) -> None:
    layouts = after(segments, steps)
    owners = [SegmentRouter().segment_for(layout, key) for layout in layouts]
    for layout, owner in zip(layouts, owners, strict=True):
        place = segment_hash(key)
        assert [item.id for item in layout.active if item.start <= place <= item.end] == [owner.id]
    for before, later in pairwise(owners):
        assert before.id == later.id or before.id in later.parents


@given(st.integers(1, 5), changes)
def test_every_segment_is_read_after_its_parents(segments: int, steps: list[tuple[bool, int]]) -> None:
    layout = after(segments, steps)[-1]
    finished: list[int] = []
    while ready := list(layout.ready(finished)):
        assert all(parent in finished for segment in ready for parent in segment.parents)
        finished.append(ready[-1].id)
    assert sorted(finished) == sorted(layout.segments)


def test_messages_without_a_key_go_to_one_active_segment_after_the_other() -> None:
    layout, router = after(2, [(True, 0)])[-1], SegmentRouter(first=1)
    assert [router.segment_for(layout, None).id for _ in range(4)] == [3, 1, 2, 3]


def test_a_segment_has_the_name_of_pulsar_and_a_former_partition_keeps_its_own() -> None:
    name = parse_topic(TOPIC)
    partition = SegmentInfoProto(segment_id=0, hash_start=0, hash_end=9, legacy_topic_name="persistent://t/n/a")
    assert Layout.of(TOPIC, ScalableTopicDAG(epoch=1, segments=[partition])).segments[0].topic == "persistent://t/n/a"
    assert as_seen(BrokerLayout.initial(1, NOW)).segments[0].topic == str(name.segment_name(0, 0xFFFF, 0))
