"""Which ledgers may be trimmed, as a table."""

import pytest

from broker_core.storage.log.retention import LedgerView, LogView, Retention, next_due, removable, roll_is_due
from broker_core.storage.records.position import EARLIEST, LATEST, Position

MINUTE = 60_000


def log(*written: int, consumed: Position = LATEST, open_last: bool = True, size: int = 100) -> LogView:
    """Ledgers 1, 2, ... of ten entries, with the given times of their last write."""
    ledgers = [LedgerView(i, 10, size, at, open_last and i == len(written)) for i, at in enumerate(written, 1)]
    return LogView(ledgers, consumed)


@pytest.mark.parametrize(
    ("limits", "now", "expected"),
    [
        (Retention(0, 0), 0, [1, 2]),
        (Retention(-1, -1), 10**12, []),
        (Retention(MINUTE, -1), MINUTE, []),
        (Retention(MINUTE, -1), MINUTE + 1, [1]),
        (Retention(MINUTE, -1), 2 * MINUTE + 1, [1, 2]),
        (Retention(-1, 250), 0, []),
        (Retention(-1, 200), 0, [1]),
        (Retention(-1, 100), 0, [1, 2]),
        (Retention(MINUTE, 1000), MINUTE + 1, [1]),
        (Retention(10 * MINUTE, 200), 0, [1]),
    ],
)
def test_ledgers_are_trimmed_by_age_and_size(limits: Retention, now: int, expected: list[int]) -> None:
    assert removable(log(0, MINUTE, 2 * MINUTE), limits, now) == expected


@pytest.mark.parametrize(
    ("consumed", "expected"),
    [
        (EARLIEST, []),
        (Position(1, 8), []),
        (Position(1, 9), [1]),
        (Position(2, 9), [1, 2]),
        (Position(3, 9), [1, 2]),
    ],
)
def test_ledgers_that_a_durable_cursor_needs_stay(consumed: Position, expected: list[int]) -> None:
    assert removable(log(0, 0, 0, consumed=consumed), Retention(0, 0), 10**12) == expected


def test_the_open_ledger_is_rolled_when_all_of_it_has_expired() -> None:
    assert roll_is_due(log(0, 0), Retention(MINUTE, -1), MINUTE + 1)
    assert not roll_is_due(log(0, MINUTE), Retention(MINUTE, -1), MINUTE + 1)
    assert not roll_is_due(log(0, 0, consumed=Position(2, 8)), Retention(MINUTE, -1), MINUTE + 1)
    assert not roll_is_due(log(0, 0, open_last=False), Retention(MINUTE, -1), MINUTE + 1)


def test_only_the_open_ledger_has_a_grace_period_after_its_last_entry() -> None:
    limits = Retention(open_grace_ms=MINUTE)
    assert not roll_is_due(log(0, 1000), limits, MINUTE)
    assert roll_is_due(log(0, 1000), limits, MINUTE + 1000)
    assert removable(log(0, 1000), limits, 1000) == [1]
    assert next_due(log(1000), limits, 1000) == MINUTE + 1000


@pytest.mark.parametrize(
    ("view", "limits", "expected"),
    [
        (log(1000), Retention(MINUTE, -1), MINUTE + 1001),
        (log(1000, 5000), Retention(MINUTE, -1), MINUTE + 1001),
        (log(1000), Retention(0, 0), 2000),
        (log(1000), Retention(-1, -1), None),
        (log(1000), Retention(-1, 1000), None),
        (log(1000, 1000), Retention(-1, 100), 2000),
        (log(1000, consumed=EARLIEST), Retention(0, 0), None),
        (log(1000, consumed=Position(1, 5)), Retention(MINUTE, -1), None),
        (log(1000, 5000, consumed=Position(1, 9)), Retention(MINUTE, -1), MINUTE + 1001),
        (LogView([], LATEST), Retention(0, 0), None),
    ],
)
def test_the_next_trim_time_is_that_of_the_next_ledger(view: LogView, limits: Retention, expected: int | None) -> None:
    assert next_due(view, limits, 2000) == expected


def test_trimming_at_the_due_time_frees_a_ledger() -> None:
    view, limits = log(1000, 5000), Retention(MINUTE, -1)
    due = next_due(view, limits, 2000)
    assert due is not None
    assert removable(view, limits, due - 1) == []
    assert removable(view, limits, due) == [1]
