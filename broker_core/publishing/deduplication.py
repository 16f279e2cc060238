"""Deduplication: of messages that a producer sends again, one is kept (Pulsar docs, "Message deduplication").

`sequence_ids` and, within a message, `open_chunks` say which messages are new; `deduplication_snapshot` makes that
survive a restart. This module handles the messages being written, the times of snapshots, the producers to forget, and
turning deduplication on and off while producers are connected.

A duplicate of a message that is still being written is not stored either: it is answered when the first one is durable,
and fails with it.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from broker_core.errors import TopicFenced
from broker_core.publishing.deduplication_snapshot import Snapshot
from broker_core.publishing.open_chunks import OpenChunks
from broker_core.publishing.replication import is_replicator
from broker_core.publishing.sequence_ids import NO_PRODUCER, NONE, Part, SequenceIds
from broker_core.rates.backoff import Backoff
from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from broker_core.config.features import DeduplicationConfig
    from broker_core.publishing.replication import Origin
    from broker_core.storage.position import Position
    from broker_core.topic_context import TopicContext
    from broker_core.wire.send import SendRun

log = logging.getLogger(__name__)


class DeduplicationStatus(enum.Enum):
    """Names as in the topic's stats (`deduplicationStatus`)."""

    DISABLED = "Disabled"
    RECOVERING = "Recovering"
    ENABLED = "Enabled"
    REMOVING = "Removing"
    FAILED = "Failed"


class Pending(Protocol):
    """A run that waits for its answer."""

    run: SendRun

    def done(self, first: Position | None, error: StorageError | None) -> None:
        """The run is on disk from that position on, or it failed."""

    def repeated(self, error: StorageError | None) -> None:
        """The run is a duplicate; with an error, a message published before it failed."""


class Connected(Protocol):
    """A producer of the topic."""

    def disconnect(self) -> None:
        """Closes it from the broker's side; its client comes back."""


Append = Callable[["SendRun", Callable[["Position | None", "StorageError | None"], None]], None]


class Write:
    """A run that is being written, and who waits for it: duplicates, in order, and new producers."""

    __slots__ = ("_deduplication", "_pending", "chunk", "highest", "name", "repetitions", "waiters")

    def __init__(self, deduplication: Deduplication, pending: Pending, name: str, highest: int | None) -> None:
        self._deduplication = deduplication
        self._pending = pending
        self.name = name
        self.highest = highest  # sequence ID; None: a chunk that does not end its message
        self.chunk = pending.run.chunk
        self.repetitions: list[Pending] = []
        self.waiters: list[asyncio.Future[None]] = []

    @property
    def entries(self) -> int:
        return len(self._pending.run)

    def done(self, first: Position | None, error: StorageError | None) -> None:
        self._deduplication.written(self, first)
        self._pending.done(first, error)
        for repetition in self.repetitions:
            repetition.repeated(error)
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)


class Deduplication:
    """Deduplication of one topic, small while it is off. Turning it on or off tells the topic (`switched`)."""

    __slots__ = (
        "_backoff",
        "_chunks",
        "_closed",
        "_config",
        "_connected",
        "_context",
        "_failure",
        "_forget_timer",
        "_ids",
        "_inactive",
        "_last_write",
        "_new_entries",
        "_retry_timer",
        "_snapshot",
        "_snapshot_due",
        "_snapshot_timer",
        "_switched",
        "_upkeep",
        "enabled",
        "status",
    )

    def __init__(
        self,
        context: TopicContext,
        config: DeduplicationConfig,
        connected: Mapping[str, Connected],
        switched: Callable[[], None],
    ) -> None:
        """`connected`: the topic's producers by name. `switched` is called when it is turned on or off."""
        self._context = context
        self._config = config
        self._connected = connected
        self._switched = switched
        self.enabled = False
        self.status = DeduplicationStatus.DISABLED
        self._ids = SequenceIds()
        self._chunks = OpenChunks()
        self._snapshot = Snapshot(context.log, self._config.max_producers)
        self._last_write: Write | None = None
        self._inactive: dict[str, float] = {}  # disconnected producers, and since when; the oldest first
        self._new_entries = 0  # since the last snapshot
        self._snapshot_due = False
        self._snapshot_timer: asyncio.TimerHandle | None = None
        self._forget_timer: asyncio.TimerHandle | None = None
        self._retry_timer: asyncio.TimerHandle | None = None
        self._backoff = Backoff()
        self._failure: Exception | None = None  # of the last attempt
        self._upkeep: asyncio.Task[None] | None = None
        self._closed = False

    # Publishing

    def split(self, name: str, run: SendRun) -> list[Part]:
        """Splits a run of the producer `name` into parts that are all new, or all stored or being written already."""
        if self._knows_chunk(name, run):
            return [Part(0, 1, is_new=False)]
        span = run.sequence_span
        if span is not None and span[0] > self._ids.last(name):
            return [Part(0, len(run), is_new=True)]
        return self._ids.split(name, run.sequence_ids, run.highest_sequence_ids)

    def split_copies(self, name: str, run: SendRun, origins: Sequence[Origin]) -> list[Part]:
        """As `split`, for a replicator's copies of what `name` published in another cluster.

        Entries of `NO_PRODUCER` have no number: all of them are new.
        """
        if name == NO_PRODUCER:
            return [Part(0, len(run), is_new=True)]
        if self._knows_chunk(name, run):
            return [Part(0, 1, is_new=False)]
        return self._ids.split(name, [one.lowest for one in origins], [one.highest for one in origins])

    def _knows_chunk(self, name: str, run: SendRun) -> bool:
        return run.chunk is not None and (name, run.chunk) in self._chunks

    def publish(self, name: str, pending: Pending, highest: int, append: Append) -> None:
        """Passes new messages, up to the sequence ID `highest`, to `append`.

        If it raises a `BrokerError`, they count as never pushed.
        """
        is_numbered = name != NO_PRODUCER and pending.run.ends_message
        write = Write(self, pending, name, highest if is_numbered else None)
        append(pending.run, write.done)
        self._last_write = write
        if write.highest is not None:
            self._ids.push(name, write.highest)
        if write.chunk is not None:
            self._chunks.push(name, write.chunk)

    def repeat(self, pending: Pending) -> None:
        """Answers duplicates, after everything that was published before them."""
        if self._last_write is None:
            pending.repeated(None)
        else:
            self._last_write.repetitions.append(pending)

    def written(self, write: Write, first: Position | None) -> None:
        """Ends a `Write`: on disk from `first` on, or failed.

        One that was pushed while deduplication was on counts even if it is off now.
        """
        if write is self._last_write:
            self._last_write = None
        if first is None:
            self._ids.fail(write.name)
            self._chunks.fail(write.name)
            return
        if write.chunk is not None:
            self._chunks.persist(write.name, write.chunk, first)
        elif self._chunks:
            self._chunks.overtake(write.name)
        if write.highest is not None:
            self._ids.persist(write.name, write.highest)
        if write.name not in self._connected:  # a replicator's copy, or the producer has left in the meantime
            self._inactive.pop(write.name, None)
            self.producer_left(write.name)
        self._new_entries += write.entries
        if self._new_entries >= self._config.snapshot_entries:
            self._want_snapshot()
        elif self._snapshot_timer is None:
            self._arm_snapshot()

    # Producers

    async def last_sequence_id(self, name: str) -> int:
        """The highest sequence ID of a producer, after its pending writes; `NONE` if it has none."""
        if self._last_write is not None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._last_write.waiters.append(waiter)
            await waiter
        return self._ids.last(name) if self.enabled else NONE

    def producer_joined(self, name: str) -> None:
        self._inactive.pop(name, None)

    def producer_left(self, name: str) -> None:
        """Remembers the producer for a while; above the maximum number, those that left first are forgotten first."""
        if is_replicator(name) or not (name in self._ids or name in self._chunks.names):
            return  # a cluster may be away for longer than any producer, and sends again what was not confirmed before
        self._inactive[name] = self._context.clock.monotonic()
        self._arm_forgetting()
        surplus = min(len(self._ids) - self._config.max_producers, len(self._inactive))
        if surplus > 0:
            self._forget(list(self._inactive)[:surplus])

    def _arm_forgetting(self) -> None:
        if self._inactive and self._forget_timer is None and not self._closed:
            oldest = next(iter(self._inactive.values()))
            due = oldest + self._config.inactive_minutes * 60 - self._context.clock.monotonic()
            self._forget_timer = asyncio.get_running_loop().call_later(max(0.0, due), self.forget_inactive)

    def forget_inactive(self) -> None:
        """Forgets the producers that have been gone for too long; called by the timer for the first of them."""
        if self._forget_timer is not None:
            self._forget_timer.cancel()
            self._forget_timer = None
        since = self._context.clock.monotonic() - self._config.inactive_minutes * 60
        self._forget([name for name, left in self._inactive.items() if left <= since])
        self._arm_forgetting()

    def _forget(self, names: list[str]) -> None:
        self._ids.forget(names)
        for name in names:
            self._chunks.forget(name)
            del self._inactive[name]
        if names:
            self._want_snapshot()

    # Snapshots

    def _arm_snapshot(self) -> None:
        seconds = self._context.policies.deduplication_snapshot_seconds
        if seconds > 0 and self.enabled and not self._closed:
            self._snapshot_timer = asyncio.get_running_loop().call_later(seconds, self._want_snapshot)

    def _want_snapshot(self) -> None:
        self._snapshot_due = True
        self._start_due_work()

    async def take_snapshot(self) -> None:
        """Stores the sequence IDs now, if deduplication is on."""
        if self.enabled:
            await self._take_snapshot()

    async def _take_snapshot(self) -> None:
        entries, self._new_entries, self._snapshot_due = self._new_entries, 0, False
        if self._snapshot_timer is not None:
            self._snapshot_timer.cancel()
            self._snapshot_timer = None
        try:
            await self._snapshot.take(self._ids, self._chunks)
        except StorageError:
            self._new_entries += entries
            self._snapshot_due = True
            raise

    # Turning on and off

    @property
    def _is_missing(self) -> bool:
        """Whether it cannot be turned on: duplicates would be stored."""
        return self._failure is not None and self._context.policies.deduplication_enabled and not self.enabled

    def check_publishable(self) -> None:
        """Raises `TopicFenced` while it cannot be turned on."""
        if self._is_missing:
            raise TopicFenced(
                f"Topic {self._context.name} cannot turn on its deduplication: {self._failure}; try again later"
            )

    async def load(self) -> None:
        """Applies the policy before the topic serves. Raises StorageError if the sequence IDs cannot be read."""
        if self._context.policies.deduplication_enabled:
            await self._enable()
        elif Snapshot.exists(self._context.log):
            await self._disable()

    def policies_changed(self) -> None:
        if self._snapshot_timer is not None:
            self._snapshot_timer.cancel()
            self._arm_snapshot()
        self._start_due_work()

    def _start_due_work(self) -> None:
        """Starts the due work, one step at a time. What fails is tried again later."""
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None
        if self._upkeep is None and not self._closed:
            self._upkeep = self._context.spawn(self._do_what_is_due())

    async def _do_what_is_due(self) -> None:
        try:
            while not self._closed and (work := self._due_work()) is not None:
                await work()
            self._failure = None
            self._backoff.reset()
        except (StorageError, OSError) as error:
            log.warning("deduplication of topic %s, trying again: %s", self._context.name, error)
            self._failed(error)
        finally:
            self._upkeep = None

    def _due_work(self) -> Callable[[], Awaitable[None]] | None:
        wanted = self._context.policies.deduplication_enabled
        is_off = self.status is DeduplicationStatus.DISABLED
        if self.status is DeduplicationStatus.REMOVING or not (wanted or is_off):
            return self._disable
        if wanted and not self.enabled:
            return self._enable
        return self._take_snapshot if self._snapshot_due and self.enabled else None

    def _failed(self, error: Exception) -> None:
        """Producers that are connected come back, and are told to wait if it is still off."""
        self._failure = error
        if self._is_missing:
            for producer in list(self._connected.values()):
                producer.disconnect()
        if not self._closed:
            loop = asyncio.get_running_loop()
            self._retry_timer = loop.call_later(self._backoff.next_seconds(), self._start_due_work)

    async def _enable(self) -> None:
        self.status = DeduplicationStatus.RECOVERING
        try:
            self._ids, self._chunks = SequenceIds(), OpenChunks()
            self._new_entries = await self._snapshot.restore(self._ids, self._chunks)
            self._switch(on=True)  # before the cursor: what is published from here on is noted, and follows it
            await self._snapshot.begin()
        except (StorageError, OSError):
            self._switch(on=False)
            self.status = DeduplicationStatus.FAILED
            raise
        now = self._context.clock.monotonic()
        known = {**self._ids.persisted, **dict.fromkeys(self._chunks.names)}
        self._inactive = {name: now for name in known if name not in self._connected and not is_replicator(name)}
        self._arm_forgetting()
        self.status = DeduplicationStatus.ENABLED

    async def _disable(self) -> None:
        self._switch(on=False)
        self.status = DeduplicationStatus.REMOVING
        self._cancel_timers()
        self._ids, self._chunks = SequenceIds(), OpenChunks()
        self._inactive, self._new_entries = {}, 0
        await self._snapshot.remove()
        self.status = DeduplicationStatus.DISABLED

    def _switch(self, *, on: bool) -> None:
        self.enabled = on
        self._switched()

    async def close(self) -> None:
        """Waits for running work; a last snapshot saves the next start from reading entries."""
        self._closed = True
        self._cancel_timers()
        if self._upkeep is not None:
            await asyncio.wait([self._upkeep])
        if self.enabled and self._new_entries:
            try:
                await self._take_snapshot()
            except (StorageError, OSError) as error:
                log.warning("deduplication of topic %s: cannot take the last snapshot: %s", self._context.name, error)

    def _cancel_timers(self) -> None:
        for timer in (self._snapshot_timer, self._forget_timer, self._retry_timer):
            if timer is not None:
                timer.cancel()
        self._snapshot_timer = self._forget_timer = self._retry_timer = None
