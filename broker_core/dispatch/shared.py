"""Shared: messages are dealt to the consumers in turn.

Who is served (Pulsar docs, "Shared"): consumers of the lowest priority number that have permits, are not
blocked by unacknowledged messages and whose socket takes data; among them in turn. What has to be sent again
goes first, in order of position. The chunks of a message go to one consumer (`chunks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.chunks import HELD_MAX, ChunkRoutes
from broker_core.dispatch.dispatcher import entries_within, gone_before
from broker_core.dispatch.individual import IndividualDispatcher
from broker_core.dispatch.redelivery import Entry, EntrySet
from broker_core.storage.position import Position

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.context import DispatchContext
    from broker_core.dispatch.dispatcher import Source
    from broker_core.storage.block import Block
    from broker_core.storage.cursor import ManagedCursor


class SharedDispatcher(IndividualDispatcher):
    def __init__(self, cursor: ManagedCursor, source: Source, context: DispatchContext) -> None:
        super().__init__(cursor, source, context)
        self._again = EntrySet()  # to be sent again
        self._next = 0  # index of the consumer whose turn it is
        self._chunks = ChunkRoutes()

    @property
    def waiting(self) -> int:
        return len(self._again) + self._chunks.waiting

    def add(self, consumer: Consumer) -> None:
        super().add(consumer)
        self.consumers.sort(key=lambda one: one.priority)  # stable: by arrival within a priority

    def remove(self, consumer: Consumer) -> None:
        self._again.add(self._chunks.left(consumer))
        super().remove(consumer)

    def due(self, entries: Iterable[Entry]) -> None:
        self._again.add(entries)
        self.wake()

    def give_back(self, entries: Iterable[Entry]) -> None:
        self._again.add(entries)

    def no_longer_waiting(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        if self._again:
            for entry_id in entry_ids:
                self._again.discard(ledger_id, entry_id)

    def forget_waiting(self, position: Position | None) -> None:
        if position is None:
            self._again.clear()
            self._chunks.clear()
        else:
            self._again.discard_up_to(position)

    def step(self) -> bool:
        for consumer in self._chunks.waited_for:
            if self.available(consumer):
                self._again.add(self._chunks.release(consumer))
        full, index = self.unacked.subscription_blocked(self.consumers, self.wake), self._whose_turn()
        if index is None or full:
            return False
        consumer = self.consumers[index]
        share = self.allowed(self._share(consumer))
        if share <= 0:
            return False
        served = self._step_again(consumer, share) if self._again else self._step_new(consumer, share)
        if served:  # a turn in which there was nothing to get is not lost
            self._next = index + 1
        return served

    def _step_new(self, consumer: Consumer, share: int) -> bool:
        if self._chunks.waiting >= HELD_MAX:
            return False
        block = self.next_block(consumer.permits)
        if block is None:
            return False
        self.consumed(block, self._deal(consumer, block, share))
        return True

    def _deal(self, consumer: Consumer, block: Block, share: int) -> int:
        """Gives the consumer its share of the block; returns how many entries are dealt with."""
        ranges = self.deliverable(block)
        if self.context.has_chunks():
            return self._deal_singly(consumer, block, ranges, share)
        for number, (first, last) in enumerate(ranges):
            end = first + entries_within(block.counts, first, last, share)
            self.send_pending(consumer, block, first, end)
            if end < last:
                return end
            return ranges[number + 1][0] if number + 1 < len(ranges) else len(block)
        return len(block)

    def _deal_singly(self, consumer: Consumer, block: Block, ranges: Sequence[tuple[int, int]], share: int) -> int:
        """The same where entries may be chunks, whose consumer is another."""
        for index in (index for first, last in ranges for index in range(first, last)):
            if share <= 0:
                return index
            target, ended = self._chunks.consumer_of(block, index, consumer)
            if target is not consumer and not self.available(target):
                self._chunks.hold(target, (block.ledger_id, block.first_entry_id + index))
                continue
            self.send_pending(target, block, index, index + 1)
            if target is consumer:
                share -= block.counts[index]
            if ended is not None:
                self._chunks.end(ended)
        return len(block)

    def _step_again(self, consumer: Consumer, share: int) -> bool:
        run = self._again.first_run(min(share, self.config.read_batch_entries))
        if run is None:
            return False
        ledger_id, first, length = run
        block = self.replay_block(Position(ledger_id, first), length)
        if block is None:
            return False
        if len(block) == 0 or (block.ledger_id, block.first_entry_id) != (ledger_id, first):
            self._again.discard(ledger_id, first, gone_before(block, first, length))
            return True
        count = entries_within(block.counts, 0, min(length, len(block)), share)
        self._again.discard(ledger_id, first, count)
        ranges = self.unacknowledged(block.slice(0, count))
        if self.context.has_chunks():
            self._deal_singly(consumer, block, ranges, count * max(block.counts))
            return True
        for start, end in ranges:
            self.send_pending(consumer, block, start, end)
        return True

    def _whose_turn(self) -> int | None:
        """Index of the next one in turn among the available consumers of the highest priority."""
        consumers = self.consumers
        best: tuple[int, int] | None = None
        for offset in range(len(consumers)):
            index = (self._next + offset) % len(consumers)
            if self.available(consumers[index]):
                rank = (consumers[index].priority, offset)
                if best is None or rank < best:
                    best = rank
        return None if best is None else (self._next + best[1]) % len(consumers)

    def _share(self, consumer: Consumer) -> int:
        allowed = self.unacked.allowed(consumer)
        return allowed if len(self.consumers) == 1 else min(allowed, self.config.round_robin_messages)
