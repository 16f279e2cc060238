"""Exclusive: one consumer gets everything, in order.

A new consumer starts at the first entry that is not acknowledged, and skips entries that were acknowledged one by one.
Giving messages back rewinds the cursor, because this subscription type promises order.
A consumer that names hash ranges (a reader of some keys) gets the entries of those keys only. The other entries are
skipped and stay unacknowledged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.dispatcher import Dispatcher, entries_within
from broker_core.dispatch.hash_ranges import StickyRanges
from broker_core.wire.sticky_key import sticky_key

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.hash_ranges import KeySharedMode
    from broker_core.storage.records.block import Block


class SingleActiveDispatcher(Dispatcher):
    _active: Consumer | None = None
    _hashes: StickyRanges[Consumer] | None = None  # hashes that the only consumer wants; None for all

    @property
    def active_consumer(self) -> Consumer | None:
        return self._active

    def conflicting_consumers(self, mode: KeySharedMode) -> list[Consumer]:
        return list(self.consumers)

    def add(self, consumer: Consumer) -> None:
        """Raises `ConsumerAssignFailed` when the consumer names invalid hash ranges."""
        ranges = consumer.key_shared.ranges
        self._hashes = StickyRanges() if ranges else None
        if self._hashes is not None:
            self._hashes.add(consumer, ranges)
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
        messages = 0 if consumer is None else self.budget.for_only(consumer)
        block = self.reader.new_block(messages) if messages > 0 else None
        if consumer is None or block is None:
            return False
        return self.reader.passed(block, self._send(consumer, block, messages))

    def _send(self, consumer: Consumer, block: Block, messages: int) -> int:
        """Sends as many messages of the block as may go; returns how many entries it is done with."""
        end = 0
        for first, last in self._ranges(block):
            if messages <= 0:
                return end
            end = first + entries_within(block.counts, first, last, messages)
            messages -= self.send(consumer, block, first, end)
            if end < last:
                return end
        return len(block)

    def _ranges(self, block: Block) -> Sequence[tuple[int, int]]:
        """Index ranges [a, b) of the block's entries that are not acknowledged and that the consumer wants."""
        ranges = self.unacknowledged(block)
        if self._hashes is None:
            return ranges
        return [(row, row + 1) for first, last in ranges for row in range(first, last) if self._wants(block, row)]

    def _wants(self, block: Block, row: int) -> bool:
        assert self._hashes is not None, "called only for a consumer with hash ranges"
        key = sticky_key(block.data, block.starts[row], block.ends[row])
        return self._hashes.owner(self._hashes.hash_of(key)) is not None
