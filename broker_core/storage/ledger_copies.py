"""The copies of a managed ledger's ledgers in tiered storage: their records, and where each ledger is read from.

A change of a record is durable before anything that follows from it. A ledger may be trimmed at any await; then the
record of its copy is on the list of unwanted copies, and the caller is told.
"""

from collections.abc import Iterable
from dataclasses import replace

from broker_core.storage import changes
from broker_core.storage.catalog import LedgerInfo, ManagedLedgerInfo
from broker_core.storage.ledger_file import Ledger
from broker_core.storage.ledger_services import LedgerServices
from broker_core.storage.offloaded import OffloadedCopy
from broker_core.storage.restored_file import RestoredFile


class LedgerCopies:
    def __init__(self, services: LedgerServices, info: ManagedLedgerInfo, ledgers: dict[int, Ledger]) -> None:
        self._services = services
        self._info = info
        self._ledgers = ledgers  # in use, by id
        self._copies_first = False

    def sealed(self) -> list[LedgerInfo]:
        """Ledgers that can be offloaded or are, oldest first: sealed, and with entries."""
        return [info for _, info in sorted(self._info.ledgers.items()) if info.sealed_ms and info.entries]

    async def written_out(self, ledger_id: int) -> Ledger | None:
        """The ledger, with all its entries in its file; None if it is gone."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is not None and ledger.info.is_local:
            await self._services.write_out([ledger])
        return self._ledgers.get(ledger_id)

    async def record(self, copy: OffloadedCopy) -> bool:
        """Remembers the copy, instead of an earlier one of its ledger. False if the ledger is gone."""
        if copy.ledger_id not in self._info.ledgers:
            return False
        await self._store(copy.ledger_id, copy)
        return copy.ledger_id in self._info.ledgers

    async def complete(self, copy: OffloadedCopy) -> bool:
        """Remembers that the copy was verified. False if the ledger is gone, or has another copy by now."""
        if not self._is_current(copy):
            return False
        await self._store(copy.ledger_id, copy)
        return self._is_current(copy)

    def _is_current(self, copy: OffloadedCopy) -> bool:
        info = self._info.ledgers.get(copy.ledger_id)
        return info is not None and info.copy is not None and info.copy.uuid == copy.uuid

    async def discard(self, ledger_id: int) -> None:
        """The ledger has no copy any more; only for a ledger whose file counts."""
        info = self._info.ledgers.get(ledger_id)
        if info is not None and info.copy is not None and info.is_local:
            await self._store(ledger_id, None)

    async def drop_files(self, ledger_ids: Iterable[int]) -> None:
        """Deletes the files of ledgers that have a complete copy.

        A checkpoint comes between the records and the deletions: no replay of the journal needs a file that is gone.
        """
        dropped = [ledger for ledger_id in ledger_ids if (ledger := self._ledgers.get(ledger_id)) is not None]
        for ledger in dropped:
            copy = ledger.info.copy
            if copy is not None and copy.is_complete and ledger.info.is_local:
                await self._store(ledger.info.id, replace(copy, local_gone=True))
        await self._services.checkpoints.run()
        for ledger in dropped:
            if self._ledgers.get(ledger.info.id) is ledger and not ledger.info.is_local:
                self._services.file_dropped(ledger)

    async def restore(self, ledger_id: int) -> bool:
        """Writes the file of a ledger again from its copy, which then is unwanted. False if the ledger is gone.

        Raises Damaged, Unreachable, OSError; then nothing has changed.
        """
        ledger = self._ledgers.get(ledger_id)
        if ledger is None or ledger.info.copy is None:
            return False
        if not ledger.info.is_local:
            file = RestoredFile(self._services.disk, ledger)
            copy = ledger.info.copy
            end = await file.write(self._services.reader.copies, copy, self._services.read_thread)
            if not self._is_current(copy):
                return False
            local = replace(copy, local_gone=False)
            await self._services.journal.synced(
                changes.change("offload", self._info.id, id=ledger_id, copy=local.to_document(), end=end)
            )
            self._restored(ledger, local, end)
        await self.discard(ledger_id)
        return ledger_id in self._info.ledgers

    def _restored(self, ledger: Ledger, copy: OffloadedCopy, end: int) -> None:
        if self._ledgers.get(ledger.info.id) is not ledger:
            return
        catalog = self._services.catalog
        ledger.info.end = ledger.next_end = ledger.flushed_end = ledger.taken_end = end
        catalog.ledger_changed(self._info.id, ledger.info)
        catalog.set_copy(self._info.id, ledger.info, copy)
        self._read_from(ledger)

    async def _store(self, ledger_id: int, copy: OffloadedCopy | None) -> None:
        document = None if copy is None else copy.to_document()
        await self._services.journal.synced(changes.change("offload", self._info.id, id=ledger_id, copy=document))
        info = self._info.ledgers.get(ledger_id)
        if info is None:
            return
        self._services.catalog.set_copy(self._info.id, info, copy)
        if (ledger := self._ledgers.get(ledger_id)) is not None:
            self._read_from(ledger)

    def copies_first(self, wanted: bool) -> None:
        """Whether complete copies are read although the file is there (`managedLedgerOffloadedReadPriority`)."""
        if wanted is not self._copies_first:
            self._copies_first = wanted
            for ledger in self._ledgers.values():
                if ledger.info.sealed_ms:
                    self._read_from(ledger)

    def _read_from(self, ledger: Ledger) -> None:
        copy = ledger.info.copy
        remote = copy is not None and (copy.local_gone or (self._copies_first and copy.is_complete))
        self._services.reader.moved(ledger, remote=remote)
