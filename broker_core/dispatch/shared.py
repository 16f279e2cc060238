"""Shared: the consumers get messages in turn.

A consumer is served (Pulsar docs, "Shared") if it has permits, is not blocked by unacknowledged messages, has space in
its socket, and no such consumer has a lower priority number. Entries that have to be sent again go first, in order of
position. The chunks of a message all go to one consumer (`chunks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.chunks import HELD_MAX, ChunkRoutes
from broker_core.dispatch.dispatcher import entries_within
from broker_core.dispatch.individual import IndividualDispatcher
from broker_core.dispatch.redelivery import EntryId, EntrySet

if TYPE_CHECKING:
    from broker_core.dispatch.allowance import Shares
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.context import DispatchContext
    from broker_core.dispatch.reader import Source
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.storage.records.position import Position


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
        self.consumers.sort(key=lambda member: member.priority)  # stable: by arrival within a priority

    def remove(self, consumer: Consumer) -> None:
        self._again.add(self._chunks.left(consumer))
        super().remove(consumer)

    def due(self, entries: Iterable[EntryId]) -> None:
        self._again.add(entries)
        self.wake()

    def give_back(self, entries: Iterable[EntryId]) -> None:
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
            if self.budget.can_take(consumer):
                self._again.add(self._chunks.release(consumer))
        allowance = self.budget.allowance(self.consumers, self.wake, self._next_share)
        if allowance is None:
            return False
        consumer, messages = next(iter(allowance.shares)), allowance.messages
        served = self._step_again(consumer, messages) if self._again else self._step_new(consumer, messages)
        if served:  # a consumer keeps its turn if there was nothing to send
            self._next = self.consumers.index(consumer) + 1
        return served

    def _next_share(self, available: Shares) -> Shares:
        """The share of the next consumer in turn, among the available ones of the highest priority."""
        count = len(self.consumers)
        turns = (self.consumers[(self._next + offset) % count] for offset in range(count))
        candidates = (candidate for candidate in turns if candidate in available)
        consumer = min(candidates, key=lambda candidate: candidate.priority)
        most = available[consumer]
        return {consumer: most if count == 1 else min(most, self.config.round_robin_messages)}

    def _step_new(self, consumer: Consumer, share: int) -> bool:
        if self._chunks.waiting >= HELD_MAX:
            return False
        block = self.new_block(consumer.permits)
        if block is None:
            return False
        self.reader.passed(block, self._deal(consumer, block, share))
        return True

    def _deal(self, consumer: Consumer, block: Block, share: int) -> int:
        """Sends the consumer its share of the block; returns how many entries the dispatcher is done with."""
        ranges = self.deliverable(block)
        if self.context.special.has_chunks:
            return self._deal_singly(consumer, block, ranges, share)
        for number, (first, last) in enumerate(ranges):
            end = first + entries_within(block.counts, first, last, share)
            self.send_pending(consumer, block, first, end)
            if end < last:
                return end
            return ranges[number + 1][0] if number + 1 < len(ranges) else len(block)
        return len(block)

    def _deal_singly(self, consumer: Consumer, block: Block, ranges: Sequence[tuple[int, int]], share: int) -> int:
        """Like `_deal`, where entries may be chunks that belong to another consumer."""
        for index in (index for first, last in ranges for index in range(first, last)):
            if share <= 0:
                return index
            target, ended = self._chunks.consumer_of(block, index, consumer)
            if target is not consumer and not self.budget.can_take(target):
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
        block = None if run is None else self.reader.again(run, self._again.discard)
        if block is None:
            return False
        count = entries_within(block.counts, 0, len(block), share)
        self._again.discard(block.ledger_id, block.first_entry_id, count)
        ranges = self.unacknowledged(block.slice(0, count))
        if self.context.special.has_chunks:
            self._deal_singly(consumer, block, ranges, count * max(block.counts))
            return True
        for start, end in ranges:
            self.send_pending(consumer, block, start, end)
        return True
