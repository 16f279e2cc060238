"""Ack holes and kept ledgers, from `internalStats`."""

from typing import Any

from pulsarctl.backlog.cursor_facts import CursorFacts, cursor_facts
from pulsarctl.tables.ack_holes import open_batches_of


def internal(*cursors: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    """Three ledgers of ten entries, the last of which is open."""
    return {
        "lastConfirmedEntry": "3:9",
        "currentLedgerSize": 100,
        "ledgers": [
            {"ledgerId": 1, "entries": 10, "size": 1000},
            {"ledgerId": 2, "entries": 10, "size": 2000},
            {"ledgerId": 3, "entries": 0, "size": 0},
        ],
        "cursors": {
            name: {"markDeletePosition": mark, "individuallyDeletedMessages": acked, "state": "Open"} | more
            for name, mark, acked in cursors
        },
    }


def facts(stats: dict[str, Any], name: str = "s") -> CursorFacts:
    return cursor_facts(stats, [name])[name]


def test_a_gap_before_acknowledged_entries_is_a_hole() -> None:
    found = facts(internal(("s", "1:1", "[(1:3..1:5],(1:8..1:9]]")))
    assert (found.holes, found.largest_hole, found.acked_above) == (2, 3, 3)


def test_the_map_shows_the_acknowledged_share_of_each_cell() -> None:
    (ledger,) = facts(internal(("s", "1:1", "[(1:3..1:5],(1:8..1:9]]"))).map
    assert (ledger.ledger_id, ledger.entries) == (1, 10)
    assert ledger.acked == (1, 1, 0, 0, 1, 1, 0, 0, 0, 1)


def test_the_map_of_a_large_ledger_is_coarse() -> None:
    stats = internal(("s", "1:99", "[(1:149..1:249]]"))
    stats["ledgers"][0]["entries"] = 1001
    (ledger,) = facts(stats).map
    assert len(ledger.acked) == 91
    assert ledger.acked[8:14] == (1, 0.091, 0, 0, 0, 0.364)


def test_a_hole_may_span_ledgers() -> None:
    found = facts(internal(("s", "1:7", "[(2:3..2:4]]")))
    assert (found.holes, found.largest_hole, found.acked_above) == (1, 6, 1)


def test_what_follows_the_last_acknowledged_entry_is_no_hole() -> None:
    assert facts(internal(("s", "1:7", "[]"))).holes == 0


def test_ledgers_that_only_the_slowest_needs_are_kept_for_it() -> None:
    stats = internal(("s", "1:3", "[]"), ("fast", "3:2", "[]"))
    found = facts(stats)
    assert (found.kept_ledgers, found.kept_entries, found.kept_bytes) == (2, 20, 3000)
    assert facts(stats, "fast").kept_ledgers == 0


def test_a_ledger_that_another_one_needs_is_not_kept_for_it() -> None:
    found = facts(internal(("s", "1:3", "[]"), ("slow", "2:0", "[]")))
    assert (found.kept_ledgers, found.kept_bytes) == (1, 1000)


def test_a_reader_keeps_nothing() -> None:
    stats = internal(("s", "1:3", "[]"), ("reader", "1:0", "[]"))
    assert cursor_facts(stats, ["s"], {"reader"})["s"].kept_ledgers == 2


def test_a_durable_cursor_that_never_acknowledged_counts() -> None:
    assert facts(internal(("s", "1:-1", "[]"), state="NoLedger")).kept_ledgers == 2


def test_the_open_bits_of_a_batch_may_have_several_words() -> None:
    stats = internal(("s", "1:3", "[]"), openBatches={"1:4": [-1, 1]})
    assert open_batches_of(stats["cursors"]["s"]) == {(1, 4): (1 << 65) - 1}
