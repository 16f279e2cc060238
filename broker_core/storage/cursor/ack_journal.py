"""Writes acknowledgments to the journal: they are collected per cursor and written at most `ack_flush_ms` later.

One timer for all cursors, and none while nothing was acknowledged. Also measures backlogs in the background, one
cursor after the other, so that a hundred of them do not starve the dispatchers.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine

from broker_core.rates.time_slices import TimeSlices, sliced
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.errors import StorageError
from broker_core.storage.log.journal import Journal
from broker_core.storage.records import changes
from broker_core.storage.records.catalog import Catalog

log = logging.getLogger("broker_core.storage")


class AckJournal:
    def __init__(
        self,
        journal: Journal,
        catalog: Catalog,
        flush_seconds: float,
        spawn: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._journal = journal
        self._catalog = catalog
        self._flush_seconds = flush_seconds
        self._spawn = spawn
        self._dirty: dict[ManagedCursor, int] = {}  # -> managed ledger
        self._timer: asyncio.TimerHandle | None = None
        self._unmeasured: dict[ManagedCursor, None] = {}
        self._measuring = False
        self._closed = False

    def dirty(self, owner: int, cursor: ManagedCursor) -> None:
        """Schedules a write of the cursor's new acknowledgments."""
        self._dirty[cursor] = owner
        if self._timer is None and not self._closed:
            self._timer = self._loop.call_later(self._flush_seconds, self._flush)

    def forget(self, cursor: ManagedCursor) -> None:
        """Drops the unwritten acknowledgments of a cursor that is deleted."""
        self._dirty.pop(cursor, None)
        self._unmeasured.pop(cursor, None)

    def _flush(self) -> None:
        self._timer = None
        self._spawn(self._write_all(list(self._dirty.items())))

    async def _write_all(self, dirty: list[tuple[ManagedCursor, int]]) -> None:
        async for cursor, owner in sliced(dirty, TimeSlices(0)):
            if cursor in self._dirty:  # else it was written or deleted in the meantime
                self.write(owner, cursor)

    async def written(self) -> None:
        """Writes all acknowledgments so far, and waits until they are durable."""
        await self._write_all(list(self._dirty.items()))
        await self._journal.synced(changes.nothing())

    def write(self, owner: int, cursor: ManagedCursor) -> None:
        """Journals the acknowledgments since the last time; `cursor.acks_written` gets the result."""
        self._dirty.pop(cursor, None)
        for record in cursor.take_acks():
            self._catalog.cursor_changed(owner, cursor.info)
            self._journal.write(record, cursor.acks_written)

    def measure_later(self, cursor: ManagedCursor) -> None:
        if cursor not in self._unmeasured and not self._closed:
            self._unmeasured[cursor] = None
            if not self._measuring:
                self._measuring = True
                self._spawn(self._measure())

    async def _measure(self) -> None:
        try:
            await self._measure_all()
        finally:
            self._measuring = False

    async def _measure_all(self) -> None:
        while self._unmeasured and not self._closed:
            async for cursor in sliced(list(self._unmeasured), TimeSlices(0)):
                if not self._closed:
                    await self._measure_one(cursor)
                self._unmeasured.pop(cursor, None)

    async def _measure_one(self, cursor: ManagedCursor) -> None:
        try:
            await cursor.measure()
        except (StorageError, OSError) as error:
            log.warning("the backlog of cursor %s is an estimate: %s", cursor.name, error)

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
