"""The entries to send again, in order of position, and how often each was sent before. Pure.

A consumer that leaves may give back a million entries at once, so an entry costs no object: a set of entries takes one
bit for each, the counts take two bytes each, in pieces of 1024 entries of one ledger.

Counts live in memory, as in Pulsar's redelivery tracker. A consumer that gives an entry back raises its count. A
consumer that leaves does not.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

EntryId = tuple[int, int]  # ledger id, entry id

PIECE_BITS = 10
PIECE = 1 << PIECE_BITS  # entries
COUNT_MAX = (1 << 16) - 1
TRIM_MIN = 16  # pieces; with fewer, trimming is not worth the search


class Run(NamedTuple):
    """Consecutive entries of one ledger."""

    ledger_id: int
    first: int
    length: int


class EntrySet:
    def __init__(self) -> None:
        self._ledgers: dict[int, dict[int, int]] = {}  # ledger id -> piece -> bits, never 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, entry: EntryId) -> bool:
        pieces = self._ledgers.get(entry[0])
        return pieces is not None and bool(pieces.get(entry[1] >> PIECE_BITS, 0) >> (entry[1] & (PIECE - 1)) & 1)

    def add(self, entries: Iterable[EntryId]) -> None:
        gathered: dict[tuple[int, int], int] = {}  # one change per piece, not per entry: the integers are long
        for ledger_id, entry_id in entries:
            key = ledger_id, entry_id >> PIECE_BITS
            gathered[key] = gathered.get(key, 0) | 1 << (entry_id & (PIECE - 1))
        for (ledger_id, number), new in gathered.items():
            pieces = self._ledgers.setdefault(ledger_id, {})
            bits = pieces.get(number, 0)
            pieces[number] = bits | new
            self._size += (new & ~bits).bit_count()

    def discard(self, ledger_id: int, first: int, length: int = 1) -> None:
        """Removes consecutive entries of a ledger."""
        pieces = self._ledgers.get(ledger_id)
        while pieces is not None and length > 0:
            offset = first & (PIECE - 1)
            here = min(length, PIECE - offset)
            self._clear(pieces, first >> PIECE_BITS, ((1 << here) - 1) << offset)
            first += here
            length -= here
        if pieces is not None and not pieces:
            del self._ledgers[ledger_id]

    def discard_up_to(self, last: EntryId) -> None:
        for ledger_id in [ledger_id for ledger_id in self._ledgers if ledger_id <= last[0]]:
            pieces = self._ledgers[ledger_id]
            end = last[1] + 1 if ledger_id == last[0] else (max(pieces) + 1) << PIECE_BITS
            for number in [number for number in pieces if number << PIECE_BITS < end]:
                self._clear(pieces, number, (1 << min(PIECE, end - (number << PIECE_BITS))) - 1)
            if not pieces:
                del self._ledgers[ledger_id]

    def _clear(self, pieces: dict[int, int], number: int, mask: int) -> None:
        bits = pieces.get(number, 0)
        self._size -= (bits & mask).bit_count()
        if bits & ~mask:
            pieces[number] = bits & ~mask
        else:
            pieces.pop(number, None)

    def clear(self) -> None:
        self._ledgers.clear()
        self._size = 0

    def first_run(self, limit: int) -> Run | None:
        """The lowest run of consecutive entries, of at most `limit`; None when the set is empty."""
        if not self._ledgers:
            return None
        ledger_id = min(self._ledgers)
        pieces = self._ledgers[ledger_id]
        number = min(pieces)
        bits = pieces[number]
        offset = _zeros_below(bits)
        length = _zeros_below(~(bits >> offset))
        while length < limit and offset + length & (PIECE - 1) == 0:
            number += 1
            more = _zeros_below(~pieces.get(number, 0))
            if not more:
                break
            length += more
        return Run(ledger_id, (min(pieces) << PIECE_BITS) + offset, min(length, limit))


def _zeros_below(bits: int) -> int:
    """The number of lowest bits that are 0, in a number that is not 0."""
    return (bits & -bits).bit_length() - 1


class RedeliveryCounts:
    def __init__(self) -> None:
        self._pieces: dict[tuple[int, int], array[int]] = {}  # (ledger id, piece) -> counts
        self._trim_at = TRIM_MIN

    def add(self, entries: Iterable[EntryId]) -> None:
        """Counts the entries, each of which was given back once more."""
        for ledger_id, entry_id in entries:
            key = ledger_id, entry_id >> PIECE_BITS
            piece = self._pieces.get(key)
            if piece is None:
                piece = self._pieces[key] = array("H", bytes(2 * PIECE))
            at = entry_id & (PIECE - 1)
            piece[at] = min(piece[at] + 1, COUNT_MAX)

    def trim(self, last: EntryId) -> None:
        """Forgets entries up to `last`, which are acknowledged. Searches only once the pieces have doubled."""
        if len(self._pieces) >= self._trim_at:
            self.forget_up_to(last)
            self._trim_at = max(TRIM_MIN, 2 * len(self._pieces))

    def forget_up_to(self, last: EntryId) -> None:
        """Drops the pieces that hold only entries up to `last`, which are acknowledged."""
        for key in [piece for piece in self._pieces if (piece[0], ((piece[1] + 1) << PIECE_BITS) - 1) <= last]:
            del self._pieces[key]

    def clear(self) -> None:
        self._pieces.clear()

    def of(self, ledger_id: int, first: int, length: int) -> Sequence[int] | None:
        """Counts of consecutive entries; None when all are 0."""
        if not self._pieces:
            return None
        get = self._pieces.get
        counts = [
            piece[entry_id & (PIECE - 1)] if (piece := get((ledger_id, entry_id >> PIECE_BITS))) is not None else 0
            for entry_id in range(first, first + length)
        ]
        return counts if any(counts) else None
