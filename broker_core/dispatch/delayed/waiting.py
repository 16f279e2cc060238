"""The set of delayed entries: one byte per entry between the first and the last of a ledger. Pure.

A million entries cost a megabyte. An acknowledgment, an expiry, or a skip only removes entries here and does not search
the index by time: rows of entries that are no longer in this set are invalid.
"""

from __future__ import annotations

from collections.abc import Iterable

_ALIGNED = 1024  # entries by which a map grows at its front


class _Ledger:
    """`flags[i]` is 1 if entry `base + i` waits."""

    __slots__ = ("base", "count", "flags")

    def __init__(self, entry_id: int) -> None:
        self.base = entry_id - entry_id % _ALIGNED
        self.flags = bytearray()
        self.count = 0

    def add(self, entry_id: int) -> bool:
        at = entry_id - self.base
        if at < 0:
            base = entry_id - entry_id % _ALIGNED
            self.flags[:0] = bytes(self.base - base)
            self.base = base
            at = entry_id - base
        elif at >= len(self.flags):
            self.flags += bytes(at + 1 - len(self.flags))
        if self.flags[at]:
            return False
        self.flags[at] = 1
        self.count += 1
        return True

    def remove(self, entry_id: int) -> bool:
        at = entry_id - self.base
        if not 0 <= at < len(self.flags) or not self.flags[at]:
            return False
        self.flags[at] = 0
        self.count -= 1
        return True

    def remove_before(self, entry_id: int) -> int:
        gone = max(0, min(entry_id - self.base, len(self.flags)))
        removed = self.flags.count(1, 0, gone)
        del self.flags[:gone]
        self.base += gone
        self.count -= removed
        return removed


class WaitingEntries:
    """`count`: the number of waiting entries."""

    def __init__(self) -> None:
        self._ledgers: dict[int, _Ledger] = {}
        self.count = 0

    @property
    def memory(self) -> int:
        """Bytes."""
        return sum(len(ledger.flags) for ledger in self._ledgers.values())

    def add(self, ledger_id: int, entry_id: int) -> bool:
        """Returns false if it is already waiting."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            ledger = self._ledgers[ledger_id] = _Ledger(entry_id)
        added = ledger.add(entry_id)
        self.count += added
        return added

    def remove(self, ledger_id: int, entry_id: int) -> bool:
        """Returns false if it was not waiting."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is None or not ledger.remove(entry_id):
            return False
        self.count -= 1
        if not ledger.count:
            del self._ledgers[ledger_id]
        return True

    def remove_all(self, ledger_id: int, entry_ids: Iterable[int]) -> None:
        if ledger_id in self._ledgers:
            for entry_id in entry_ids:
                self.remove(ledger_id, entry_id)

    def remove_up_to(self, ledger_id: int, entry_id: int) -> None:
        """Removes every entry up to and including that one."""
        for other in [other for other in self._ledgers if other < ledger_id]:
            self.count -= self._ledgers.pop(other).count
        ledger = self._ledgers.get(ledger_id)
        if ledger is not None:
            self.count -= ledger.remove_before(entry_id + 1)
            if not ledger.count:
                del self._ledgers[ledger_id]

    def clear(self) -> None:
        self._ledgers.clear()
        self.count = 0
