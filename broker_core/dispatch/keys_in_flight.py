"""The keys (by hash) of which a Key_Shared consumer has unacknowledged entries. Pure.

The promise of Key_Shared is that a key is at one consumer at a time. So a hash whose entries are unacknowledged at
a consumer stays with it, even if the hash belongs to another one by then: it is draining (PIP-379) until the
last of these entries is acknowledged, given back, or its consumer gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Holder = TypeVar("Holder")


class KeysInFlight(Generic[Holder]):
    def __init__(self) -> None:
        self._hashes: dict[int, dict[int, int]] = {}  # ledger id -> entry id -> hash
        self._holders: dict[int, Holder] = {}
        self._entries: dict[int, int] = {}  # hash -> how many entries

    def add(self, ledger_id: int, entry_id: int, sticky_hash: int, holder: Holder) -> None:
        """Notes an entry that was sent to the holder, which has the hash or gets it now."""
        ledger = self._hashes.get(ledger_id)
        if ledger is None:
            ledger = self._hashes[ledger_id] = {}
        ledger[entry_id] = sticky_hash
        self._holders[sticky_hash] = holder
        self._entries[sticky_hash] = self._entries.get(sticky_hash, 0) + 1

    def holder(self, sticky_hash: int) -> Holder | None:
        return self._holders.get(sticky_hash)

    def remove(self, ledger_id: int, entry_id: int) -> tuple[int, bool] | None:
        """The entry's hash, and whether it is free now; None when the entry is not in flight."""
        ledger = self._hashes.get(ledger_id)
        sticky_hash = None if ledger is None else ledger.pop(entry_id, None)
        if ledger is None or sticky_hash is None:
            return None
        if not ledger:
            del self._hashes[ledger_id]
        left = self._entries[sticky_hash] - 1
        if left:
            self._entries[sticky_hash] = left
            return sticky_hash, False
        del self._entries[sticky_hash], self._holders[sticky_hash]
        return sticky_hash, True

    def up_to(self, last: tuple[int, int]) -> list[tuple[int, int]]:
        """The entries in flight up to that position."""
        return [
            (ledger_id, entry_id)
            for ledger_id in self._hashes
            if ledger_id <= last[0]
            for entry_id in self._hashes[ledger_id]
            if (ledger_id, entry_id) <= last
        ]

    def clear(self) -> None:
        self._hashes.clear()
        self._holders.clear()
        self._entries.clear()

    def held(self) -> Iterator[tuple[int, Holder, int]]:
        """Each hash in flight, its holder, and its number of entries."""
        for sticky_hash, holder in self._holders.items():
            yield sticky_hash, holder, self._entries[sticky_hash]
