"""The text of a broker's ack ranges, compared with a plain set of entries."""

from hypothesis import given
from hypothesis import strategies as st

from pulsarctl.tables.ack_holes import AckedRanges, Cursor


def cursor(mark_delete: str, ranges: str) -> Cursor:
    return Cursor.from_stats({"markDeletePosition": mark_delete, "individuallyDeletedMessages": ranges})


def acknowledged(of: Cursor, ledger_id: int, entries: range) -> list[int]:
    after, acked = of.in_ledger(ledger_id)
    return [entry for entry in entries if entry <= after or entry in acked]


def test_ranges_exclude_the_lower_and_include_the_upper_bound() -> None:
    assert acknowledged(cursor("10:0", "[(10:1..10:4],(10:7..10:8]]"), 10, range(10)) == [0, 2, 3, 4, 8]


def test_without_ranges_all_entries_after_mark_delete_are_unacknowledged() -> None:
    assert acknowledged(cursor("10:3", "[]"), 10, range(6)) == [0, 1, 2, 3]


def test_a_mark_delete_position_before_the_ledger_leaves_all_of_it() -> None:
    assert acknowledged(cursor("9:500", "[]"), 10, range(4)) == []


def test_a_mark_delete_position_in_a_later_ledger_acknowledges_all_of_it() -> None:
    assert acknowledged(cursor("11:-1", "[(11:2..11:3]]"), 10, range(4)) == [0, 1, 2, 3]


def test_a_range_past_the_end_of_a_ledger_is_cut_there() -> None:
    spanning = cursor("10:0", "[(10:2..11:1]]")
    assert acknowledged(spanning, 10, range(6)) == [0, 3, 4, 5]
    assert acknowledged(spanning, 11, range(6)) == [0, 1]


def test_a_range_from_before_the_first_entry_is_read() -> None:
    assert acknowledged(cursor("3:7", "[(4:-1..4:2]]"), 4, range(5)) == [0, 1, 2]


@given(st.sets(st.integers(0, 200)), st.integers(0, 200), st.integers(0, 200))
def test_each_part_uses_its_own_ranges(entries: set[int], first: int, last: int) -> None:
    ranges = AckedRanges()
    for entry in sorted(entries):
        ranges.add(entry, entry)
    part = ranges.between(first, last)
    assert [each for each in range(first, last + 1) if each in part] == sorted(
        each for each in entries if first <= each <= last
    )
    assert len(part) <= len(ranges)
