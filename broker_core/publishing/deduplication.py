"""Deduplication: a message that a producer sends again is kept once (Pulsar docs, "Message deduplication").

`sequence_ids` and, within a message, `open_chunks` say which messages are new. This module handles the messages being
written, and the producers to forget. `deduplication_switch` turns it on and off and takes its snapshots.

A duplicate of a message that is still being written is not stored either: it is answered when the first one is durable,
and fails with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Protocol

from broker_core.publishing.open_chunks import OpenChunks
from broker_core.publishing.replication import is_replicator
from broker_core.publishing.sequence_ids import NO_PRODUCER, NONE, Part, SequenceIds

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.features import DeduplicationConfig
    from broker_core.publishing.replication import Origin
    from broker_core.storage.errors import StorageError
    from broker_core.storage.records.position import Position
    from broker_core.topic_log import PublishDone
    from broker_core.wire.send import SendRun


class Pending(Protocol):
    """A run that waits for its answer."""

    run: SendRun

    def done(self, first: Position | None, error: StorageError | None) -> None:
        """The run is on disk from that position on, or it failed."""

    def repeated(self, error: StorageError | None) -> None:
        """The run is a duplicate; with an error, a message published before it failed."""


class Snapshots(Protocol):
    """Takes the snapshots, and counts the entries that they do not cover."""

    def stored(self, entries: int) -> None:
        """Counts entries that are on disk. Hot path: called once per run."""

    def forgot(self) -> None:
        """Producers were forgotten."""


Append = Callable[["SendRun", "PublishDone"], None]


class Write:
    """A run that is being written, with its waiters: duplicates, in order, and new producers."""

    __slots__ = ("_deduplication", "_pending", "chunk", "highest", "name", "repetitions", "run", "waiters")

    def __init__(self, deduplication: Deduplication, pending: Pending, name: str, highest: int | None) -> None:
        self._deduplication = deduplication
        self._pending = pending
        self.name = name
        self.highest = highest  # sequence ID; None: a chunk that does not end its message
        self.run = pending.run
        self.chunk = pending.run.chunk
        self.repetitions: list[Pending] = []
        self.waiters: list[asyncio.Future[None]] = []

    def done(self, first: Position | None, error: StorageError | None) -> None:
        self._deduplication.written(self, first)
        self._pending.done(first, error)
        for repetition in self.repetitions:
            repetition.repeated(error)
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)


class Deduplication:
    """The topic's record of its producers' messages, small while deduplication is off."""

    __slots__ = (
        "_clock",
        "_closed",
        "_config",
        "_connected",
        "_forget_timer",
        "_inactive",
        "_last_write",
        "chunks",
        "enabled",
        "ids",
        "snapshots",
    )

    def __init__(self, clock: Clock, config: DeduplicationConfig, connected: Container[str]) -> None:
        """`connected`: the names of the topic's producers."""
        self._clock = clock
        self._config = config
        self._connected = connected
        self.enabled = False
        self.ids = SequenceIds()
        self.chunks = OpenChunks()
        self.snapshots: Snapshots | None = None
        self._last_write: Write | None = None
        self._inactive: dict[str, float] = {}  # disconnected producers, and since when; the oldest first
        self._forget_timer: asyncio.TimerHandle | None = None
        self._closed = False

    # Publishing

    def split(self, name: str, run: SendRun) -> list[Part]:
        """Splits a run of the producer `name` into parts that are all new, or all stored or being written already."""
        if self._knows_chunk(name, run):
            return [Part(0, 1, is_new=False)]
        span = run.sequence_span
        if span is not None and span[0] > self.ids.last(name):
            return [Part(0, len(run), is_new=True)]
        return self.ids.split(name, run.sequence_ids, run.highest_sequence_ids)

    def split_copies(self, name: str, run: SendRun, origins: Sequence[Origin]) -> list[Part]:
        """Like `split`, for a replicator's copies of messages that `name` published in another cluster.

        Entries of `NO_PRODUCER` have no number: all of them are new.
        """
        if name == NO_PRODUCER:
            return [Part(0, len(run), is_new=True)]
        if self._knows_chunk(name, run):
            return [Part(0, 1, is_new=False)]
        return self.ids.split(name, [origin.lowest for origin in origins], [origin.highest for origin in origins])

    def _knows_chunk(self, name: str, run: SendRun) -> bool:
        return run.chunk is not None and (name, run.chunk) in self.chunks

    def publish(self, name: str, pending: Pending, highest: int, append: Append) -> None:
        """Passes new messages, up to the sequence ID `highest`, to `append`.

        If it raises a `BrokerError`, they count as never pushed.
        """
        is_numbered = name != NO_PRODUCER and pending.run.ends_message
        write = Write(self, pending, name, highest if is_numbered else None)
        append(pending.run, write.done)
        self._last_write = write
        if write.highest is not None:
            self.ids.push(name, write.highest)
        if write.chunk is not None:
            self.chunks.push(name, write.chunk)

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
            self.ids.fail(write.name)
            self.chunks.fail(write.name)
            return
        if write.chunk is not None:
            self.chunks.persist(write.name, write.chunk, first)
        elif self.chunks:
            self.chunks.overtake(write.name)
        if write.highest is not None:
            self.ids.persist(write.name, write.highest)
        if write.name not in self._connected:  # a replicator's copy, or the producer has left in the meantime
            self._inactive.pop(write.name, None)
            self.producer_left(write.name)
        if self.snapshots is not None:
            self.snapshots.stored(len(write.run))

    # Producers

    async def last_sequence_id(self, name: str) -> int:
        """The highest sequence ID of a producer, after its pending writes; `NONE` if it has none."""
        if self._last_write is not None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._last_write.waiters.append(waiter)
            await waiter
        return self.ids.last(name) if self.enabled else NONE

    def producer_joined(self, name: str) -> None:
        self._inactive.pop(name, None)

    def producer_left(self, name: str) -> None:
        """Remembers the producer for a while; above the maximum number, those that left first are forgotten first."""
        if is_replicator(name) or not (name in self.ids or name in self.chunks.names):
            return  # a cluster may be away for longer than any producer, and sends again what was not confirmed before
        self._inactive[name] = self._clock.monotonic()
        self._arm_forgetting()
        surplus = min(len(self.ids) - self._config.max_producers, len(self._inactive))
        if surplus > 0:
            self._forget(list(self._inactive)[:surplus])

    def _arm_forgetting(self) -> None:
        if self._inactive and self._forget_timer is None and not self._closed:
            oldest = next(iter(self._inactive.values()))
            due = oldest + self._config.inactive_minutes * 60 - self._clock.monotonic()
            self._forget_timer = asyncio.get_running_loop().call_later(max(0.0, due), self.forget_inactive)

    def forget_inactive(self) -> None:
        """Forgets the producers that have been gone for too long; called by the timer for the first of them."""
        self._stop_timer()
        since = self._clock.monotonic() - self._config.inactive_minutes * 60
        self._forget([name for name, left in self._inactive.items() if left <= since])
        self._arm_forgetting()

    def _forget(self, names: list[str]) -> None:
        self.ids.forget(names)
        for name in names:
            self.chunks.forget(name)
            del self._inactive[name]
        if names and self.snapshots is not None:
            self.snapshots.forgot()

    def forget_all(self) -> None:
        """Forgets everything, as at the start."""
        self.ids, self.chunks = SequenceIds(), OpenChunks()
        self._inactive = {}
        self._stop_timer()

    def restored(self) -> None:
        """Call it when the IDs and chunks are those on disk. Producers that are not connected count as just gone."""
        now = self._clock.monotonic()
        known = {**self.ids.persisted, **dict.fromkeys(self.chunks.names)}
        self._inactive = {name: now for name in known if name not in self._connected and not is_replicator(name)}
        self._arm_forgetting()

    def close(self) -> None:
        """Forgets no more producers."""
        self._closed = True
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._forget_timer is not None:
            self._forget_timer.cancel()
            self._forget_timer = None
