"""Permits count messages; an entry may contain many."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.dispatch.dispatcher import entries_within


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(1, 60))
def test_just_enough_entries_are_taken_to_use_the_permits(counts: list[int], permits: int) -> None:
    taken = entries_within(counts, 0, len(counts), permits)
    assert 1 <= taken <= len(counts)
    assert sum(counts[: taken - 1]) < permits
    assert taken == len(counts) or sum(counts[:taken]) >= permits


def test_a_batch_larger_than_the_permits_is_sent_whole() -> None:
    assert entries_within([10, 1], 0, 2, 3) == 1


def test_only_the_requested_rows_are_read() -> None:
    assert entries_within([9, 1, 1, 9], 1, 3, 5) == 2
