"""Acknowledged ranges against a plain set of integers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.storage.records.ack_ranges import AckWindow

LIMIT = 60
ids = st.lists(st.integers(0, LIMIT + 5), min_size=1, max_size=12)
steps = st.lists(ids | st.tuples(st.integers(0, LIMIT), st.integers(0, LIMIT)), max_size=12)


@settings(deadline=None)
@given(st.integers(0, 10), steps)
def test_a_window_is_a_set_of_entries(base: int, steps: list[list[int] | tuple[int, int]]) -> None:
    window = AckWindow(base)
    model: set[int] = set()
    for step in steps:
        if isinstance(step, tuple):
            new = {e for e in range(*step) if e >= base}
            assert window.acknowledge_range(*step) == len(new - model)
        else:
            new = {e for e in step if base <= e < LIMIT}
            assert window.acknowledge(step, LIMIT) == len(new - model)
        model |= new
    acked = model | set(range(base))
    assert [e for a, b in window.acked_ranges(base) for e in range(a, b)] == sorted(model)
    assert [e for a, b in window.open_ranges(0, LIMIT) for e in range(a, b)] == [
        e for e in range(LIMIT) if e not in acked
    ]
    assert [window.is_acknowledged(e) for e in range(LIMIT)] == [e in acked for e in range(LIMIT)]
    for start in range(0, LIMIT, 7):
        assert window.first_unacknowledged(start) == next(e for e in range(start, LIMIT + 70) if e not in acked)
        assert window.acked_from(max(start, base)) == len([e for e in model if e >= max(start, base)])
        flags = window.acked_flags(start, LIMIT).ljust(LIMIT - start, b"\0")
        assert list(flags) == [e in acked for e in range(start, LIMIT)]


@settings(deadline=None)
@given(st.lists(st.integers(0, 20_000), max_size=20), st.integers(0, 20_000))
def test_entries_below_mark_delete_can_be_dropped(acked: list[int], passed: int) -> None:
    window = AckWindow(0)
    window.acknowledge_range(0, passed)
    for entry_id in acked:
        window.acknowledge_range(entry_id, entry_id + 1)
    before = [window.is_acknowledged(e) for e in range(20_001)]
    window.drop_before(passed)
    assert [window.is_acknowledged(e) for e in range(20_001)] == before
    assert window.acked == window.bits.count(0)


def test_entries_below_mark_delete_take_no_memory() -> None:
    window = AckWindow(0)
    for entry_id in range(1, 50_001):
        window.acknowledge_range(entry_id, entry_id + 1)
    window.acknowledge_range(0, 1)
    window.drop_before(50_001)
    assert len(window.bits) == 0
    assert window.is_acknowledged(50_000)
    assert not window.is_acknowledged(50_001)
