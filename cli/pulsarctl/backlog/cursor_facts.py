"""The facts about each subscription in the ledgers and cursors of one partition, before an entry is read. Pure.

The input is a broker's `internalStats`, so everything is of one moment.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulsarctl.backlog.ack_map import LedgerMap, ack_map
from pulsarctl.backlog.ledgers import Ledger, ledgers
from pulsarctl.tables.ack_holes import Cursor


@dataclass(frozen=True, slots=True)
class CursorFacts:
    """An ack hole is a run of unacknowledged entries before acknowledged ones: `holes` of them, `acked_above` those.

    `kept_*` are sealed ledgers that this subscription keeps and no other one does; retention may keep them too.
    """

    holes: int = 0
    largest_hole: int = 0
    acked_above: int = 0
    kept_ledgers: int = 0
    kept_entries: int = 0
    kept_bytes: int = 0
    map: tuple[LedgerMap, ...] = ()


def cursor_facts(
    internal: Mapping[str, Any], subscriptions: Sequence[str], volatile: Collection[str] = ()
) -> dict[str, CursorFacts]:
    """The facts by subscription. `volatile` cursors are not durable, so they keep nothing."""
    known = {name: Cursor.from_stats(stats) for name, stats in internal["cursors"].items() if name not in volatile}
    stored = ledgers(internal)
    return {name: _facts(name, known, stored) for name in subscriptions}


def _facts(name: str, known: Mapping[str, Cursor], stored: Sequence[Ledger]) -> CursorFacts:
    cursor = known[name]
    others = [ledger.mark_delete[0] for other, ledger in known.items() if other != name]
    released_below = min(others, default=stored[-1].id if stored else 0)
    kept = [
        ledger for ledger in stored[:-1] if ledger.last >= 0 and _keeps(cursor, ledger) and ledger.id < released_below
    ]
    holes = _holes(cursor, stored)
    return CursorFacts(
        holes=len(holes),
        largest_hole=max(holes, default=0),
        acked_above=sum(_acked_in(cursor, ledger) for ledger in stored),
        kept_ledgers=len(kept),
        kept_entries=sum(ledger.last + 1 for ledger in kept),
        kept_bytes=sum(ledger.size for ledger in kept),
        map=ack_map(cursor, stored),
    )


def _keeps(cursor: Cursor, ledger: Ledger) -> bool:
    """Whether the mark-delete position is before the last entry of the ledger."""
    return cursor.mark_delete < (ledger.id, ledger.last)


def _acked_in(cursor: Cursor, ledger: Ledger) -> int:
    after, acked = cursor.in_ledger(ledger.id)
    firsts, lasts = acked.bounds
    return sum(
        max(min(last, ledger.last) - max(first, after + 1) + 1, 0) for first, last in zip(firsts, lasts, strict=True)
    )


def _holes(cursor: Cursor, stored: Sequence[Ledger]) -> list[int]:
    """The sizes of the holes, in entries. A hole may span ledgers."""
    holes, gap = [], 0
    for ledger in stored:
        after, acked = cursor.in_ledger(ledger.id)
        following = after + 1
        for first, last in zip(*acked.bounds, strict=True):
            if last < following:
                continue
            gap += max(first - following, 0)
            if gap:
                holes.append(gap)
            gap, following = 0, last + 1
        gap += max(ledger.last + 1 - following, 0)
    return holes
