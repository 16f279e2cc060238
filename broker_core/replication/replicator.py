"""A replicator: sends the entries of one topic to one other cluster, in order, from a durable cursor.

One task does it: it connects, reads at the cursor's read position, sends copies, and waits for receipts, which
acknowledge the entries. Whatever goes wrong ends the connection's part: after a pause it begins again at the first
entry that is not acknowledged. Entries are never skipped because the other cluster refuses them; the reason is in the
stats, and the replicator keeps trying. Only entries that are not for the other cluster are passed over (`copies`).

The entries in flight are bounded by `replicationProducerQueueSize` entries, and those in memory by one block of
`replicationReadSizeBytes` for each connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING

from broker_core.backlog.backlogged import Backlogged
from broker_core.limits.rate_limit import RateLimit
from broker_core.rates.backoff import Backoff
from broker_core.rates.rate import Rate
from broker_core.replication.copies import Copy
from broker_core.replication.errors import CannotReplicate, ClosedThere, DeletedThere
from broker_core.replication.link import Link
from broker_core.replication.outgoing import Outgoing
from broker_core.storage.errors import StorageError
from broker_core.storage.records.block import EMPTY
from broker_core.storage.records.position import Position

if TYPE_CHECKING:
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.topic_context import TopicContext

log = logging.getLogger(__name__)

STUCK_SECONDS = 60.0  # seconds without a receipt while entries are in flight
HEADERS_BYTES = 256  # bytes of a SEND beyond its entry
FLUSH_SECONDS = 5.0
DRAIN_SECONDS = 2.0  # seconds for the last receipts when the topic is unloaded
DELETED_SECONDS = 60.0  # seconds until a deleted topic is checked again
CLOSED_SECONDS = 30.0
DELETED_PROPERTY = "pulsarctl.deleted-there"
"""Our own property of a replicator's cursor: the topic was deleted in the other cluster."""


class ReplicatorState(enum.Enum):
    """Names as in Pulsar's logs."""

    DISCONNECTED = "Disconnected"
    STARTING = "Starting"
    STARTED = "Started"
    TERMINATED = "Terminated"


class Replicator(Backlogged):
    """`moved` is called when its cursor passed entries, so that the topic may trim them."""

    durable = True
    has_reader = True
    dropped: Rate | None = None  # messages that were never sent, where the topic keeps none

    def __init__(
        self,
        context: TopicContext,
        services: ReplicationServices,
        cluster: str,
        cursor: ManagedCursor,
        moved: Callable[[], None],
    ) -> None:
        super().__init__(context.log, cursor, context.clock)
        self._passed = moved
        self.cluster = cluster
        self.state = ReplicatorState.DISCONNECTED
        self.last_error = ""
        self.sent = Rate(context.clock)
        self.connected_since_ms = 0
        self.last_receipt_ms = 0
        self.limit = RateLimit((), ())
        self.rate = (0, 0, 1)  # entries and bytes per period of seconds; 0 or less means unlimited
        self.link: Link | None = None
        self._context = context
        self._services = services
        self._remote = services.remotes.get(cluster)
        self._outgoing = Outgoing(context, services, cluster, self.expired)
        self._backoff = Backoff()
        self._blocked: CannotReplicate | None = None  # why the entry at the read position cannot be sent
        self._careful_until: Position | None = None  # entries up to this one are sent one at a time
        self._closing = False
        self._logged = ""  # the last reason that was logged since the last receipt
        self._closed_at = -CLOSED_SECONDS  # monotonic, when the other cluster closed the producer
        self._progress = 0.0  # monotonic, of the last receipt, or of what was sent since
        self._awake = asyncio.Event()
        self._again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def topic_name(self) -> str:
        return str(self._context.name)

    @property
    def is_connected(self) -> bool:
        return self.state is ReplicatorState.STARTED

    def rates(self) -> tuple[Rate, ...]:
        return self.sent, self.expired

    # -- life

    def start(self) -> None:
        self._remote.on_change.add(self.retry_now)
        self._task = self._context.spawn(self._run())

    def wake(self) -> None:
        """There are new entries, receipts, or tokens. Hot path: called once per group of confirmed entries."""
        self._awake.set()

    def offer(self, block: Block) -> None:
        """A topic without a log has received this; any other topic's entries are read from its log."""

    def retry_now(self) -> None:
        """Retry without waiting for the end of the pause: the cause may be gone."""
        self._blocked = None
        self._backoff.reset()
        self._again.set()
        self._awake.set()

    def _moved(self) -> None:
        if self.cursor.read_position <= self.cursor.mark_delete:
            self.cursor.rewind()
        self.retry_now()
        self._passed()

    async def close(self) -> None:
        """Stops sending. The cursor stays, with what was confirmed on disk."""
        self._remote.on_change.discard(self.retry_now)
        if self._task is not None:
            await self._drain(self._task)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.state = ReplicatorState.TERMINATED
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self.cursor.flush()

    async def _drain(self, task: asyncio.Task[None]) -> None:
        """Waits a moment for receipts: what is not confirmed would be sent again later."""
        self._closing = True
        if self.link is not None and self.link.producer.in_flight:
            self.wake()
            await asyncio.wait([task], timeout=DRAIN_SECONDS)

    async def _run(self) -> None:
        while not self._closing:
            pause = 0.0
            try:
                await self._replicate()
            except DeletedThere as error:
                self._failed(error)
                await self._remember_deletion()
                pause = DELETED_SECONDS
            except ClosedThere as error:
                self._failed(error)
                self._closed_at = self._context.clock.monotonic()
                pause = self._backoff.next_seconds()
            except (CannotReplicate, StorageError, OSError) as error:
                self._failed(error)
                pause = self._backoff.next_seconds()
            except Exception as error:  # a replicator must not stop for good because of one entry
                log.exception("topic %s: replication to cluster %s failed", self.topic_name, self.cluster)
                self._failed(error)
                pause = self._backoff.next_seconds()
            finally:
                self.state = ReplicatorState.DISCONNECTED
            self._again.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._again.wait()

    def _existed(self) -> bool:
        """Whether the topic was there a moment ago: clusters remove an unused one only after a minute."""
        just_closed = self._context.clock.monotonic() - self._closed_at < CLOSED_SECONDS
        return just_closed or DELETED_PROPERTY in self.cursor.properties

    async def _remember_deletion(self) -> None:
        """Remember the deletion, also over a restart of this cluster."""
        if DELETED_PROPERTY not in self.cursor.properties:
            with contextlib.suppress(StorageError):
                await self._log.set_cursor_properties(self.name, {DELETED_PROPERTY: "true"})

    def _failed(self, error: Exception) -> None:
        """Logs a reason once, not at each attempt."""
        reason = self.last_error = str(error) or type(error).__name__
        if reason != self._logged:
            self._logged = reason
            log.warning("topic %s: cannot replicate to cluster %s: %s", self.topic_name, self.cluster, reason)

    async def _replicate(self) -> None:
        """Connects and sends until something fails."""
        self.state = ReplicatorState.STARTING
        link = await Link.open(
            self._context, self._services, self._remote, self._confirmed, self.wake, existed=self._existed()
        )
        if DELETED_PROPERTY in self.cursor.properties:
            await self._log.set_cursor_properties(self.name, {})
        self.link, self.state = link, ReplicatorState.STARTED
        self.connected_since_ms, self.last_error = self._context.clock.wall_ms(), ""
        try:
            self.cursor.rewind()
            self._blocked = None
            await self._pump(link)
        finally:
            self.link = None
            self._careful_until = link.producer.refused_at or self._careful_until
            link.producer.close()

    # -- sending

    async def _pump(self, link: Link) -> None:
        while True:
            self._awake.clear()  # cleared before the checks, so that a later change wakes this loop
            link.producer.check()
            if self._closing and not link.producer.in_flight:
                return
            if self._blocked is not None and not link.producer.in_flight:
                raise self._blocked
            if await self._send_some(link):
                continue
            await self._wait(link)
            if link.producer.in_flight and self._context.clock.monotonic() - self._progress > STUCK_SECONDS:
                reason = f"{link.connection.url} confirmed nothing for {STUCK_SECONDS:.0f} s"
                link.connection.close_without_receipts(STUCK_SECONDS, reason)
                raise CannotReplicate(reason)

    async def _wait(self, link: Link) -> None:
        """Until `wake`, until the rate allows more, or until something in flight takes too long."""
        limits = [STUCK_SECONDS] if link.producer.in_flight else []
        if self.limit and self._has_more() and self._free(link) > 0:
            limits.append(self.limit.wait_seconds())  # 0 if a token has come since the check
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(limits, default=None)):
                await self._awake.wait()

    def _has_more(self) -> bool:
        return self.cursor.read_position <= self._log.visible_end

    def _room(self, link: Link) -> int:
        """The number of entries that may be sent now."""
        free = self._free(link)
        return min(free, self.limit.allowed(free, 1)) if self.limit and free > 0 else free

    def _free(self, link: Link) -> int:
        """The number of further entries that may be in flight, whatever the rate."""
        if self._blocked is not None or self._closing:
            return 0
        most = self._services.config.queue_size
        if self._careful_until is not None:  # what follows a refused entry would be stored again at each attempt
            most = 1
        return most - link.producer.in_flight

    async def _send_some(self, link: Link) -> bool:
        """Sends the next entries, if there are any and they may go; returns whether it made progress."""
        if self._room(link) <= 0 or not self._has_more():
            return False
        async with link.connection.writing:
            room = self._room(link)
            link.producer.check()
            if room <= 0:
                return False
            block = await self._read(room)
            if not len(block):
                return False
            chosen = await self._outgoing.choose(block, self.cursor.unacknowledged(block), link)
            self._blocked = chosen.blocked
            self.cursor.read_position = Position(block.ledger_id, chosen.end)
            if chosen.passed:
                self._acknowledge(block.ledger_id, chosen.passed)
            if copies := chosen.copies:
                if not link.producer.in_flight:
                    self._progress = self._context.clock.monotonic()
                self.limit.take(len(copies), sum(copy.size for copy in copies))
                await link.producer.send(copies)
            return True

    async def _read(self, room: int) -> Block:
        start, size = self.cursor.read_position, self._services.config.read_bytes
        block = self._log.read_cached(start, room, size)
        if block is None:
            block = await self._log.read(start, room, size)
        if self.cursor.read_position != start:
            return EMPTY  # the cursor was moved in the meantime
        return block if len(block) <= room else block.slice(0, room)

    # -- receipts

    def _confirmed(self, copies: list[Copy]) -> None:
        for ledger_id, same in groupby(copies, lambda copy: copy.position.ledger_id):
            self._acknowledge(ledger_id, [copy.position.entry_id for copy in same])
        if self._careful_until is not None and copies[-1].position >= self._careful_until:
            self._careful_until = None
        self.sent.add(sum(copy.messages for copy in copies), sum(copy.size for copy in copies))
        self.last_receipt_ms = self._context.clock.wall_ms()
        self._progress = self._context.clock.monotonic()
        self.last_error = self._logged = ""
        self._backoff.reset()
        self.wake()

    def _acknowledge(self, ledger_id: int, entry_ids: list[int]) -> None:
        self.cursor.acknowledge(ledger_id, entry_ids)
        self._passed()
