"""What a Shared subscription has to send again, in order of position, and how often each was sent before. Pure.

Counts live in memory, as Pulsar's redelivery tracker: an explicit request or a lost consumer raises them,
giving everything back at once (REDELIVER without ids) does not.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

Entry = tuple[int, int]  # ledger id, entry id


class Redelivery:
    def __init__(self) -> None:
        self._waiting: set[Entry] = set()
        self._order: list[Entry] = []  # heap; may hold entries that are no longer waiting
        self._counts: dict[Entry, int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, entries: Iterable[Entry], *, count: bool) -> None:
        for entry in entries:
            if count:
                self._counts[entry] = self._counts.get(entry, 0) + 1
            if entry not in self._waiting:
                self._waiting.add(entry)
                heapq.heappush(self._order, entry)

    def discard(self, entry: Entry) -> None:
        """The entry was acknowledged."""
        self._waiting.discard(entry)
        self._counts.pop(entry, None)

    def discard_up_to(self, last: Entry) -> None:
        """Everything up to there was acknowledged at once."""
        for entry in [entry for entry in self._waiting | self._counts.keys() if entry <= last]:
            self.discard(entry)

    def clear(self) -> None:
        self._waiting.clear()
        self._order.clear()
        self._counts.clear()

    def first_run(self, limit: int) -> tuple[int, int, int] | None:
        """Ledger id, first entry id and length of the lowest run of consecutive waiting entries."""
        while self._order and self._order[0] not in self._waiting:
            heapq.heappop(self._order)
        if not self._order:
            return None
        ledger_id, first = self._order[0]
        length = 1
        while length < limit and (ledger_id, first + length) in self._waiting:
            length += 1
        return ledger_id, first, length

    def taken(self, ledger_id: int, first: int, length: int) -> None:
        """Those entries were sent, or no longer exist."""
        for entry_id in range(first, first + length):
            self._waiting.discard((ledger_id, entry_id))

    def counts(self, ledger_id: int, first: int, length: int) -> Sequence[int] | None:
        """Redelivery counts of consecutive entries; None when all are 0."""
        if not self._counts:
            return None
        found = [self._counts.get((ledger_id, entry_id), 0) for entry_id in range(first, first + length)]
        return found if any(found) else None
