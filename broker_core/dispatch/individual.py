"""The common part of Shared and Key_Shared: entries are sent, given back, and acknowledged one by one.

An entry is pending at its consumer until it is acknowledged. An entry that is given back, or was pending at a consumer
that left, waits to be sent again, and goes before new entries in order of position. When the last consumer leaves, the
dispatcher forgets everything else: the next one starts with all entries that are not acknowledged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.delayed.tracker import DelayedTracker
from broker_core.dispatch.dispatcher import Dispatcher
from broker_core.dispatch.facts import NOTHING_HELD, HeldBack
from broker_core.dispatch.redelivery import EntryId, RedeliveryCounts
from broker_core.dispatch.unacked_limits import UnackedLimits

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.context import DispatchContext
    from broker_core.dispatch.reader import Source
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.storage.records.position import Position

DUE_AT_A_TIME = 2000  # delayed entries that are taken before other topics get the loop


class IndividualDispatcher(Dispatcher):
    def __init__(self, cursor: ManagedCursor, source: Source, context: DispatchContext) -> None:
        self.unacked = UnackedLimits(context.unacked, context.in_force)
        super().__init__(cursor, source, context, self.unacked)
        self.redelivery_counts = RedeliveryCounts()
        self.delays: DelayedTracker | None = None  # from the first entry with a delivery time on

    # -- what the policy adds

    @abstractmethod
    def due(self, entries: Iterable[EntryId]) -> None:
        """Takes entries that are due: they go before new entries and do not count as redelivered."""

    @abstractmethod
    def give_back(self, entries: Iterable[EntryId]) -> None:
        """Takes entries that are no longer pending at a consumer; they wait to be sent again."""

    @abstractmethod
    def no_longer_waiting(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Forgets entries that were acknowledged, whether they were pending or waiting."""

    @abstractmethod
    def forget_waiting(self, position: Position | None) -> None:
        """Forgets pending and waiting entries up to the position (None: all of them)."""

    # -- consumers come and go

    def add(self, consumer: Consumer) -> None:
        if not self.consumers:
            self.start_over()
        super().add(consumer)

    def remove(self, consumer: Consumer) -> None:
        super().remove(consumer)
        if self.consumers:
            self.give_back(consumer.pending)
        else:
            self.start_over()
        consumer.pending.clear()
        self.unacked.report(self.consumers)
        self.wake()

    def start_over(self) -> None:
        """Lets the next consumer get everything that is not acknowledged, as if nothing had been sent before."""
        self.redelivery_counts.clear()
        self.forget_waiting(None)
        self._forget_delays()
        self.reader.forget_replay()
        self.rewind()

    def _forget_delays(self) -> None:
        """Forgets the delayed entries: a reader that starts again finds those that are not due."""
        if self.delays is not None:
            self.delays.close()
            self.delays = None

    def close(self) -> None:
        super().close()
        self._forget_delays()

    # -- entries come back

    def _run(self) -> None:
        delays = self.delays
        if delays is not None and delays.has_due and self.consumers:
            self.due(delays.take_due(DUE_AT_A_TIME))
        super()._run()

    def redeliver(self, consumer: Consumer, positions: Sequence[EntryId] | None) -> None:
        given_back = list(consumer.pending) if positions is None else positions
        held = [entry for entry in given_back if consumer.forget(*entry)]
        self.redelivery_counts.trim(self.cursor.mark_delete)
        self.redelivery_counts.add(held)
        self.give_back(held)
        self.unacked.report(self.consumers)
        self.wake()

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """The entries are no longer pending, also where another consumer than their holder acknowledged them."""
        elsewhere = consumer.forget_all(ledger_id, entry_ids)
        for other in self.consumers if elsewhere else ():
            if other is not consumer:
                elsewhere = other.forget_all(ledger_id, elsewhere)
        if elsewhere and self.delays is not None:
            self.delays.discard(ledger_id, elsewhere)
        self.no_longer_waiting(ledger_id, entry_ids)
        self.unacked.report(self.consumers)
        if self.unacked.held_back:
            self.unacked.held_back = False
            self.wake()

    def released(self, entries: Sequence[EntryId]) -> None:
        if not self.consumers:
            return  # the next one starts over
        for ledger_id, entry_id in entries:
            for consumer in self.consumers:
                consumer.forget(ledger_id, entry_id)  # it may have other messages of the batch
            self.no_longer_waiting(ledger_id, [entry_id])
        self.redelivery_counts.add(entries)
        self.due(entries)
        self.unacked.report(self.consumers)

    def forget_up_to(self, position: Position) -> None:
        for consumer in self.consumers:
            consumer.pending.discard_up_to(*position)
        self.redelivery_counts.forget_up_to(position)
        self.forget_waiting(position)
        if self.delays is not None:
            self.delays.discard_up_to(position)
        self.unacked.report(self.consumers)

    # -- entries go out

    def new_block(self, max_entries: int) -> Block | None:
        """Like `EntryReader.new_block`; None also while enough entries are held back until their delivery time."""
        if self.delays is not None and self.delays.pauses_reading():
            return None
        return self.reader.new_block(max_entries)

    def deliverable(self, block: Block) -> list[tuple[int, int]]:
        """Index ranges [a, b) of a block of new entries that may be sent: not acknowledged and not delayed."""
        ranges = self.unacknowledged(block)
        if not block.delivery_times:
            return ranges
        if self.delays is None:
            self.delays = DelayedTracker(self.context.delayed, self.context.in_force, self.cursor, self.wake)
        return [held for first, last in ranges for held in self.delays.hold_back(block, first, last)]

    def send_pending(self, consumer: Consumer, block: Block, first: int, last: int) -> None:
        """Sends entries, which are pending at the consumer from now on."""
        counts = self.redelivery_counts.of(block.ledger_id, block.first_entry_id + first, last - first)
        if counts is not None:
            consumer.redeliveries.add(sum(block.counts[first:last]), 0)
        consumer.remember(block, first, last)
        self.send(consumer, block, first, last, counts)
        if self.unacked.broker is not None:
            self.unacked.report(self.consumers)

    def held_back(self) -> HeldBack:
        delays, waiting, blocked = self.delays, self.waiting, self.unacked.blocked
        if delays is None:
            return HeldBack(waiting, blocked) if waiting or blocked else NOTHING_HELD
        return HeldBack(waiting, blocked, delays.count, delays.memory)
