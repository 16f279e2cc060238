"""Whether something may be gone after the entry that an earlier run ended with."""

from typing import Any

import pytest

from pulsarctl.tables.data_loss import end_of, gone_after

GONE = "ledger 5 of t is gone, and it may have had entries after 5:"


def stats(last: str, *ledgers: int, acknowledged: str = "9:9") -> dict[str, Any]:
    return {
        "lastConfirmedEntry": last,
        "ledgers": [{"ledgerId": ledger_id} for ledger_id in ledgers],
        "cursors": {"s": {"markDeletePosition": acknowledged}},
    }


@pytest.mark.parametrize(
    ("now", "read", "gone"),
    [
        (stats("5:20", 5), (5, 9), None),
        (stats("7:3", 5, 7), (5, 9), None),
        (stats("7:3", 7), (5, 9), GONE + "9"),
        (stats("7:-1", 7), (5, 9), GONE + "9"),
        (stats("5:20", 7), (5, 9), GONE + "9"),  # Apache Pulsar: all is trimmed, and the new ledger is empty
        (stats("5:20", -1), (5, 9), GONE + "9"),  # this broker: there is no ledger
        (stats("-1:-1", -1), (5, 9), GONE + "9"),
        (stats("5:9", -1), (5, 9), None),  # nothing was published since
        (stats("-1:-1", -1, acknowledged="5:9"), (5, 9), None),
        (stats("7:3", 7, acknowledged="5:9"), (5, 9), None),
        (stats("7:3", 7, acknowledged="-1:-1"), (5, 9), GONE + "9"),  # it may be newer than the loss
        (stats("5:-1", 5), (5, -1), None),
        (stats("3:8", 7), (5, -1), None),
        (stats("7:3", 7), (5, -1), GONE + "-1"),
        (stats("7:3", 2, 7), (5, 9), None),  # trimming deletes the oldest ledgers first
    ],
)
def test_a_run_is_sure_of_its_beginning_while_the_ledger_exists(
    now: dict[str, Any], read: tuple[int, int], gone: str | None
) -> None:
    assert gone_after("t", now, read) == gone


@pytest.mark.parametrize(
    ("now", "end"),
    [
        (stats("5:20", 5), (5, 20)),
        (stats("5:20", 5, 7), (7, -1)),
        (stats("7:-1", 7), (7, -1)),
        (stats("5:20", -1), (5, 20)),
        (stats("-1:-1", -1), (-1, -1)),
        (stats("5:20", 5) | {"visibleEnd": "5:20"}, (5, 20)),
        (stats("7:20", 5, 7) | {"visibleEnd": "5:3"}, (5, 3)),  # the transaction that wrote 5:4 is open
    ],
)
def test_a_run_ends_in_the_newest_ledger(now: dict[str, Any], end: tuple[int, int]) -> None:
    assert end_of(now) == end
