"""The copies of a managed ledger's ledgers in tiered storage: their records, and where each ledger is read from.

A change of a record is durable before anything that follows from it. A ledger may be trimmed at any await; then the
record of its copy is on the list of unwanted copies, and the caller is told.

A change that is on its way to the disk takes effect in memory even if its caller is canceled. After `close`, when other
objects may stand for the same ledgers, there are no changes: they raise Closed.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from broker_core.storage import changes
from broker_core.storage.catalog import LedgerInfo, ManagedLedgerInfo
from broker_core.storage.errors import Closed
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
        self._closed = False

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
        self._check_open()  # by now, the file may be of a ledger that was restored
        for ledger in dropped:
            if self._ledgers.get(ledger.info.id) is ledger and not ledger.info.is_local:
                self._services.file_dropped(ledger)

    async def restore(self, ledger_id: int) -> bool:
        """Writes the file of a ledger again from its copy, which then is unwanted. False if the ledger is gone.

        Raises Damaged, Unreachable, Closed, OSError; then nothing has changed.
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
            await self._store(ledger_id, replace(copy, local_gone=False), end)
        await self.discard(ledger_id)
        return ledger_id in self._info.ledgers

    async def _store(self, ledger_id: int, copy: OffloadedCopy | None, end: int | None = None) -> None:
        """Durable on return. `end`: of the records in the file, if that was written again. Raises Closed."""
        self._check_open()
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(error: Exception | None) -> None:
            if error is None:
                self._stored(ledger_id, copy, end)
            if not stored.done():
                stored.set_exception(error) if error else stored.set_result(None)

        written = {} if end is None else {"end": end}
        document = None if copy is None else copy.to_document()
        record = changes.change("offload", self._info.id, id=ledger_id, copy=document, **written)
        self._services.journal.write(record, done)
        await stored

    def _stored(self, ledger_id: int, copy: OffloadedCopy | None, end: int | None) -> None:
        ledger = self._ledgers.get(ledger_id)
        if ledger is None or ledger_id not in self._info.ledgers:
            return
        was_remote = ledger.remote
        ledger.copies_first = self._copies_first
        if end is not None:
            ledger.info.end = ledger.next_end = ledger.flushed_end = ledger.taken_end = end
            self._services.catalog.ledger_changed(self._info.id, ledger.info)
        self._services.catalog.set_copy(self._info.id, ledger.info, copy)
        self._follow_source(ledger, was_remote)

    def copies_first(self, wanted: bool) -> None:
        """Whether complete copies are read although the file is there (`managedLedgerOffloadedReadPriority`)."""
        if wanted is not self._copies_first:
            self._copies_first = wanted
            for ledger in self._ledgers.values():
                was_remote = ledger.remote
                ledger.copies_first = wanted
                self._follow_source(ledger, was_remote)

    def _follow_source(self, ledger: Ledger, was_remote: bool) -> None:
        if ledger.remote is not was_remote:
            self._services.reader.moved(ledger)

    def close(self) -> None:
        """Refuses changes from now on; those that are on their way end before the journal's next sync."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"{self._info.name} is closed")
