"""The entries that a consumer has and did not acknowledge, and how many messages of each are open.

One subscription may have a million of them, so an entry costs twelve bytes: per ledger two arrays, sorted by entry
id. A new entry is appended, an acknowledgment in order moves the head, and everything else is a binary search. A
count of 0 marks an entry that is no longer held; such rows go when they are the majority.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import compress

GONE_ROWS_MIN = 1024  # rows that are no longer held and are not worth moving the others for


class Pending:
    def __init__(self) -> None:
        self.messages = 0
        """Unacknowledged messages in all entries that are held."""
        self._entries = 0
        self._ledgers: dict[int, _Rows] = {}

    def __len__(self) -> int:
        """How many entries are held."""
        return self._entries

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(ledger id, entry id) in order; the entries may change in the meantime, the iteration does not."""
        for ledger_id in sorted(self._ledgers):
            rows = self._ledgers.get(ledger_id)
            for entry_id in rows.held() if rows is not None else ():
                yield ledger_id, entry_id

    def add(self, ledger_id: int, first_entry_id: int, counts: Sequence[int]) -> None:
        """Takes consecutive entries with their open messages (at least 1 each); none of them may be held already."""
        rows = self._ledgers.get(ledger_id)
        if rows is None:
            rows = self._ledgers[ledger_id] = _Rows()
        rows.add(range(first_entry_id, first_entry_id + len(counts)), counts)
        self._entries += len(counts)
        self.messages += sum(counts)

    def count(self, ledger_id: int, entry_id: int) -> int:
        """Open messages of the entry; 0 when it is not held."""
        rows = self._ledgers.get(ledger_id)
        return rows.counts[at] if rows is not None and (at := rows.find(entry_id)) >= 0 else 0

    def discard(self, ledger_id: int, entry_id: int) -> int:
        """Lets the entry go; returns its open messages, 0 when it was not held."""
        rows = self._ledgers.get(ledger_id)
        if rows is None:
            return 0
        head = rows.head
        if rows.ids[head] == entry_id:  # in order: what most consumers do
            messages = rows.counts[head]
            rows.head = head + 1
            if rows.gone or head > GONE_ROWS_MIN:
                rows.compact()
        else:
            messages = rows.take(entry_id)
            if not messages:
                return 0
        self._entries -= 1
        self.messages -= messages
        if rows.head == len(rows.ids):
            del self._ledgers[ledger_id]
        return messages

    def discard_all(self, ledger_id: int, entry_ids: Sequence[int]) -> list[int]:
        """Lets entries of one ledger go; returns those that were not held."""
        rows = self._ledgers.get(ledger_id)
        if rows is None:
            return list(entry_ids)
        messages = rows.take_front(entry_ids)
        if not messages:
            discard = self.discard
            return [entry_id for entry_id in entry_ids if not discard(ledger_id, entry_id)]
        self._entries -= len(entry_ids)
        self.messages -= messages
        if rows.head == len(rows.ids):
            del self._ledgers[ledger_id]
        return []

    def discard_up_to(self, ledger_id: int, entry_id: int) -> None:
        """Lets every entry up to and including that position go."""
        for held_ledger in [held for held in self._ledgers if held <= ledger_id]:
            rows = self._ledgers[held_ledger]
            entries, messages = rows.take_below(None if held_ledger < ledger_id else entry_id + 1)
            self._entries -= entries
            self.messages -= messages
            if rows.head == len(rows.ids):
                del self._ledgers[held_ledger]

    def reduce(self, ledger_id: int, entry_id: int, messages: int) -> bool:
        """Counts acknowledged messages of a batch, but not its last one; False when the entry is not held."""
        rows = self._ledgers.get(ledger_id)
        at = rows.find(entry_id) if rows is not None else -1
        if rows is None or at < 0:
            return False
        messages = min(messages, rows.counts[at] - 1)
        rows.counts[at] -= messages
        self.messages -= messages
        return True

    def clear(self) -> None:
        self._ledgers.clear()
        self._entries = self.messages = 0


class _Rows:
    """The entries of one ledger, ascending; rows before `head` and rows with count 0 are no longer held.

    Between the calls of `Pending` the row at `head` is held: without one the ledger has no rows.
    """

    __slots__ = ("counts", "gone", "head", "ids")

    def __init__(self) -> None:
        self.ids: array[int] = array("Q")  # more than 32 bits: entry IDs of non-persistent topics grow without end
        self.counts: array[int] = array("I")
        self.head = 0
        self.gone = 0  # rows after the head that are no longer held

    def held(self) -> list[int]:
        return list(compress(self.ids[self.head :], self.counts[self.head :]))

    def add(self, entry_ids: range, counts: Sequence[int]) -> None:
        ids = self.ids
        if not ids or entry_ids[0] > ids[-1]:
            ids.extend(entry_ids)
            self.counts.extend(counts)
        else:  # given back and sent again, after later entries were sent
            self._insert(entry_ids, counts)

    def _insert(self, entry_ids: range, counts: Sequence[int]) -> None:
        start = bisect_left(self.ids, entry_ids[0], self.head)
        stop = bisect_right(self.ids, entry_ids[-1], start)
        rows = dict(zip(entry_ids, counts, strict=True))
        for entry_id, count in zip(self.ids[start:stop], self.counts[start:stop], strict=True):
            if count:
                rows[entry_id] = count
            else:
                self.gone -= 1
        order = sorted(rows)
        self.ids[start:stop] = array("Q", order)
        self.counts[start:stop] = array("I", [rows[entry_id] for entry_id in order])

    def find(self, entry_id: int) -> int:
        """The row of an entry that is held, else -1."""
        at = bisect_left(self.ids, entry_id, self.head)
        return at if at < len(self.ids) and self.ids[at] == entry_id and self.counts[at] else -1

    def take(self, entry_id: int) -> int:
        """Returns the open messages of the entry; 0 when it is not held."""
        at = self.find(entry_id)
        if at < 0:
            return 0
        messages = self.counts[at]
        self.counts[at] = 0
        self.gone += 1
        if at == self.head or (self.gone > GONE_ROWS_MIN and 2 * self.gone > len(self.ids) - self.head):
            self.compact()
        return messages

    def take_front(self, entry_ids: Sequence[int]) -> int:
        """Takes the entries if they are the first ones held, in that order, and returns their open messages; else 0."""
        head, stop = self.head, self.head + len(entry_ids)
        if self.gone or self.ids[head:stop].tolist() != entry_ids:
            return 0
        self.head = stop
        messages = sum(self.counts[head:stop])
        self.compact()
        return messages

    def take_below(self, entry_id: int | None) -> tuple[int, int]:
        """Lets entries below this one go (None: all); returns the numbers of entries and messages."""
        stop = len(self.ids) if entry_id is None else bisect_left(self.ids, entry_id, self.head)
        counts = self.counts[self.head : stop]
        gone = counts.count(0)
        self.gone -= gone
        self.head = stop
        self.compact()
        return len(counts) - gone, sum(counts)

    def compact(self) -> None:
        """Moves the head to a row that is held, and lets rows go when most are not needed."""
        counts, head = self.counts, self.head
        while self.gone and not counts[head]:
            head += 1
            self.gone -= 1
        self.head = head
        unheld = head + self.gone
        if unheld > GONE_ROWS_MIN and 2 * unheld > len(counts):
            self.ids = array("Q", self.held())
            self.counts = array("I", filter(None, counts[head:]))
            self.head = self.gone = 0
