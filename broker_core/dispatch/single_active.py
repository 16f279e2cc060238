"""Exclusive: one consumer gets everything, in order.

A new consumer starts at the first entry that is not acknowledged; entries that were acknowledged one by one
are skipped. Giving messages back rewinds the cursor, since order is what this subscription type promises.
A consumer that names ranges of hashes gets the entries of those keys only (readers of a range of keys); the others
are passed over and stay unacknowledged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.dispatcher import Dispatcher, entries_within
from broker_core.dispatch.hash_ranges import StickyRanges
from broker_core.wire.sticky_key import sticky_key

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.storage.block import Block


class SingleActiveDispatcher(Dispatcher):
    _active: Consumer | None = None
    _wanted: StickyRanges[Consumer] | None = None  # hashes of the only consumer, if it does not want all

    @property
    def active_consumer(self) -> Consumer | None:
        return self._active

    def add(self, consumer: Consumer) -> None:
        """Raises `ConsumerAssignFailed` when the consumer wants ranges that are none."""
        wanted = consumer.key_shared.wanted
        self._wanted = StickyRanges() if wanted else None
        if self._wanted is not None:
            self._wanted.add(consumer, wanted)
        super().add(consumer)
        self._active = consumer
        self.rewind()

    def remove(self, consumer: Consumer) -> None:
        super().remove(consumer)
        self._active = None

    def redeliver(self, consumer: Consumer, positions: Sequence[tuple[int, int]] | None) -> None:
        if consumer is self._active:
            self.rewind()

    def step(self) -> bool:
        consumer = self._active
        if consumer is None or consumer.permits <= 0 or not consumer.writable:
            return False
        allowed = self.allowed(consumer.permits)
        block = self.next_block(allowed) if allowed > 0 else None
        if block is None:
            return False
        end = 0
        for first, last in self._ranges(block):
            if allowed <= 0:
                break
            end = first + entries_within(block.counts, first, last, allowed)
            allowed -= self.send(consumer, block, first, end)
            if end < last:
                break
        else:
            end = len(block)
        self.consumed(block, end)
        return True

    def _ranges(self, block: Block) -> Sequence[tuple[int, int]]:
        """Index ranges [a, b) of the block's entries that are not acknowledged, and wanted."""
        ranges = self.unacknowledged(block)
        if self._wanted is None:
            return ranges
        return [(row, row + 1) for first, last in ranges for row in range(first, last) if self._wants(block, row)]

    def _wants(self, block: Block, row: int) -> bool:
        assert self._wanted is not None, "asked of every entry then"
        key = sticky_key(block.data, block.starts[row], block.ends[row])
        return self._wanted.owner(self._wanted.hash_of(key)) is not None
