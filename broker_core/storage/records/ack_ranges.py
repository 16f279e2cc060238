"""Which entries of one ledger a subscription has acknowledged above its mark-delete position. Pure.

One byte per entry, 1 = not acknowledged: `bytearray.find(1)` then moves mark-delete at C speed, and any number
of holes costs the same (none is ever dropped, unlike the 10,000 ranges that Pulsar persists).
Entries at or above `base + len(bits)` are not acknowledged; entries below `base` are.
"""

import zlib
from collections.abc import Iterator, Sequence

_INVERTED = bytes([1, 0, *range(2, 256)])
_TRIM = 4096  # bytes in front that are worth a memmove


class AckWindow:
    __slots__ = ("acked", "base", "bits")

    def __init__(self, base: int, bits: bytearray | None = None) -> None:
        self.base = base
        self.bits = bytearray() if bits is None else bits
        self.acked = self.bits.count(0)  # how many entries of the window are acknowledged

    def acknowledge(self, entry_ids: Sequence[int], limit: int) -> int:
        """Marks the entries in [base, limit); returns how many were not acknowledged before."""
        if len(entry_ids) == 1:
            return self.acknowledge_range(entry_ids[0], min(entry_ids[0] + 1, limit))
        low, top = min(entry_ids), max(entry_ids)
        if top - low + 1 == len(entry_ids) and len(set(entry_ids)) == len(entry_ids):
            return self.acknowledge_range(low, min(top + 1, limit))
        base = self.base
        if low < base or top >= limit:
            entry_ids = [e for e in entry_ids if base <= e < limit]
            top = limit - 1
        self._cover(top + 1)
        bits = self.bits
        newly = 0
        for entry_id in entry_ids:
            if bits[entry_id - base]:
                bits[entry_id - base] = 0
                newly += 1
        self.acked += newly
        return newly

    def acknowledge_range(self, start: int, stop: int) -> int:
        """Marks entries `start` to `stop - 1`; returns how many were not acknowledged before."""
        start = max(start, self.base)
        if stop <= start:
            return 0
        self._cover(stop)
        a, b = start - self.base, stop - self.base
        newly = self.bits.count(1, a, b)
        if newly:
            self.bits[a:b] = bytes(b - a)
            self.acked += newly
        return newly

    def first_unacknowledged(self, start: int) -> int:
        """The first entry at or above `start` that is not acknowledged; it may not exist yet."""
        at = self.bits.find(1, max(0, start - self.base))
        return max(start, self.base + (len(self.bits) if at < 0 else at))

    def is_acknowledged(self, entry_id: int) -> bool:
        at = entry_id - self.base
        return at < 0 or (at < len(self.bits) and not self.bits[at])

    def drop_before(self, entry_id: int) -> None:
        """Forgets the entries below `entry_id`, which mark-delete has passed, if that is worth moving the others."""
        gone = min(entry_id - self.base, len(self.bits))
        if gone <= 0:
            return
        if gone == len(self.bits) or (gone > _TRIM and 2 * gone > len(self.bits)):
            self.acked -= self.bits.count(0, 0, gone)
            del self.bits[:gone]
            self.base += gone

    def acked_from(self, entry_id: int) -> int:
        """Acknowledged entries at or above `entry_id`."""
        at = entry_id - self.base
        return self.acked if at <= 0 else self.bits.count(0, at)

    def acked_flags(self, start: int, stop: int) -> bytes:
        """One byte per entry of [start, stop): 1 = acknowledged. May end early: later entries are not acknowledged."""
        below = max(0, min(stop, self.base) - start)
        bits = self.bits[max(0, start - self.base) : max(0, stop - self.base)]
        return b"\x01" * below + bits.translate(_INVERTED)

    def open_ranges(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Ranges [a, b) of entries in [start, stop) that are not acknowledged."""
        at = start
        end = self.base + len(self.bits)
        while at < stop:
            at = self.first_unacknowledged(at)
            if at >= stop:
                return
            hole = self.bits.find(0, at - self.base) if at < end else -1
            until = stop if hole < 0 else min(stop, self.base + hole)
            yield at, until
            at = until

    def acked_ranges(self, start: int) -> Iterator[tuple[int, int]]:
        """Ranges [a, b) of acknowledged entries at or above `start`."""
        at = max(0, start - self.base)
        while (at := self.bits.find(0, at)) >= 0:
            end = self.bits.find(1, at)
            if end < 0:
                end = len(self.bits)
            yield self.base + at, self.base + end
            at = end

    @classmethod
    def decode(cls, base: int, data: bytes) -> "AckWindow":
        """The window from metadata.sqlite, which has its bytes deflated."""
        return cls(base, bytearray(zlib.decompress(data)))

    def copy(self) -> "AckWindow":
        return AckWindow(self.base, bytearray(self.bits))

    def _cover(self, stop: int) -> None:
        missing = stop - self.base - len(self.bits)
        if missing > 0:
            self.bits += b"\x01" * missing
