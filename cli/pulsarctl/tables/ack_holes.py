"""What a subscription has acknowledged, from the text that a broker's `internalStats` gives. Pure.

A cursor is a mark-delete position (everything up to it is acknowledged) and ranges above it. The text of the ranges is
`[(10:4..10:7],(12:0..12:3]]`: open below, closed above, so this acknowledges 10:5 to 10:7 and 12:1 to 12:3. Batches of
which a part is acknowledged come apart from that, and only from pulsarctl's broker (`openBatches`).
"""

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsarctl.values.message_ids import parse_message_id

_RANGE = re.compile(r"([(\[])(-?\d+):(-?\d+)(?:\.\.|‥)(-?\d+):(-?\d+)([)\]])")
_END = (1 << 63) - 1

LedgerPosition = tuple[int, int]  # ledger ID, entry ID


class AckedRanges:
    """Acknowledged entries of one ledger: ascending, disjoint, inclusive ranges, packed for shipping to a task."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts = array("q")
        self._lasts = array("q")

    def __len__(self) -> int:
        return len(self._firsts)

    @property
    def bounds(self) -> tuple["array[int]", "array[int]"]:
        """The first and the last entries of the ranges."""
        return self._firsts, self._lasts

    def add(self, first: int, last: int) -> None:
        """Ranges come in ascending order, as the broker lists them."""
        if first <= last:
            self._firsts.append(first)
            self._lasts.append(last)

    def __contains__(self, entry_id: int) -> bool:
        index = bisect_right(self._firsts, entry_id) - 1
        return index >= 0 and entry_id <= self._lasts[index]

    def between(self, first: int, last: int) -> "AckedRanges":
        """Only the ranges that touch `first <= entry <= last`."""
        start = max(bisect_right(self._firsts, first) - 1, 0)
        stop = bisect_right(self._firsts, last)
        part = AckedRanges()
        part._firsts = self._firsts[start:stop]
        part._lasts = self._lasts[start:stop]
        return part


_NOTHING = AckedRanges()


@dataclass(frozen=True, slots=True)
class Cursor:
    """Everything up to and including `mark_delete` is acknowledged, and `ranges` by ledger.

    `open_batches`, by ledger and entry: bit i says that message i of the batch is not acknowledged.
    """

    mark_delete: LedgerPosition
    ranges: dict[int, AckedRanges]
    open_batches: dict[int, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def from_stats(cls, stats: dict[str, Any]) -> "Cursor":
        """The cursor from one of the `cursors` of `internalStats`."""
        ranges: defaultdict[int, AckedRanges] = defaultdict(AckedRanges)
        for match in _RANGE.finditer(stats["individuallyDeletedMessages"]):
            _add(ranges, match)
        batches: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for (ledger_id, entry_id), bits in open_batches_of(stats).items():
            batches[ledger_id][entry_id] = bits
        return cls(parse_message_id(stats["markDeletePosition"]).position, dict(ranges), dict(batches))

    def in_ledger(self, ledger_id: int) -> tuple[int, AckedRanges]:
        """The mark-delete position as seen by one ledger (-1: before its first entry), and the ranges above it."""
        own_ledger, entry_id = self.mark_delete
        if own_ledger > ledger_id:
            return _END, _NOTHING
        return (entry_id if own_ledger == ledger_id else -1), self.ranges.get(ledger_id, _NOTHING)


def open_batches_of(cursor: Mapping[str, Any]) -> dict[LedgerPosition, int]:
    """From one of the `cursors` of `internalStats`: the bits of the messages that are not acknowledged."""
    batches = {}
    for position, words in cursor.get("openBatches", {}).items():
        bits = sum((word & (1 << 64) - 1) << (64 * index) for index, word in enumerate(words))
        batches[parse_message_id(position).position] = bits
    return batches


def _add(ranges: defaultdict[int, AckedRanges], match: re.Match[str]) -> None:
    """One range of the text; one that spans ledgers is cut at their borders."""
    opened, closed = match.group(1), match.group(6)
    ledger_id, first, last_ledger, last = (int(match.group(index)) for index in (2, 3, 4, 5))
    first += opened == "("
    last -= closed == ")"
    while ledger_id < last_ledger:
        ranges[ledger_id].add(first, _END)
        ledger_id, first = ledger_id + 1, 0
    ranges[ledger_id].add(first, last)
