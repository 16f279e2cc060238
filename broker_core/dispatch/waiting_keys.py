"""Entries of a Key_Shared subscription that wait to be sent, in order within each key. Pure.

They wait for their consumer (for permits, for space in its socket), or for their hash. While the hash drains at another
consumer, or has no owner, they are parked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from broker_core.dispatch.redelivery import EntryId

Owner = TypeVar("Owner")


class WaitingKeys(Generic[Owner]):
    def __init__(self) -> None:
        self._hashes: dict[EntryId, int] = {}
        self._ready: dict[Owner, list[EntryId]] = {}  # heaps; may hold entries that no longer wait
        self._parked: dict[int, list[EntryId]] = {}  # hash -> entries; as above

    def __len__(self) -> int:
        return len(self._hashes)

    def hash_of(self, entry: EntryId) -> int | None:
        """The hash of the entry; None when it does not wait."""
        return self._hashes.get(entry)

    def add(self, entry: EntryId, sticky_hash: int, owner: Owner | None) -> None:
        """Adds an entry. `owner` is the consumer that may have it now; None parks it."""
        if entry in self._hashes:
            return
        self._hashes[entry] = sticky_hash
        self._put(entry, sticky_hash, owner)

    def _put(self, entry: EntryId, sticky_hash: int, owner: Owner | None) -> None:
        if owner is None:
            self._parked.setdefault(sticky_hash, []).append(entry)
        else:
            heappush(self._ready.setdefault(owner, []), entry)

    def discard(self, entry: EntryId) -> None:
        self._hashes.pop(entry, None)

    def discard_run(self, ledger_id: int, first: int, length: int) -> None:
        for entry_id in range(first, first + length):
            self._hashes.pop((ledger_id, entry_id), None)

    def discard_up_to(self, last: EntryId) -> None:
        """Removes entries everywhere: their consumer may be gone for a long time while more entries expire."""
        gone = [entry for entry in self._hashes if entry <= last]
        for entry in gone:
            self.discard(entry)
        if gone:
            self._ready = {owner: [entry for entry in heap if entry > last] for owner, heap in self._ready.items()}
            for heap in self._ready.values():
                heapify(heap)
            parked = {
                sticky_hash: [entry for entry in entries if entry > last]
                for sticky_hash, entries in self._parked.items()
            }
            self._parked = {sticky_hash: entries for sticky_hash, entries in parked.items() if entries}

    def clear(self) -> None:
        for part in (self._hashes, self._ready, self._parked):
            part.clear()

    def lowest(self, owners: Iterable[Owner]) -> EntryId | None:
        """The first position that waits for one of those owners."""
        tops = [top for owner in owners if (top := self._top(owner)) is not None]
        return min(tops) if tops else None

    def _top(self, owner: Owner) -> EntryId | None:
        heap = self._ready.get(owner)
        while heap and heap[0] not in self._hashes:
            heappop(heap)
        return heap[0] if heap else None

    def is_parked(self, sticky_hash: int) -> bool:
        return sticky_hash in self._parked

    def unpark(self, sticky_hash: int, owner: Owner) -> None:
        """Lets the owner have the entries that wait for the hash, which is free."""
        for entry in self._parked.pop(sticky_hash, ()):
            if entry in self._hashes:
                self._put(entry, sticky_hash, owner)

    def reassign(self, owner_of: Callable[[int], Owner | None]) -> None:
        """Moves the entries to the new owners of their hashes; `owner_of` returns None to park them."""
        self._ready.clear()
        self._parked.clear()
        for entry, sticky_hash in self._hashes.items():
            owner = owner_of(sticky_hash)
            if owner is None:
                self._parked.setdefault(sticky_hash, []).append(entry)
            else:
                self._ready.setdefault(owner, []).append(entry)
        for heap in self._ready.values():
            heapify(heap)

    def reach(self, first: EntryId, entries: int, gap: int) -> int:
        """How many consecutive entries from `first` on are worth reading at once.

        At most `entries`; ends where no entry of `gap` consecutive ones waits.
        """
        ledger_id, entry_id = first
        last = entry_id
        for following in range(entry_id + 1, entry_id + entries):
            if (ledger_id, following) in self._hashes:
                last = following
            elif following - last >= gap:
                break
        return last - entry_id + 1
