"""Entries with the metadata that the broker adds to them for consumers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain

from broker_core.storage.records.block import Block


class StampedBlock(Block):
    """`stamps`: the broker metadata of each entry, as it is sent in front of it."""

    __slots__ = ("stamps",)

    stamps: Sequence[bytes]

    @classmethod
    def of(cls, block: Block, stamps: Sequence[bytes]) -> StampedBlock:
        columns = (block.starts, block.ends, block.counts, block.publish_times, block.delivery_times)
        stamped = cls(block.ledger_id, block.first_entry_id, block.data, *columns)
        stamped.stamps = stamps
        return stamped

    def slice(self, start: int, stop: int) -> Block:
        return StampedBlock.of(super().slice(start, stop), self.stamps[start:stop])

    def stamped_entry(self, row: int) -> bytes:
        return self.stamps[row] + self.entry(row)

    def stamped_entries(self, first: int, last: int) -> tuple[bytes, list[int], list[int]]:
        """Entries `first` to `last` - 1 with their stamps: bytes, and where each starts and ends in them."""
        rows = range(first, last)
        data = b"".join(chain.from_iterable((self.stamps[row], self.entry(row)) for row in rows))
        sizes = (len(self.stamps[row]) + self.ends[row] - self.starts[row] for row in rows)
        starts = list(accumulate(sizes, initial=0))
        return data, starts[:-1], starts[1:]
