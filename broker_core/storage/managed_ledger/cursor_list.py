"""The cursors of a managed ledger: created, found, given properties, deleted.

A durable cursor is in the catalog and in the journal; a non-durable one lives in memory only. A change is in force once
its record is durable: a deletion that fails leaves the cursor, which holds back trimming all the time.
"""

import asyncio
from collections.abc import Callable

from broker_core.rates.time_slices import sliced
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.errors import Closed
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.weights import Weights
from broker_core.storage.managed_ledger.ledger_services import LedgerServices
from broker_core.storage.records import changes
from broker_core.storage.records.catalog import CursorInfo, ManagedLedgerInfo
from broker_core.storage.records.position import LATEST, Position


class CursorList:
    def __init__(
        self,
        services: LedgerServices,
        info: ManagedLedgerInfo,
        ledgers: LedgerList,
        weights: Weights,
        register: Callable[[], None],
    ) -> None:
        self._services = services
        self._journal = services.journal
        self._acks = services.acks
        self._catalog = services.catalog
        self._info = info
        self._register = register
        self.ledgers = ledgers
        self.weights = weights
        self.by_name: dict[str, ManagedCursor] = {}
        self.has_ended = False
        self._deleting: dict[ManagedCursor, asyncio.Future[None]] = {}

    async def load(self) -> None:
        """Opens the durable cursors that the catalog has. Call it once, before anything else."""
        async for info in sliced(list(self._info.cursors.values())):
            cursor = self.by_name[info.name] = ManagedCursor(self, info, durable=True)
            self.ledgers.trimmed_to = max(self.ledgers.trimmed_to, info.mark_delete)  # matters only without ledgers
            cursor.prepare_backlog()  # what cannot be known at once is measured in the background

    @property
    def owner_id(self) -> int:
        return self._info.id

    async def open(
        self, name: str, initial: Position | None, properties: dict[str, str] | None, *, durable: bool
    ) -> ManagedCursor:
        cursor = self.by_name.get(name)
        if cursor is not None:
            return cursor
        mark_delete = self.ledgers.before_reading(LATEST if initial is None else initial)
        info = CursorInfo(self._catalog.new_id() if durable else -1, name, mark_delete, dict(properties or {}))
        cursor = self.by_name[name] = ManagedCursor(self, info, durable=durable)
        if durable:
            await self._create(cursor)
        return cursor

    async def _create(self, cursor: ManagedCursor) -> None:
        info = cursor.info

        def done(error: Exception | None) -> None:
            if error is not None:
                self._remove(cursor)

        self._register()
        self._info.cursors[info.id] = info
        self._catalog.cursor_changed(self._info.id, info)
        await self._journal.synced(self._record(info, info.mark_delete, info.properties), done)

    async def set_properties(self, name: str, properties: dict[str, str]) -> None:
        """Replaces them; durable on return. Raises StorageError, and then nothing has changed."""
        cursor = self.by_name.get(name)
        if cursor is None or cursor in self._deleting:
            raise Closed(f"cursor {name} is deleted")
        if not cursor.durable:
            cursor.info.properties = dict(properties)
            return
        info = cursor.info

        def done(error: Exception | None) -> None:
            if error is None:
                info.properties = dict(properties)
                self._catalog.cursor_changed(self._info.id, info)

        await self._journal.synced(self._record(info, info.mark_delete, properties), done)

    async def move(
        self, cursor: ManagedCursor, mark_delete: Position, properties: dict[str, str], moved: Callable[[], None]
    ) -> None:
        """Mark-delete and properties of a durable cursor as one step: both are in force once both are durable.

        `moved` is called in that very moment. Raises StorageError, and then nothing has changed.
        """
        info = cursor.info

        def done(error: Exception | None) -> None:
            if error is None:
                info.properties = dict(properties)
                cursor.acknowledge_up_to(mark_delete)
                self._catalog.cursor_changed(self._info.id, info)
                moved()

        await self._journal.synced(self._record(info, mark_delete, properties), done)

    def _record(self, info: CursorInfo, mark_delete: Position, properties: dict[str, str]) -> bytes:
        values = {"id": info.id, "name": info.name, "mark_delete": list(mark_delete), "properties": properties}
        return changes.change("cursor", self._info.id, **values)

    async def delete(self, name: str) -> None:
        """Durable on return. Raises StorageError: the cursor is still there."""
        cursor = self.by_name.get(name)
        if cursor is None:
            return
        if not cursor.durable:
            self._remove(cursor)
        elif cursor in self._deleting:
            await asyncio.shield(self._deleting[cursor])
        else:
            await self._delete_durably(cursor)

    async def _delete_durably(self, cursor: ManagedCursor) -> None:
        deletion = self._deleting[cursor] = asyncio.get_running_loop().create_future()
        deletion.add_done_callback(asyncio.Future.exception)  # marks it as seen: mostly, only this caller waits

        def done(error: Exception | None) -> None:
            del self._deleting[cursor]
            if error is None:
                self._remove(cursor)
                deletion.set_result(None)
            else:
                deletion.set_exception(error)

        await self._journal.synced(changes.change("delete-cursor", self._info.id, cursor=cursor.info.id), done)

    async def deleted(self, name: str) -> None:
        """Waits for the end of a deletion of the cursor, if one runs."""
        cursor = self.by_name.get(name)
        if cursor is not None and cursor in self._deleting:
            await asyncio.wait([self._deleting[cursor]])

    def _remove(self, cursor: ManagedCursor) -> None:
        if self.by_name.get(cursor.name) is cursor:
            del self.by_name[cursor.name]
        self._acks.forget(cursor)
        if cursor.durable:
            self._catalog.remove_cursor(self._info, cursor.info.id)

    async def forget_acks(self) -> None:
        """Drops the unwritten acknowledgments of a managed ledger that is deleted."""
        async for cursor in sliced(list(self.by_name.values())):
            self._acks.forget(cursor)

    def slowest(self) -> Position:
        """The smallest mark-delete of a durable cursor; LATEST when there is none."""
        return min((cursor.mark_delete for cursor in self.by_name.values() if cursor.durable), default=LATEST)

    def close(self) -> None:
        """Lets go of the cursors, which hold this list; callers that have one may still read it."""
        self.has_ended = True
        self.by_name.clear()

    # ---- calls of the cursors

    def cursor_dirty(self, cursor: ManagedCursor) -> None:
        self._acks.dirty(self._info.id, cursor)

    def cursor_write(self, cursor: ManagedCursor) -> None:
        self._acks.write(self._info.id, cursor)

    async def cursor_flush(self, cursor: ManagedCursor) -> None:
        self._acks.write(self._info.id, cursor)
        await self._services.synced()

    def cursor_inexact(self, cursor: ManagedCursor) -> None:
        self._acks.measure_later(cursor)

    async def cursor_reset(self, cursor: ManagedCursor, record: bytes, failed: Callable[[], None]) -> None:
        def done(error: Exception | None) -> None:
            if error is not None:
                failed()
                self._catalog.cursor_changed(self._info.id, cursor.info)

        self._catalog.cursor_changed(self._info.id, cursor.info)
        await self._journal.synced(record, done)
