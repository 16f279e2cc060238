"""Compaction: the last value of each key, in its own ledger (Pulsar docs, "Topic compaction").

It makes two passes over the log up to its end at the start of the compaction. The first finds each key's last message,
or verifies the places that a job found (`given_places`); the second copies these messages, in order and with their IDs,
into a compacted ledger. When the new ledger is sealed and synced, the `__compaction` cursor moves to it in one step.
Until then, and after any crash, the old result stays intact. The cursor's mark-delete is the horizon: a compacted
reader reads the compacted ledger up to it and the log after it.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from broker_core.compaction.compacted_view import CompactedTopic, CompactedView
from broker_core.errors import BrokerError, Conflict, NotAllowed
from broker_core.names import COMPACTION_CURSOR
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.compaction.survivors import Survivors
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.log.compacted_ledger import CompactedLedger
    from broker_core.storage.records.block import Block
    from broker_core.topic_log import DurableLog
    from broker_core.wire.last_places import LastPlaces

log = logging.getLogger(__name__)

READ_ENTRIES = 500  # between two yields to other work of the broker
READ_BYTES = 256 * 1024
LEDGER_PROPERTY = "CompactedTopicLedger"  # Pulsar's name for the cursor's property


def _nothing() -> None:
    pass


class CompactionState(enum.Enum):
    """The names of the admin API's LongRunningProcessStatus."""

    NOT_RUN = "NOT_RUN"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    ERROR = "ERROR"


class Compaction(TopicPart):
    CURSOR = COMPACTION_CURSOR

    def __init__(
        self,
        context: TopicContext,
        at_a_time: asyncio.Semaphore,
        *,
        retain_null_key: bool,
        finished: Callable[[], None],
    ) -> None:
        """`at_a_time` is shared by all topics of the broker. `finished` is called after a success."""
        self._context = context
        self._at_a_time = at_a_time
        self._retain_null_key = retain_null_key
        self._finished = finished
        self._task: asyncio.Task[None] | None = None
        self._result = CompactedTopic()
        self.state = CompactionState.NOT_RUN
        self.last_error = ""
        self.last_duration_ms = 0
        self.last_removed = 0
        self.last_success_ms = 0
        self.last_failure_ms = 0
        self.last_start: float | None = None  # monotonic

    @property
    def cursor(self) -> ManagedCursor | None:
        """Its mark-delete is the last compacted position; None before the first compaction."""
        return self._result.cursor

    @property
    def compacted(self) -> CompactedLedger | None:
        return self._result.ledger

    @property
    def horizon(self) -> Position:
        """The last entry that the compacted ledger covers; `EARLIEST` before the first compaction."""
        return self._result.horizon

    async def load(self) -> None:
        """Opens the compacted ledger that the cursor of a former compaction names.

        If that fails, the topic still serves its log. Compacted readers and the next compaction try again; until then
        they fail, because what only the compacted ledger holds must be neither passed over nor replaced.
        """
        cursor = self._result.cursor = self._context.log.cursors.get(self.CURSOR)
        ledger_id = None if cursor is None else cursor.properties.get(LEDGER_PROPERTY)
        if ledger_id is None:
            return
        self._result.unopened = partial(self._open, int(ledger_id))
        try:
            await self._result.open()
        except (StorageError, OSError):
            log.error("%s: %s", self._context.name, self.last_error)

    async def _open(self, ledger_id: int) -> CompactedLedger | None:
        try:
            opened = await self._on_disk().open_compacted(ledger_id)
        except (StorageError, OSError) as error:
            self._note(CompactionState.ERROR, f"compacted ledger {ledger_id}: {error}")
            raise
        if opened is None:
            self._note(CompactionState.ERROR, f"compacted ledger {ledger_id} is lost")
        else:
            self._note(CompactionState.SUCCESS, "")
        return opened

    def _note(self, state: CompactionState, error: str) -> None:
        if not self.is_running:
            self.state, self.last_error = state, error

    async def skip_to(self, position: Position) -> None:
        """Treats everything up to the position as compacted, unless a compaction runs, which then reads it."""
        if self._result.cursor is not None and not self.is_running:
            self._result.cursor.expire_to(position)
            await self._result.cursor.flush()

    @property
    def is_running(self) -> bool:
        return self.state is CompactionState.RUNNING

    @property
    def backlog_bytes(self) -> int:
        """Bytes of the log that are not compacted."""
        cursor = self._result.cursor
        return self._context.log.size if cursor is None else cursor.backlog_bytes

    def start(self, places: LastPlaces | None = None, ended: Callable[[], None] = _nothing) -> None:
        """Starts in the background, after the compactions of other topics. `ended` is called however it ends.

        `places` has the last places of the keys, if a job has found them. Raises `Conflict` while one is running,
        and `NotAllowed` on a non-persistent topic; then `ended` is not called.
        """
        self._on_disk()
        if self.is_running:
            raise Conflict("Compaction already in progress")
        self.state = CompactionState.RUNNING
        self.last_start = self._context.clock.monotonic()
        self._task = self._context.spawn(self._run(places))
        self._task.add_done_callback(lambda _: ended())

    def view(self) -> CompactedView:
        """The view that a compacted reader reads; each dispatcher has its own."""
        return CompactedView(self._result, self._context.log)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.state is CompactionState.RUNNING:
            self.state, self.last_error = CompactionState.ERROR, "the topic was unloaded"
        if self.compacted is not None:
            await self.compacted.close()

    async def _run(self, places: LastPlaces | None) -> None:
        try:
            async with self._at_a_time:
                started = self._context.clock.monotonic()
                await self._compact(places)
        except (BrokerError, StorageError, OSError) as error:
            self._failed(str(error))
            return
        except Exception as error:  # it must not seem to run forever
            self._failed(f"{type(error).__name__}: {error}")
            raise
        self.state = CompactionState.SUCCESS
        self.last_error = ""
        self.last_duration_ms = round((self._context.clock.monotonic() - started) * 1000)
        self.last_success_ms = self._context.clock.wall_ms()
        self._finished()

    def _failed(self, reason: str) -> None:
        self.state, self.last_error = CompactionState.ERROR, reason
        self.last_failure_ms = self._context.clock.wall_ms()
        log.warning("topic %s: compaction failed: %s", self._context.name, reason)

    async def _compact(self, places: LastPlaces | None) -> None:
        await self._result.open()
        last = self._context.log.visible_end if places is None else self._checked(places)
        cursor = await self._open_cursor()
        if last <= self.horizon:
            return  # nothing new since the last compaction
        table = self._table(places)
        async for block in self._blocks(last):
            table.note(block)
        table.complete()
        compacted = await self._copy(table, last)
        await self._switch(cursor, compacted, last)

    def _table(self, places: LastPlaces | None) -> Survivors:
        # A start without compaction does not load the codecs.
        from broker_core.compaction.given_places import GivenPlaces
        from broker_core.compaction.key_table import KeyTable

        if places is None:
            return KeyTable(retain_null_key=self._retain_null_key)
        return GivenPlaces(places, retain_null_key=self._retain_null_key)

    def _checked(self, places: LastPlaces) -> Position:
        """The last position that is compacted. Raises `NotAllowed` for places of another range."""
        through = Position(*places.through)
        if Position(*places.after) != self.horizon:
            raise NotAllowed(f"the topic was compacted through {self.horizon} since the job started; run it again")
        if through > self._context.log.visible_end:
            raise NotAllowed(f"the log ends before {through}")
        return through

    async def _copy(self, table: Survivors, last: Position) -> CompactedLedger:
        """The second pass; if it fails, it removes the new ledger."""
        writer = await self._on_disk().create_compacted()
        try:
            async for block in self._blocks(last):
                for index, entry in table.survivors(block):
                    position = Position(block.ledger_id, block.first_entry_id + index)
                    writer.append(position, entry, block.counts[index], block.publish_times[index])
                await writer.flush()
            self.last_removed = table.removed
            return await writer.seal()
        except BaseException:
            await writer.abandon()
            raise

    async def _switch(self, cursor: ManagedCursor, compacted: CompactedLedger, last: Position) -> None:
        old = self.compacted

        def moved() -> None:
            self._result.ledger = compacted

        properties = {LEDGER_PROPERTY: str(compacted.ledger_id)}
        try:
            await self._on_disk().move_cursor(cursor, last, properties, moved)
        except StorageError:
            await self._delete(compacted, self._on_disk().discard_compacted)
            raise
        if old is not None:
            await self._delete(old, self._on_disk().delete_compacted)

    async def _delete(self, ledger: CompactedLedger, delete: Callable[[CompactedLedger], Awaitable[None]]) -> None:
        """If that fails, the next compaction deletes the file; the outcome of this one is certain already."""
        try:
            await delete(ledger)
        except (StorageError, OSError) as error:
            log.warning("topic %s: cannot delete compacted ledger %d: %s", self._context.name, ledger.ledger_id, error)

    def _on_disk(self) -> DurableLog:
        if self._context.log.on_disk is None:
            raise NotAllowed("Compaction of a non-persistent topic is not allowed")
        return self._context.log.on_disk

    async def _open_cursor(self) -> ManagedCursor:
        """Creates the cursor at the earliest entry, so that retention keeps what is not compacted yet."""
        if self._result.cursor is None:
            self._result.cursor = await self._context.log.open_cursor(self.CURSOR, initial=EARLIEST, durable=True)
        return self._result.cursor

    async def _blocks(self, last: Position) -> AsyncIterator[Block]:
        """The topic as a compacted reader sees it up to `last`; yields to the event loop between blocks."""
        view = self.view()
        position = EARLIEST
        while position <= last:
            block = view.read_cached(position, READ_ENTRIES, READ_BYTES)
            if block is None:
                block = await view.read(position, READ_ENTRIES, READ_BYTES)
            if not len(block):
                return
            beyond = block.first_entry_id + len(block)
            if block.ledger_id == last.ledger_id and beyond > last.entry_id + 1:
                block = block.slice(0, last.entry_id + 1 - block.first_entry_id)
            if not len(block) or Position(block.ledger_id, block.first_entry_id) > last:
                return
            yield block
            position = Position(block.ledger_id, beyond)
            await asyncio.sleep(0)
