"""The one way out: entries from the log to consumers.

A dispatcher wakes on news (entries confirmed, permits, a redelivery, a drained socket, a finished read) and works
until it lacks one of them. All its work happens on the event loop between two awaits. A wake while one is due is free,
so callers need not ask whether it is needed.

Its parts: `EntryReader` reads, `DispatchBudget` says how many messages may go, and a subclass decides which consumer
gets which entry. docs/explanation/decisions/0006-dispatch.md says why only the decision is a subclass.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from broker_core.dispatch.allowance import DispatchBudget
from broker_core.dispatch.facts import NOTHING_HELD, DispatchFacts, HeldBack
from broker_core.dispatch.reader import EntryReader, Source

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.context import DispatchContext
    from broker_core.dispatch.hash_ranges import KeySharedMode
    from broker_core.dispatch.redelivery import EntryId
    from broker_core.dispatch.unacked_limits import UnackedLimits
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.storage.records.position import Position

STEPS_PER_WAKE = 64  # then the other topics get the loop


class Dispatcher(ABC):
    def __init__(
        self, cursor: ManagedCursor, source: Source, context: DispatchContext, unacked: UnackedLimits | None = None
    ) -> None:
        """`unacked` limits unacknowledged messages where each consumer has its own."""
        self.cursor = cursor
        self.context = context
        self.config = context.config
        self.consumers: list[Consumer] = []
        self.reader = EntryReader(cursor, source, context, self.wake)
        self.budget = DispatchBudget(unacked)
        self.read_markers: Callable[[Block], None] | None = None
        """Gets the blocks with markers, if a replicated subscription needs them."""
        self.closed = False
        self._loop = asyncio.get_running_loop()
        self._wake_due = False

    # -- when it works

    def wake(self) -> None:
        """Has the dispatcher work soon, once for any number of calls, because there may be something to do."""
        if not self._wake_due and not self.closed:
            self._wake_due = True
            self._loop.call_soon(self._run)

    def work(self) -> None:
        """Works at once, unlike `wake`: for news that comes from the loop itself, outside any other call."""
        if not self._wake_due:
            self._run()

    @property
    def is_due(self) -> bool:
        """Whether it will work in this iteration of the loop or the next."""
        return self._wake_due

    def _run(self) -> None:
        self._wake_due = False
        if self.closed:
            return
        for _ in range(STEPS_PER_WAKE):
            if not self.step():
                return
        self.wake()

    @abstractmethod
    def step(self) -> bool:
        """Delivers one block or part of one; False when there is nothing to do now."""

    def close(self) -> None:
        self.closed = True
        self.budget.rates = None  # they hold this dispatcher, to wake it
        self.reader.close()

    # -- events

    def add(self, consumer: Consumer) -> None:
        self.consumers.append(consumer)

    def remove(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)

    def first_flow(self, consumer: Consumer) -> None:  # noqa: B027  # matters to Failover only
        """The consumer asks for messages for the first time."""

    @abstractmethod
    def redeliver(self, consumer: Consumer, positions: Sequence[EntryId] | None) -> None:
        """The consumer gives back those positions, or (None) everything it has."""

    def acknowledged(  # noqa: B027  # matters only where each entry is pending at one consumer
        self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]
    ) -> None:
        """The consumer acknowledged whole entries one by one, its own or those of another consumer."""

    def released(self, entries: Sequence[EntryId]) -> None:
        """A transaction that acknowledged these entries, which were sent before, is aborted: sends them again.

        Where a consumer gets everything in order, it gets all that follows again as well, as in Pulsar.
        """
        self.rewind()

    def forget_up_to(self, position: Position) -> None:  # noqa: B027  # as `acknowledged`
        """Everything up to the position was acknowledged at once (it expired or was skipped)."""

    def jump(self) -> None:
        """Forgets what was read ahead, because the cursor's read position was moved (rewind, seek)."""
        self.reader.jump()
        self.wake()

    def rewind(self) -> None:
        """Reads again from the first entry that is not acknowledged."""
        self.reader.rewind()
        self.wake()

    # -- state

    @property
    def active_consumer(self) -> Consumer | None:
        """The only consumer that gets messages; None where several do."""
        return None

    def conflicting_consumers(self, mode: KeySharedMode) -> list[Consumer]:
        """The consumers that must leave before another consumer of this subscription type and that mode can join."""
        return []

    def divides_keys_like(self, mode: KeySharedMode) -> bool:
        """Whether it divides keys among consumers in that mode, so that it can tell whether any are left."""
        return False

    @property
    def waiting(self) -> int:
        """Entries that were given back or could not be sent, and that go out before new ones."""
        return 0

    def held_back(self) -> HeldBack:
        """The entries that it does not deliver now; only where entries are sent one by one."""
        return NOTHING_HELD

    @property
    def throttled(self) -> Mapping[str, int]:
        """How often a dispatch rate left nothing to send, by Pulsar's name of the counter."""
        rates = self.budget.rates
        return {} if rates is None else rates.events

    def facts(self) -> DispatchFacts:
        return DispatchFacts(held=self.held_back(), throttled=dict(self.throttled))

    # -- for the policies

    def send(
        self, consumer: Consumer, block: Block, first: int, last: int, redeliveries: Sequence[int] | None = None
    ) -> int:
        """Sends entries `first` .. `last` - 1 of the block to the consumer; returns the number of messages."""
        messages = consumer.deliver(block, first, last, redeliveries)
        rates = self.budget.rates
        if rates is not None:
            rates.dispatched(messages, block.ends[last - 1] - block.starts[first], last - first)
        return messages

    def unacknowledged(self, block: Block) -> list[tuple[int, int]]:
        """Index ranges [a, b) of the block's entries that a consumer may get: not acknowledged, and no markers."""
        ranges = self.cursor.unacknowledged(block)
        if not self.context.special.has_markers or all(block.counts):
            return ranges
        rows = [row for first, last in ranges for row in range(first, last)]
        markers = [block.first_entry_id + row for row in rows if not block.counts[row]]
        if self.cursor.acknowledge(block.ledger_id, markers):
            self.context.passed_over(self.cursor.name)
        if self.read_markers is not None:
            self.read_markers(block)
        return [(row, row + 1) for row in rows if block.counts[row]]


def entries_within(counts: Sequence[int], first: int, last: int, messages: int) -> int:
    """How many entries of `counts[first:last]` fill `messages` permits; at least one if there is any."""
    if messages >= last - first and sum(counts[first:last]) <= messages:
        return last - first
    taken = 0
    for index in range(first, last):
        taken += counts[index]
        if taken >= messages:
            return index - first + 1
    return last - first
