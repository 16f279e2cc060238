"""The graph of segments: created, split, merged, and pruned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import NotFound, PreconditionFailed
from broker_core.scalable.buckets import HASHES
from broker_core.scalable.layout import Layout

NOW = 1_000


def ranges(layout: Layout) -> list[str]:
    return [f"{segment.start:04x}-{segment.end:04x}" for segment in layout.active]


def test_initial_segments_have_equal_widths_and_the_last_one_the_rest() -> None:
    assert ranges(Layout.initial(3, NOW)) == ["0000-5554", "5555-aaa9", "aaaa-ffff"]


@pytest.mark.parametrize("count", [0, -1, 5000])
def test_a_topic_has_a_sensible_number_of_segments(count: int) -> None:
    with pytest.raises(PreconditionFailed, match="between 1 and 4096"):
        Layout.initial(count, NOW)


def test_a_split_seals_the_parent_and_halves_its_hashes() -> None:
    layout = Layout.initial(1, NOW).split(0, NOW + 1)
    parent = layout.segments[0]
    assert (layout.epoch, layout.next_id, ranges(layout)) == (1, 3, ["0000-7fff", "8000-ffff"])
    assert (parent.children, parent.sealed_epoch, parent.sealed_ms) == ((1, 2), 1, NOW + 1)
    assert [segment.parents for segment in layout.active] == [(0,), (0,)]


def test_a_merge_gives_one_child_the_hashes_of_both_neighbors() -> None:
    layout = Layout.initial(2, NOW).merge(1, 0, NOW)
    assert ranges(layout) == ["0000-ffff"]
    assert layout.segments[2].parents == (0, 1)


def test_the_children_of_a_split_have_half_of_the_buckets_and_at_least_one() -> None:
    halved = Layout.initial(1, NOW, 4).split(0, NOW)
    assert [segment.splits for segment in halved.active] == [(0x8000,), (0x8000,)]
    assert [segment.buckets for segment in halved.split(1, NOW).split(2, NOW).active] == [1, 1, 1, 1]


def test_the_child_of_a_merge_has_the_buckets_of_both_up_to_the_limit() -> None:
    layout = Layout.initial(2, NOW, 3)
    assert layout.merge(0, 1, NOW).active[0].buckets == 6
    assert layout.merge(0, 1, NOW, 4).active[0].splits == (0x4000, 0x8000, 0xC000)


def test_a_rebucket_changes_the_buckets_and_leaves_the_hashes() -> None:
    layout = Layout.initial(2, NOW, 2).rebucket(1, 4, NOW + 1)
    parent, child = layout.segments[1], layout.segments[2]
    assert (parent.children, parent.sealed_ms, parent.buckets) == ((2,), NOW + 1, 2)
    assert (child.parents, child.buckets) == ((1,), 4)
    assert ranges(layout) == ["0000-7fff", "8000-ffff"]


@pytest.mark.parametrize(
    ("segment_id", "buckets", "reason"),
    [
        (1, 2, "Segment 1 has 2 entry buckets already"),
        (1, 0, "between 1 and 8 entry buckets, not 0"),
        (1, 9, "between 1 and 8 entry buckets, not 9"),
        (0, 4, "Cannot rebucket segment 0: it is sealed"),
    ],
)
def test_a_rebucket_that_cannot_be_done_says_why(segment_id: int, buckets: int, reason: str) -> None:
    layout = Layout.initial(1, NOW, 4).split(0, NOW)
    with pytest.raises(PreconditionFailed, match=reason):
        layout.rebucket(segment_id, buckets, NOW, 8)


def test_segments_that_cannot_change_say_why() -> None:
    layout = Layout.initial(3, NOW).split(0, NOW)
    with pytest.raises(NotFound, match="Segment not found: 99"):
        layout.split(99, NOW)
    with pytest.raises(PreconditionFailed, match="Cannot split segment 0: it is sealed"):
        layout.split(0, NOW)
    with pytest.raises(PreconditionFailed, match="Segments are not adjacent: 2, 3"):
        layout.merge(2, 3, NOW)
    with pytest.raises(PreconditionFailed, match="Segments are not adjacent: 3, 3"):
        layout.merge(3, 3, NOW)
    with pytest.raises(PreconditionFailed, match="Cannot remove segment 3: it is active"):
        layout.without(3)


def test_a_segment_of_one_hash_cannot_be_split() -> None:
    layout = Layout.initial(4096, NOW)
    for _ in range(4):
        layout = layout.split(layout.active[0].id, NOW)
    with pytest.raises(PreconditionFailed, match="it has only one hash"):
        layout.split(layout.active[0].id, NOW)


def test_a_removed_segment_is_no_longer_a_parent() -> None:
    layout = Layout.initial(1, NOW).split(0, NOW).without(0)
    assert set(layout.segments) == {1, 2}
    assert [segment.parents for segment in layout.active] == [(), ()]
    assert layout.epoch == 2


def test_a_segment_is_read_after_its_parents_are_drained() -> None:
    layout = Layout.initial(2, NOW).split(0, NOW)
    assert [segment.id for segment in layout.ready({0: False})] == [0, 1]
    assert [segment.id for segment in layout.ready({0: True})] == [2, 3, 1]


def test_a_segment_is_read_after_the_parents_of_a_parent_without_messages() -> None:
    layout = Layout.initial(1, NOW).split(0, NOW).split(1, NOW)
    assert [segment.id for segment in layout.ready({0: False, 1: True})] == [0]
    assert [segment.id for segment in layout.ready({0: True, 1: True})] == [3, 4, 2]


def test_a_segment_is_read_after_the_parents_of_a_removed_one() -> None:
    layout = Layout.initial(1, NOW).split(0, NOW).merge(1, 2, NOW)
    without = layout.without(1).without(2)
    assert (without.segments[3].parents, without.segments[0].children) == ((0,), (3,))
    assert [segment.id for segment in without.ready({0: False})] == [0]
    assert [segment.id for segment in without.without(0).ready({})] == [3]


@given(st.integers(1, 8), st.lists(st.tuples(st.sampled_from("smrb"), st.integers(0, 1 << 30)), max_size=40))
def test_active_segments_cover_all_hashes_whatever_happens(count: int, steps: list[tuple[str, int]]) -> None:
    layout = Layout.initial(count, NOW)
    used = set(layout.segments)
    for action, choice in steps:
        before, active = layout, layout.active
        sealed = [segment.id for segment in layout.segments.values() if not segment.is_active]
        if action == "s":
            layout = layout.split(active[choice % len(active)].id, NOW)
        elif action == "m" and len(active) > 1:
            at = choice % (len(active) - 1)
            layout = layout.merge(active[at].id, active[at + 1].id, NOW)
        elif action == "b":
            chosen = active[choice % len(active)]
            layout = layout.rebucket(chosen.id, chosen.buckets % 7 + 1, NOW)
        elif action == "r" and sealed:
            layout = layout.without(sealed[choice % len(sealed)])
        else:
            continue
        new = set(layout.segments) - set(before.segments)
        assert not new & used
        used |= new
        assert layout.epoch == before.epoch + 1
    assert [segment.start for segment in layout.active] == [0, *(segment.end + 1 for segment in layout.active[:-1])]
    assert layout.active[-1].end == HASHES - 1
    for segment in layout.segments.values():
        assert all(segment.id in layout.segments[child].parents for child in segment.children)
        assert all(segment.id in layout.segments[parent].children for parent in segment.parents)
    assert 1 <= layout.depth <= len(layout.segments)
