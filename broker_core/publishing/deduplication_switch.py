"""Turns the deduplication of a topic on and off while producers are connected, and takes its snapshots.

The policy says whether it is on. What is due (turn it on, turn it off, take a snapshot) is done one step at a time. A
step that fails is tried again later; until then, no producer may join a topic that cannot turn its deduplication on.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from broker_core.errors import TopicFenced
from broker_core.publishing.deduplication_snapshot import SequenceSnapshot
from broker_core.rates.backoff import Backoff
from broker_core.storage.errors import StorageError
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.config.features import DeduplicationConfig
    from broker_core.publishing.deduplication import Deduplication
    from broker_core.publishing.producer import Producer

log = logging.getLogger(__name__)


class DeduplicationStatus(enum.Enum):
    """The names of Pulsar. The topic's stats tell only whether it is on (`deduplicationStatus`)."""

    DISABLED = "Disabled"
    RECOVERING = "Recovering"
    ENABLED = "Enabled"
    REMOVING = "Removing"
    FAILED = "Failed"


class DeduplicationSwitch(TopicPart):
    """The switch of one topic; small while deduplication is off."""

    __slots__ = (
        "_backoff",
        "_closed",
        "_config",
        "_connected",
        "_context",
        "_deduplication",
        "_failure",
        "_new_entries",
        "_retry_timer",
        "_snapshot",
        "_snapshot_due",
        "_snapshot_timer",
        "_switched",
        "_upkeep",
        "status",
    )

    def __init__(
        self,
        context: TopicContext,
        config: DeduplicationConfig,
        deduplication: Deduplication,
        connected: Mapping[str, Producer],
        switched: Callable[[], None],
    ) -> None:
        """`connected`: the topic's producers by name. `switched` is called when it is turned on or off."""
        self._context = context
        self._config = config
        self._deduplication = deduplication
        self._connected = connected
        self._switched = switched
        self.status = DeduplicationStatus.DISABLED
        self._snapshot = SequenceSnapshot(context.log, config.max_producers)
        self._new_entries = 0  # since the last snapshot
        self._snapshot_due = False
        self._snapshot_timer: asyncio.TimerHandle | None = None
        self._retry_timer: asyncio.TimerHandle | None = None
        self._backoff = Backoff()
        self._failure: Exception | None = None  # of the last attempt
        self._upkeep: asyncio.Task[None] | None = None
        self._closed = False
        deduplication.snapshots = self  # until this is closed

    # Snapshots

    def stored(self, entries: int) -> None:
        self._new_entries += entries
        if self._new_entries >= self._config.snapshot_entries:
            self._want_snapshot()
        elif self._snapshot_timer is None:
            self._arm_snapshot()

    def forgot(self) -> None:
        self._want_snapshot()

    def _arm_snapshot(self) -> None:
        seconds = self._context.policies.deduplication_snapshot_seconds
        if seconds > 0 and self._deduplication.enabled and not self._closed:
            self._snapshot_timer = asyncio.get_running_loop().call_later(seconds, self._want_snapshot)

    def _want_snapshot(self) -> None:
        self._snapshot_due = True
        self._start_due_work()

    async def take_snapshot(self) -> None:
        """Stores the sequence IDs now, if deduplication is on."""
        if self._deduplication.enabled:
            await self._take_snapshot()

    async def _take_snapshot(self) -> None:
        entries, self._new_entries, self._snapshot_due = self._new_entries, 0, False
        if self._snapshot_timer is not None:
            self._snapshot_timer.cancel()
            self._snapshot_timer = None
        try:
            await self._snapshot.take(self._deduplication.ids, self._deduplication.chunks)
        except StorageError:
            self._new_entries += entries
            self._snapshot_due = True
            raise

    # Turning on and off

    @property
    def _is_missing(self) -> bool:
        """Whether it cannot be turned on: duplicates would be stored."""
        is_wanted = self._context.policies.deduplication_enabled
        return self._failure is not None and is_wanted and not self._deduplication.enabled

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
        elif SequenceSnapshot.exists(self._context.log):
            await self._disable()

    async def policies_changed(self) -> None:
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
        is_wanted = self._context.policies.deduplication_enabled
        is_off = self.status is DeduplicationStatus.DISABLED
        if self.status is DeduplicationStatus.REMOVING or not (is_wanted or is_off):
            return self._disable
        if is_wanted and not self._deduplication.enabled:
            return self._enable
        return self._take_snapshot if self._snapshot_due and self._deduplication.enabled else None

    def _failed(self, error: Exception) -> None:
        """Disconnects the producers, which come back, and are told to wait if it is still off."""
        self._failure = error
        if self._is_missing:
            for producer in list(self._connected.values()):
                producer.disconnect()
        if not self._closed:
            loop = asyncio.get_running_loop()
            self._retry_timer = loop.call_later(self._backoff.next_seconds(), self._start_due_work)

    async def _enable(self) -> None:
        self.status, known = DeduplicationStatus.RECOVERING, self._deduplication
        try:
            known.forget_all()
            self._new_entries = await self._snapshot.restore(known.ids, known.chunks)
            self._set(on=True)  # before the cursor: what is published from here on is noted, and follows it
            await self._snapshot.begin()
        except (StorageError, OSError):
            self._set(on=False)
            self.status = DeduplicationStatus.FAILED
            raise
        known.restored()
        self.status = DeduplicationStatus.ENABLED

    async def _disable(self) -> None:
        self._set(on=False)
        self.status = DeduplicationStatus.REMOVING
        self._cancel_timers()
        self._deduplication.forget_all()
        self._new_entries = 0
        await self._snapshot.remove()
        self.status = DeduplicationStatus.DISABLED

    def _set(self, *, on: bool) -> None:
        self._deduplication.enabled = on
        self._switched()

    async def close(self) -> None:
        """Waits for running work; a last snapshot saves the next start from reading entries."""
        self._closed = True
        self._cancel_timers()
        self._deduplication.close()
        try:
            if self._upkeep is not None:
                await asyncio.wait([self._upkeep])
            if self._deduplication.enabled and self._new_entries:
                await self._take_snapshot()
        except (StorageError, OSError) as error:
            log.warning("deduplication of topic %s: cannot take the last snapshot: %s", self._context.name, error)
        finally:  # the two no longer hold each other, and are freed with the topic
            self._deduplication.snapshots = None

    def _cancel_timers(self) -> None:
        for timer in (self._snapshot_timer, self._retry_timer):
            if timer is not None:
                timer.cancel()
        self._snapshot_timer = self._retry_timer = None
