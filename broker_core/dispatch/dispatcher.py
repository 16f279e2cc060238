"""The one way out: entries from the log to consumers.

A dispatcher wakes on news (entries confirmed, permits, a redelivery, a drained socket, a finished read) and
then works until it lacks one of them. All its work happens on the event loop between two awaits; only a read
that misses the memory cache is awaited, by one task at a time, and what it brings is used on the next wake.
A wake while one is due is free, so callers need not ask whether it is needed.

What this leaves to subclasses is the policy: who gets what.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from broker_core.storage.errors import StorageError
from broker_core.storage.position import Position

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.context import DispatchContext
    from broker_core.storage.block import Block
    from broker_core.storage.cursor import ManagedCursor

log = logging.getLogger(__name__)

STEPS_PER_WAKE = 64  # then the other topics get the loop
READ_RETRY_SECONDS = 5.0  # after a read that failed


class Source(Protocol):
    """Where a dispatcher reads: the managed ledger, or the compacted view of it."""

    @property
    def last_confirmed(self) -> Position:
        """The last entry that may be read."""

    @property
    def has_trimmed(self) -> bool:
        """Whether it has entries that the log has no longer."""

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        """From memory, or None."""

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        """From memory or disk; skips what no longer exists; empty at the end."""


class DispatchLimit(Protocol):
    """The dispatch rates of a subscription."""

    def allowed(self, messages: int) -> int:
        """How many of that many messages may go now; after a 0 the dispatcher is woken when some may again."""

    def dispatched(self, messages: int, size: int, entries: int) -> None:
        """That many messages of so many bytes were sent, in so many entries."""


class Dispatcher(ABC):
    def __init__(self, cursor: ManagedCursor, source: Source, context: DispatchContext) -> None:
        self.cursor = cursor
        self.source = source
        self.context = context
        self.config = context.config
        self.consumers: list[Consumer] = []
        self.limit: DispatchLimit | None = None
        self.closed = False
        self._loop = asyncio.get_running_loop()
        self._wake_due = False
        self._reading: asyncio.Task[None] | None = None
        self._read_ahead: Block | None = None
        self._retry = asyncio.Event()
        self.read_failure = ""  # why the last read from disk failed
        self._epoch = 0  # raised when the read position jumps: a read begun before that is thrown away

    def wake(self) -> None:
        """There may be something to do; does it soon, once, whatever the number of calls."""
        if not self._wake_due and not self.closed:
            self._wake_due = True
            self._loop.call_soon(self._run)

    def work(self) -> None:
        """As `wake`, but at once. For news that come from the loop itself, with nobody in the middle of anything."""
        if not self._wake_due:
            self._run()

    @property
    def is_due(self) -> bool:
        """Whether it has a turn before it."""
        return self._wake_due

    def jump(self) -> None:
        """The cursor's read position was moved (rewind, seek): forget what was read ahead."""
        self._epoch += 1
        self._read_ahead = None
        self.wake()

    def rewind(self) -> None:
        """Reads again from the first entry that is not acknowledged."""
        self.cursor.rewind(also_trimmed=self.source.has_trimmed)
        self.jump()

    def close(self) -> None:
        self.closed = True
        self._read_ahead = None
        if self._reading is not None:
            self._reading.cancel()

    def add(self, consumer: Consumer) -> None:
        self.consumers.append(consumer)

    def remove(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)

    def first_flow(self, consumer: Consumer) -> None:  # noqa: B027  # only Failover has something to say
        """The consumer asks for messages for the first time."""

    @property
    def active_consumer(self) -> Consumer | None:
        """The only one that gets messages, where there is such a one."""
        return None

    @abstractmethod
    def redeliver(self, consumer: Consumer, positions: Sequence[tuple[int, int]] | None) -> None:
        """The consumer gives back those positions, or (None) everything it has."""

    def acknowledged(  # noqa: B027  # only who deals entries one by one keeps book of them
        self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]
    ) -> None:
        """Whole entries were acknowledged one by one, by that consumer, whoever has them."""

    def forget_up_to(self, position: Position) -> None:  # noqa: B027  # likewise
        """Everything up to the position was acknowledged at once (expired, skipped)."""

    @abstractmethod
    def step(self) -> bool:
        """Delivers something to someone; False when there is nothing to do now."""

    def _run(self) -> None:
        self._wake_due = False
        if self.closed:
            return
        for _ in range(STEPS_PER_WAKE):
            if not self.step():
                return
        self.wake()

    def allowed(self, permits: int) -> int:
        """How many of a consumer's permits may be used now."""
        return permits if self.limit is None or permits <= 0 else self.limit.allowed(permits)

    def send(
        self, consumer: Consumer, block: Block, first: int, last: int, redeliveries: Sequence[int] | None = None
    ) -> int:
        """Entries `first` .. `last` - 1 of the block leave for the consumer; returns their messages."""
        messages = consumer.deliver(block, first, last, redeliveries)
        if self.limit is not None:
            self.limit.dispatched(messages, block.ends[last - 1] - block.starts[first], last - first)
        return messages

    def next_block(self, max_entries: int) -> Block | None:
        """Entries at the read position; None when there are none, or while they are fetched from disk."""
        if self._read_ahead is not None:
            return self._read_ahead
        start = self.cursor.read_position
        if self._reading is not None or start > self.source.last_confirmed:
            return None
        max_entries = min(max_entries, self.config.read_batch_entries)
        block = self.source.read_cached(start, max_entries, self.config.read_batch_bytes)
        if block is None:
            self.fetch(start, self.config.read_batch_entries, self._found_ahead)
        elif not len(block):
            return None  # everything between the read position and the end was trimmed
        return block

    def _found_ahead(self, block: Block) -> None:
        if len(block):
            self._read_ahead = block
            self.wake()

    def unacknowledged(self, block: Block) -> list[tuple[int, int]]:
        """Index ranges [a, b) of the block's entries that a consumer may get: not acknowledged, and no markers."""
        ranges = self.cursor.unacknowledged(block)
        if not self.context.has_markers() or all(block.counts):
            return ranges
        rows = [row for first, last in ranges for row in range(first, last)]
        markers = [block.first_entry_id + row for row in rows if not block.counts[row]]
        self.cursor.acknowledge(block.ledger_id, markers)
        return [(row, row + 1) for row in rows if block.counts[row]]

    def consumed(self, block: Block, count: int) -> None:
        """The first `count` entries of the block are dealt with; the rest is kept for the next step."""
        self.cursor.read_position = Position(block.ledger_id, block.first_entry_id + count)
        if self._read_ahead is block:
            self._read_ahead = block.slice(count, len(block)) if count < len(block) else None

    def fetch(self, start: Position, max_entries: int, found: Callable[[Block], None]) -> None:
        """Reads in the background; `found` gets the block, unless the read position jumped meanwhile."""
        self._reading = self.context.spawn(self._read(start, max_entries, found, self._epoch))

    async def _read(self, start: Position, max_entries: int, found: Callable[[Block], None], epoch: int) -> None:
        block = None
        try:
            block = await self.source.read(start, max_entries, self.config.read_batch_bytes)
            self.read_failure = ""
        except (StorageError, OSError) as error:
            self._read_failed(start, str(error))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._retry.wait(), READ_RETRY_SECONDS)
        finally:
            self._reading = None
        if block is not None and epoch == self._epoch:
            found(block)
        else:
            self.wake()

    def retry_read(self) -> None:
        """What could not be read may be there now, or be passed over."""
        self._retry.set()

    def _read_failed(self, start: Position, reason: str) -> None:
        """Logged once: it is tried again until it works, the loss is accepted, or the subscription is moved."""
        self._retry.clear()
        failure = f"cannot read at {start}: {reason}"
        if failure != self.read_failure:
            self.read_failure = failure
            log.warning("subscription %s of %s %s", self.cursor.name, self.context.topic, failure)


def gone_before(block: Block, first: int, length: int) -> int:
    """Of `length` entries from `first` on, how many the log has no longer: a read found `block` in their place."""
    return min(length, block.first_entry_id - first) if len(block) and block.first_entry_id > first else length


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
