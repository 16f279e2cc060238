"""The parts of each ledger that a subscription has acknowledged, coarsely enough to draw. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pulsarctl.backlog.ledgers import Ledger
from pulsarctl.tables.ack_holes import Cursor

CELLS = 100
LEDGERS_MAX = 20


@dataclass(frozen=True, slots=True)
class LedgerMap:
    """`acked` is the acknowledged share of each cell, from the first entry to the last; cells are of equal width."""

    ledger_id: int
    entries: int
    acked: tuple[float, ...]


def ack_map(cursor: Cursor, stored: Sequence[Ledger]) -> tuple[LedgerMap, ...]:
    """The oldest ledgers in which entries after a hole are acknowledged."""
    maps: list[LedgerMap] = []
    for ledger in stored:
        after, acked = cursor.in_ledger(ledger.id)
        ranges = [(first, last) for first, last in zip(*acked.bounds, strict=True) if last > after]
        if ranges and ledger.last >= 0 and len(maps) < LEDGERS_MAX:
            maps.append(_map(ledger, [(0, after), *ranges]))
    return tuple(maps)


def _map(ledger: Ledger, ranges: Sequence[tuple[int, int]]) -> LedgerMap:
    entries = ledger.last + 1
    width = -(-entries // CELLS)
    covered = [0] * -(-entries // width)
    for first, last in ranges:
        for cell, number in _cells(max(first, 0), min(last, ledger.last), width):
            covered[cell] += number
    sizes = [min(width, entries - cell * width) for cell in range(len(covered))]
    return LedgerMap(ledger.id, entries, tuple(round(a / b, 3) for a, b in zip(covered, sizes, strict=True)))


def _cells(first: int, last: int, width: int) -> Iterator[tuple[int, int]]:
    """The number of entries of a range in each cell that it touches."""
    for cell in range(first // width, last // width + 1 if last >= first else 0):
        yield cell, min(last, (cell + 1) * width - 1) - max(first, cell * width) + 1
