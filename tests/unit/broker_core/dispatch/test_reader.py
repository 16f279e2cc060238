"""Entries for redelivery may be deleted before they are read."""

from broker_core.dispatch.reader import missing
from broker_core.dispatch.redelivery import Run
from broker_core.storage.records.block import EMPTY, Block


def found(ledger_id: int, first_entry_id: int) -> Block:
    return Block(ledger_id, first_entry_id, b"ab", [0, 1], [1, 2], [1, 1], [0, 0])


def test_nothing_is_missing_when_a_read_finds_the_start_of_the_run() -> None:
    assert missing(Run(5, 2, 10), found(5, 2)) == 0


def test_entries_before_the_first_one_found_are_missing() -> None:
    assert missing(Run(5, 2, 10), found(5, 6)) == 4


def test_a_run_is_missing_up_to_its_end_when_the_next_entry_comes_later() -> None:
    assert missing(Run(5, 2, 3), found(5, 40)) == 3


def test_the_whole_run_is_missing_when_the_next_entry_is_in_another_ledger() -> None:
    assert missing(Run(5, 0, 10), found(6, 3)) == 10


def test_the_whole_run_is_missing_at_the_end_of_the_log() -> None:
    assert missing(Run(5, 2, 10), EMPTY) == 10
