"""Which ledgers can be deleted. Pure: no clock, no disk.

Rules (Pulsar's, with one addition): only sealed ledgers, only a prefix, only up to the slowest durable cursor; then
from the oldest on while the retention time of a ledger has passed, or while at least the retention size stays.
Addition: the open ledger is rolled as soon as retention has passed for every entry in it and all are acknowledged,
so trimming never waits for a roll-over by size. Without a retention policy it has its own grace period.
"""

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.storage.records.position import Position


class Retention(NamedTuple):
    """-1: without limit; 0 and 0: nothing that is acknowledged is kept.

    `open_grace_ms`: the open ledger stays that long after its last entry, whatever the limits say.
    """

    time_ms: int = 0
    size_bytes: int = 0
    open_grace_ms: int = 0


class LedgerView(NamedTuple):
    ledger_id: int
    entries: int
    size: int
    written_ms: int  # when its last entry was written: from then on its retention time counts
    is_open: bool


class LogView(NamedTuple):
    """`consumed` is the slowest durable mark-delete; LATEST when there is no durable cursor."""

    ledgers: Sequence[LedgerView]
    consumed: Position


def removable(log: LogView, limits: Retention, now_ms: int) -> list[int]:
    """Ids of the ledgers to delete, oldest first."""
    removed: list[int] = []
    left = sum(ledger.size for ledger in log.ledgers)
    for ledger in log.ledgers:
        if ledger.is_open or not _is_consumed(ledger, log.consumed):
            break
        if not _has_expired(ledger, limits, now_ms) and not _is_over_size(left - ledger.size, limits):
            break
        left -= ledger.size
        removed.append(ledger.ledger_id)
    return removed


def roll_is_due(log: LogView, limits: Retention, now_ms: int) -> bool:
    """Whether the open ledger could go once sealed, and its grace has passed."""
    if not _could_roll(log, limits, now_ms):
        return False
    return not limits.open_grace_ms or now_ms - log.ledgers[-1].written_ms >= limits.open_grace_ms


def _could_roll(log: LogView, limits: Retention, now_ms: int) -> bool:
    closed = [_sealed(ledger) for ledger in log.ledgers]
    return (
        bool(closed)
        and log.ledgers[-1].is_open
        and len(removable(LogView(closed, log.consumed), limits, now_ms)) == len(closed)
    )


def next_due(log: LogView, limits: Retention, now_ms: int) -> int | None:
    """When (wall ms) the next ledger can go by time; now when one can go already; None when time alone frees none."""
    closed = LogView([_sealed(ledger) for ledger in log.ledgers], log.consumed)
    if not closed.ledgers or not _is_consumed(closed.ledgers[0], log.consumed):
        return None
    if removable(log, limits, now_ms) or roll_is_due(log, limits, now_ms):
        return now_ms
    if _could_roll(log, limits, now_ms):
        return log.ledgers[-1].written_ms + limits.open_grace_ms
    if limits.time_ms <= 0:
        return None
    consumed = 0
    for ledger in closed.ledgers:
        if not _is_consumed(ledger, log.consumed):
            break
        consumed += 1
    # The open ledger can only go when all before it have gone; the first to expire decides.
    first = closed.ledgers[0]
    if log.ledgers[0].is_open and consumed < len(closed.ledgers):
        return None
    return max(now_ms, first.written_ms + limits.time_ms + 1)


def _sealed(ledger: LedgerView) -> LedgerView:
    return LedgerView(ledger.ledger_id, ledger.entries, ledger.size, ledger.written_ms, False)


def _is_consumed(ledger: LedgerView, consumed: Position) -> bool:
    return consumed >= Position(ledger.ledger_id, ledger.entries - 1)


def _has_expired(ledger: LedgerView, limits: Retention, now_ms: int) -> bool:
    return limits.time_ms == 0 or (limits.time_ms > 0 and now_ms - ledger.written_ms > limits.time_ms)


def _is_over_size(left_after: int, limits: Retention) -> bool:
    """Whether at least the retention size stays."""
    return limits.size_bytes == 0 or (limits.size_bytes > 0 and left_after >= limits.size_bytes)
