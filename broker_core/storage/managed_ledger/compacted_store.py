"""The compacted ledgers of a managed ledger: at most one valid, one being written, and leftovers of a killed broker."""

from collections.abc import Callable
from functools import partial

from broker_core.storage.errors import Damaged, StorageError
from broker_core.storage.log.compacted_ledger import CompactedLedger, CompactedWriter
from broker_core.storage.managed_ledger.ledger_services import LedgerServices
from broker_core.storage.records import changes
from broker_core.storage.records.catalog import ManagedLedgerInfo


class CompactedStore:
    def __init__(self, services: LedgerServices, info: ManagedLedgerInfo, register: Callable[[], None]) -> None:
        self._services = services
        self._info = info
        self._register = register
        self._known: set[int] = set()  # created or asked for in this run, and not lost; others are leftovers

    async def create(self) -> CompactedWriter:
        self._register()
        services = self._services
        ledger_id = services.catalog.new_id()
        self._info.compacted.append(ledger_id)
        self._known.add(ledger_id)
        try:
            await self._changed()  # a record that failed may be on the disk, and names a stale file, until this one is
            await self._remove_stale()
        except (StorageError, OSError):
            self._forget(ledger_id)
            raise
        path = services.compacted_path(ledger_id)
        created_ms = services.clock.wall_ms()
        forget = partial(self._forget, ledger_id)
        return CompactedWriter(
            services.disk, services.files, services.read_thread, path, ledger_id, created_ms, forget, self._meet
        )

    def _forget(self, ledger_id: int) -> None:
        self._info.compacted.remove(ledger_id)
        self._known.discard(ledger_id)

    async def open(self, ledger_id: int) -> CompactedLedger | None:
        """Returns None if it is lost, and the loss is accepted. Raises Damaged or OSError."""
        self._known.add(ledger_id)  # even if it cannot be opened now
        try:
            return await self._open(ledger_id)
        except Damaged as damage:
            if not self._meet(damage):
                raise
        self._known.discard(ledger_id)
        return None

    async def _open(self, ledger_id: int) -> CompactedLedger:
        services = self._services
        path = services.compacted_path(ledger_id)
        compacted = CompactedLedger(services.disk, services.files, services.read_thread, path, ledger_id, self._meet)
        try:
            return await compacted.open()
        except FileNotFoundError as error:
            raise Damaged(path, 0, "compacted ledger is missing") from error

    def _meet(self, damage: Damaged) -> bool:
        return self._services.record_damage(self._info.name, damage)

    async def delete(self, compacted: CompactedLedger) -> None:
        await compacted.close()
        self._known.discard(compacted.ledger_id)
        await self._remove_stale()

    async def discard(self, compacted: CompactedLedger) -> None:
        """Deletes a result that no cursor names, because the record of that failed.

        That record may be on the disk, and names the file, until a later one is durable.
        """
        self._known.discard(compacted.ledger_id)  # so that the next result deletes it if the disk fails here
        await self._changed()
        await self.delete(compacted)

    async def _remove_stale(self) -> None:
        stale = [i for i in self._info.compacted if i not in self._known]
        for ledger_id in stale:
            path = self._services.compacted_path(ledger_id)
            await self._services.read_thread(partial(self._services.disk.remove, path))
        if stale:
            self._info.compacted = [i for i in self._info.compacted if i not in stale]
            await self._changed()

    async def _changed(self) -> None:
        self._services.catalog.changed.add(self._info.id)
        await self._services.journal.synced(changes.change("compacted", self._info.id, ids=self._info.compacted))
