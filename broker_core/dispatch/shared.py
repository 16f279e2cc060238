"""Shared: messages are dealt to the consumers in turn.

Who is served (Pulsar docs, "Shared"): consumers of the lowest priority number that have permits, are not
blocked by unacknowledged messages and whose socket takes data; among them in turn. What has to be sent again
goes first, in order of position. An entry stays pending at its consumer until it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker_core.dispatch.dispatcher import Dispatcher, entries_within
from broker_core.dispatch.redelivery import Redelivery
from broker_core.storage.position import Position

if TYPE_CHECKING:
    from broker_core.config import DispatchConfig
    from broker_core.consumer import Consumer
    from broker_core.dispatch.dispatcher import Source, Spawn
    from broker_core.storage.block import Block
    from broker_core.storage.cursor import ManagedCursor


class SharedDispatcher(Dispatcher):
    def __init__(self, cursor: ManagedCursor, source: Source, config: DispatchConfig, spawn: Spawn) -> None:
        super().__init__(cursor, source, config, spawn)
        self.redelivery = Redelivery()
        self._next = 0  # index of the consumer whose turn it is
        self._replay: tuple[Position, Block] | None = None  # asked for, and read from disk for redelivery
        self._held_back = False  # someone got nothing because of unacknowledged messages

    def add(self, consumer: Consumer) -> None:
        if not self.consumers:
            self._start_over()
        super().add(consumer)
        self.consumers.sort(key=lambda one: one.priority)  # stable: by arrival within a priority

    def remove(self, consumer: Consumer) -> None:
        super().remove(consumer)
        if self.consumers:
            self.redelivery.add(consumer.pending, count=True)
        else:
            self._start_over()
        consumer.pending.clear()
        self.wake()

    def redeliver(self, consumer: Consumer, positions: Sequence[tuple[int, int]] | None) -> None:
        given_back = list(consumer.pending) if positions is None else positions
        held = [entry for entry in given_back if consumer.forget(*entry)]
        self.redelivery.add(held, count=positions is not None)
        self.wake()

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Takes the entries off whoever holds them; an ack may come through another consumer."""
        for entry_id in consumer.forget_all(ledger_id, entry_ids):
            self._forget_anywhere(ledger_id, entry_id)
        for entry_id in entry_ids:
            self.redelivery.discard((ledger_id, entry_id))
        if self._held_back:
            self._held_back = False
            self.wake()

    def forget_up_to(self, position: Position) -> None:
        """Everything up to the position was acknowledged at once (expired, skipped)."""
        for consumer in self.consumers:
            for entry in [entry for entry in consumer.pending if entry <= position]:
                consumer.forget(*entry)
        self.redelivery.discard_up_to(position)

    def step(self) -> bool:
        index = self._whose_turn()
        if index is None or self._subscription_blocked():
            return False
        consumer = self.consumers[index]
        served = self._step_redelivery(consumer) if self.redelivery else self._step_new(consumer)
        if served:  # a turn in which there was nothing to get is not lost
            self._next = index + 1
        return served

    def _step_new(self, consumer: Consumer) -> bool:
        block = self.next_block(consumer.permits)
        if block is None:
            return False
        self.consumed(block, self._deal(consumer, block))
        return True

    def _deal(self, consumer: Consumer, block: Block) -> int:
        """Gives the consumer its share of the block; returns how many entries are dealt with."""
        share = self._share(consumer)
        for first, last in self.cursor.unacknowledged(block):
            end = first + entries_within(block.counts, first, last, share)
            self._send(consumer, block, first, end)
            return end if end < last else self._skip_acknowledged(block, end)
        return len(block)

    def _skip_acknowledged(self, block: Block, end: int) -> int:
        for first, _ in self.cursor.unacknowledged(block):
            if first >= end:
                return first
        return len(block)

    def _step_redelivery(self, consumer: Consumer) -> bool:
        run = self.redelivery.first_run(min(self._share(consumer), self.config.read_batch_entries))
        if run is None:
            return False
        ledger_id, first, length = run
        block = self._replay_block(Position(ledger_id, first), length)
        if block is None:
            return False
        if len(block) == 0 or (block.ledger_id, block.first_entry_id) != (ledger_id, first):
            self.redelivery.taken(ledger_id, first, length)  # trimmed meanwhile
            return True
        count = entries_within(block.counts, 0, min(length, len(block)), self._share(consumer))
        self.redelivery.taken(ledger_id, first, count)
        for start, end in self.cursor.unacknowledged(block.slice(0, count)):
            self._send(consumer, block, start, end)
        return True

    def _replay_block(self, start: Position, length: int) -> Block | None:
        """The entries to send again; None while they are fetched."""
        if self._replay is not None:
            (asked, block), self._replay = self._replay, None
            if asked == start:
                return block  # else something earlier was given back meanwhile
        if self._reading is not None:
            return None
        found = self.source.read_cached(start, length, self.config.read_batch_bytes)
        if found is None:
            self.fetch(start, length, partial(self._found_replay, start))
        return found

    def _found_replay(self, start: Position, block: Block) -> None:
        self._replay = start, block
        self.wake()

    def _send(self, consumer: Consumer, block: Block, first: int, last: int) -> None:
        counts = self.redelivery.counts(block.ledger_id, block.first_entry_id + first, last - first)
        if counts is not None:
            consumer.redeliveries.add(sum(block.counts[first:last]), 0)
        consumer.remember(block, first, last)
        consumer.deliver(block, first, last, counts)

    def _whose_turn(self) -> int | None:
        """Index of the next one in turn among the available consumers of the highest priority."""
        consumers = self.consumers
        best: tuple[int, int] | None = None
        for offset in range(len(consumers)):
            index = (self._next + offset) % len(consumers)
            if self._available(consumers[index]):
                rank = (consumers[index].priority, offset)
                if best is None or rank < best:
                    best = rank
        return None if best is None else (self._next + best[1]) % len(consumers)

    def _available(self, consumer: Consumer) -> bool:
        return consumer.permits > 0 and consumer.writable and not self._blocked(consumer)

    def _blocked(self, consumer: Consumer) -> bool:
        limit = self.config.max_unacked_per_consumer
        if limit <= 0:
            return False
        if consumer.blocked:
            consumer.blocked = consumer.unacked_messages > limit // 2
        else:
            consumer.blocked = consumer.unacked_messages >= limit
        self._held_back |= consumer.blocked
        return consumer.blocked

    def _subscription_blocked(self) -> bool:
        limit = self.config.max_unacked_per_subscription
        blocked = limit > 0 and sum(consumer.unacked_messages for consumer in self.consumers) >= limit
        self._held_back |= blocked
        return blocked

    def _share(self, consumer: Consumer) -> int:
        if len(self.consumers) == 1:
            return consumer.permits
        return min(consumer.permits, self.config.round_robin_messages)

    def _forget_anywhere(self, ledger_id: int, entry_id: int) -> None:
        for consumer in self.consumers:
            if consumer.forget(ledger_id, entry_id):
                return

    def _start_over(self) -> None:
        self.redelivery.clear()
        self._replay = None
        self.cursor.rewind()
        self.jump()
