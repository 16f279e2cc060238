"""Arithmetic on positions, compared with a plain list of all entries."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.position import EARLIEST, LATEST, Position

logs = st.dictionaries(st.integers(1, 12), st.integers(0, 4), max_size=5)
positions = st.builds(Position, st.integers(-1, 14), st.integers(-1, 6))


def ledgers_of(log: dict[int, int]) -> LedgerList:
    return LedgerList({i: LedgerInfo(i, 0, entries=log[i]) for i in sorted(log)})


def entries_of(log: dict[int, int]) -> list[Position]:
    return [Position(i, e) for i in sorted(log) for e in range(log[i])]


@settings(deadline=None)
@given(logs, positions)
def test_the_next_valid_position_is_the_first_entry_at_or_after(log: dict[int, int], position: Position) -> None:
    found = ledgers_of(log).next_valid(position)
    expected = next((p for p in entries_of(log) if p >= position), None)
    if expected is not None:
        assert found == expected
    elif log:
        assert found == Position(max(log), log[max(log)])


@settings(deadline=None)
@given(logs, positions)
def test_the_previous_position_is_the_last_entry_before(log: dict[int, int], position: Position) -> None:
    before = [p for p in entries_of(log) if p < position]
    fallback = Position(min(log), -1) if log else EARLIEST
    assert ledgers_of(log).previous(position) == (before[-1] if before else fallback)


@settings(deadline=None)
@given(logs, positions)
def test_entries_after_counts_existing_entries(log: dict[int, int], start: Position) -> None:
    assert ledgers_of(log).entries_after(start) == len([p for p in entries_of(log) if p >= start])


@settings(deadline=None)
@given(logs, positions, st.integers(0, 20))
def test_advance_counts_existing_entries(log: dict[int, int], start: Position, n: int) -> None:
    ledgers = ledgers_of(log)
    after = [p for p in entries_of(log) if p >= start]
    assert ledgers.advance(start, n) == (after[n] if n < len(after) else ledgers.next_valid(LATEST if after else start))


@settings(deadline=None)
@given(logs)
def test_the_last_confirmed_is_the_last_entry(log: dict[int, int]) -> None:
    entries = entries_of(log)
    fallback = Position(max(log), -1) if log else EARLIEST
    assert ledgers_of(log).last_confirmed == (entries[-1] if entries else fallback)
