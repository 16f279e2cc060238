"""Which ledgers are offloaded, and when their local files go."""

import pytest

from broker_core.metadata.policies.offload_policies import OffloadRules
from broker_core.offload import selection
from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.position import Position

NOW = 1_000_000


def ledger(number: int, size: int = 100, sealed_ms: int = 500_000, complete_ms: int | None = None) -> LedgerInfo:
    info = LedgerInfo(number, 0, entries=10, size=size, sealed_ms=sealed_ms)
    if complete_ms is not None:
        info.copy = OffloadedCopy("topic", number, f"uuid-{number}", "filesystem", complete_ms=complete_ms)
    return info


def rules(threshold_bytes: int = -1, threshold_seconds: int = -1, driver: str = "filesystem") -> OffloadRules:
    return OffloadRules(driver, {}, threshold_bytes, threshold_seconds, -1, copies_first=False)


def test_a_request_takes_every_sealed_ledger_before_its_position() -> None:
    sealed = [ledger(1), ledger(2, complete_ms=1), ledger(3), ledger(4)]
    assert selection.before(sealed, Position(4, 0)) == selection.before(sealed, Position(4, 9)) == [1, 3]


def test_a_position_after_the_last_entry_of_a_sealed_ledger_takes_that_ledger() -> None:
    assert selection.before([ledger(1), ledger(2)], Position(2, 10)) == [1, 2]


@pytest.mark.parametrize(
    ("threshold_bytes", "found"), [(-1, []), (0, [1, 2, 3]), (99, [1, 2, 3]), (100, [1, 2]), (299, [1]), (300, [])]
)
def test_a_size_threshold_keeps_the_newest_ledgers_that_fill_it(threshold_bytes: int, found: list[int]) -> None:
    sealed = [ledger(1), ledger(2), ledger(3)]
    assert selection.over_thresholds(sealed, rules(threshold_bytes), NOW) == found


@pytest.mark.parametrize(("seconds", "found"), [(-1, []), (0, [1, 2]), (400, [1, 2]), (500, [1]), (901, [])])
def test_a_time_threshold_takes_what_was_sealed_long_enough_ago(seconds: int, found: list[int]) -> None:
    sealed = [ledger(1, sealed_ms=100_000), ledger(2, sealed_ms=600_000)]
    assert selection.over_thresholds(sealed, rules(threshold_seconds=seconds), NOW) == found


def test_either_threshold_suffices() -> None:
    sealed = [ledger(1, sealed_ms=NOW), ledger(2, sealed_ms=NOW), ledger(3, sealed_ms=0)]
    assert selection.over_thresholds(sealed, rules(250, 900), NOW) == [1, 3]


def test_without_a_store_thresholds_do_nothing() -> None:
    assert selection.over_thresholds([ledger(1)], rules(0, 0, driver=""), NOW) == []


def test_the_time_threshold_says_when_it_is_exceeded_next() -> None:
    sealed = [ledger(1, complete_ms=1), ledger(2, sealed_ms=600_000)]
    assert selection.next_threshold_due(sealed, rules(threshold_seconds=500)) == 1_100_000
    assert selection.next_threshold_due(sealed, rules(0)) is None


def test_a_lag_of_0_deletes_at_once_and_none_never() -> None:
    sealed = [ledger(1, complete_ms=NOW), ledger(2)]
    assert selection.files_due(sealed, 0, NOW, {}) == ([1], None)
    assert selection.files_due(sealed, -1, NOW, {}) == ([], None)


def test_a_local_file_goes_when_its_lag_has_passed_and_the_next_one_is_known() -> None:
    sealed = [ledger(1, complete_ms=NOW - 100), ledger(2, complete_ms=NOW - 40)]
    assert selection.files_due(sealed, 100, NOW, {}) == ([1], NOW + 60)


def test_a_clock_that_was_set_back_deletes_nothing_early() -> None:
    sealed = [ledger(1, complete_ms=NOW)]
    assert selection.files_due(sealed, 100, NOW - 50_000, {}) == ([], NOW + 100)


def test_a_copy_of_the_future_is_deleted_a_lag_after_it_was_seen() -> None:
    sealed = [ledger(1, complete_ms=NOW + 10**9)]
    seen = {"uuid-1": NOW}
    assert selection.files_due(sealed, 100, NOW + 99, seen) == ([], NOW + 100)
    assert selection.files_due(sealed, 100, NOW + 100, seen) == ([1], None)
