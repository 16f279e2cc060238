"""Which keys are in which entry bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.scalable.buckets import bucket_ranges, equal_buckets, share_of_budget


@pytest.mark.parametrize(
    ("count", "splits"), [(1, ()), (2, (0x8000,)), (3, (21845, 43690)), (4, (0x4000, 0x8000, 0xC000))]
)
def test_buckets_are_equally_wide(count: int, splits: tuple[int, ...]) -> None:
    assert equal_buckets(count) == splits


def test_a_segment_without_splits_is_one_bucket() -> None:
    assert bucket_ranges(()) == [(0, 0xFFFF)]


@pytest.mark.parametrize(("segments", "buckets"), [(1, 4), (2, 2), (3, 1), (4, 1), (8, 1)])
def test_segments_share_the_budget_and_have_at_least_one_bucket(segments: int, buckets: int) -> None:
    assert share_of_budget(4, segments) == buckets


def test_the_limit_of_a_segment_precedes_the_budget() -> None:
    assert share_of_budget(100, 2, 8) == 8


@given(st.integers(1, 4096))
def test_buckets_hold_each_hash_once(count: int) -> None:
    ranges = bucket_ranges(equal_buckets(count))
    assert len(ranges) == count
    assert [first for first, _last in ranges] == [0, *(last + 1 for _first, last in ranges[:-1])]
    assert ranges[-1][1] == 0xFFFF
    widths = {last - first for first, last in ranges}
    assert max(widths) - min(widths) <= 1
