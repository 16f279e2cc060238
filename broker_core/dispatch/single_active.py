"""Exclusive: one consumer gets everything, in order.

A new consumer starts at the first entry that is not acknowledged; entries that were acknowledged one by one
are skipped. Giving messages back rewinds the cursor, since order is what this subscription type promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.dispatcher import Dispatcher, entries_within

if TYPE_CHECKING:
    from broker_core.consumer import Consumer


class SingleActiveDispatcher(Dispatcher):
    _active: Consumer | None = None

    @property
    def active_consumer(self) -> Consumer | None:
        return self._active

    def add(self, consumer: Consumer) -> None:
        super().add(consumer)
        self._active = consumer
        self.rewind()

    def remove(self, consumer: Consumer) -> None:
        super().remove(consumer)
        self._active = None

    def redeliver(self, consumer: Consumer, positions: Sequence[tuple[int, int]] | None) -> None:
        if consumer is self._active:
            self.rewind()

    def rewind(self) -> None:
        self.cursor.rewind()
        self.jump()

    def step(self) -> bool:
        consumer = self._active
        if consumer is None or consumer.permits <= 0 or not consumer.writable:
            return False
        allowed = self.allowed(consumer.permits)
        block = self.next_block(allowed) if allowed > 0 else None
        if block is None:
            return False
        end = 0
        for first, last in self.cursor.unacknowledged(block):
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
