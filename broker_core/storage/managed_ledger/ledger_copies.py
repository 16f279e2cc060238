"""The copies of a managed ledger's ledgers in tiered storage: the state of each ledger, and each step to another state.

`offloaded.STEPS` says which steps there are. Steps are taken one at a time, and so are trims: both hold `changing`. The
record of a step is durable before anything follows from it, and a step that has begun ends before the next one even if
its caller is canceled. The only copy of a ledger is never given up: a file goes when its copy was verified, and a copy
when the file was.

After `close`, when other objects may stand for the same ledgers, every step raises Closed.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from broker_core.storage.errors import Closed, Damaged
from broker_core.storage.log.restored_file import RestoredFile, unplaced
from broker_core.storage.managed_ledger.ledger_services import LedgerServices
from broker_core.storage.records import changes, ledger_file
from broker_core.storage.records.catalog import LedgerInfo, ManagedLedgerInfo
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.offloaded import RECORDED, STEPS, CopyState, OffloadedCopy, Step, state_of
from broker_core.tasks import waited_out


class LedgerCopies:
    def __init__(self, services: LedgerServices, info: ManagedLedgerInfo, ledgers: dict[int, Ledger]) -> None:
        self._services = services
        self._info = info
        self._ledgers = ledgers  # in use, by id
        self._states = {
            i: state_of(ledger.copy) for i, ledger in info.ledgers.items() if ledger.copy is not None
        }  # or LOCAL
        self._copies_first = False
        self._closed = False
        self.changing = asyncio.Lock()  # a step is taken, or ledgers are trimmed
        self._restoring = asyncio.Lock()  # held while a file is written; placing it is the step

    async def load(self) -> None:
        """Looks which files a crash has left. Call it once, before any step."""
        copied = [self._ledgers[ledger_id] for ledger_id in self._states]
        if copied:
            for ledger in await self._services.read_thread(lambda: self._without_file(copied)):
                self._take(ledger, Step.DELETE_FILE)

    def _without_file(self, ledgers: Iterable[Ledger]) -> list[Ledger]:
        """The ledgers whose files are gone. A checkpoint precedes each deletion, so no replay needs them. Blocks."""
        disk = self._services.disk
        for ledger in ledgers:
            disk.remove(unplaced(ledger.path))
        return [ledger for ledger in ledgers if not (ledger.info.is_local or disk.exists(ledger.path))]

    def state(self, ledger_id: int) -> CopyState:
        return self._states.get(ledger_id, CopyState.LOCAL)

    @property
    def leaves_files(self) -> bool:
        """Whether there are files that do not count, and that `drop_files` deletes."""
        return CopyState.DROPPING in self._states.values()

    def sealed(self) -> list[LedgerInfo]:
        """Ledgers that can be offloaded or are, oldest first: sealed, and with entries."""
        return [info for _, info in sorted(self._info.ledgers.items()) if info.sealed_ms and info.entries]

    async def written_out(self, ledger_id: int) -> Ledger | None:
        """The ledger, with all its entries in its file; None if it is gone."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is not None and ledger.info.is_local:
            await self._services.write_out([ledger])
        return self._ledgers.get(ledger_id)

    # ---- the way to tiered storage

    async def record(self, copy: OffloadedCopy) -> bool:
        """Remembers the copy. False if the ledger is gone, or has a verified copy."""
        async with self.changing:
            ledger = self._able(copy.ledger_id, Step.PREPARE)
            if ledger is not None:
                await self._store(ledger, Step.PREPARE, copy)
            return ledger is not None

    async def complete(self, copy: OffloadedCopy) -> bool:
        """Remembers that the copy was verified. False if the ledger is gone, or has another copy by now."""
        return await self._end_preparing(Step.COMPLETE, copy)

    async def discard(self, copy: OffloadedCopy) -> bool:
        """Marks a copy that was not verified as unwanted. False if the ledger is gone, or has another copy by now."""
        return await self._end_preparing(Step.DISCARD, copy)

    async def _end_preparing(self, step: Step, copy: OffloadedCopy) -> bool:
        async with self.changing:
            ledger = self._ledgers.get(copy.ledger_id)
            if ledger is None or self.state(copy.ledger_id) is not CopyState.PREPARED or not _has(ledger, copy):
                return False
            await self._store(ledger, step, copy if step is Step.COMPLETE else None)
            return True

    async def drop_files(self, ledger_ids: Iterable[int]) -> None:
        """Deletes the files of ledgers that have a verified copy, and those that a crash has left.

        A checkpoint comes between the records and the deletions: no replay of the journal needs a file that is gone.
        Raises StorageError, OSError; the next call continues.
        """
        async with self.changing:
            for ledger_id in ledger_ids:
                await self._drop(ledger_id)
            await self._delete_files()

    async def _drop(self, ledger_id: int) -> None:
        ledger = self._able(ledger_id, Step.DROP)
        if ledger is not None and ledger.info.copy is not None:
            await self._store(ledger, Step.DROP, replace(ledger.info.copy, local_gone=True))

    async def _delete_files(self) -> None:
        left = [self._ledgers[i] for i, state in self._states.items() if state is CopyState.DROPPING]
        if left:
            await waited_out(self._services.checkpoints.run())
        for ledger in left:
            self._check_open()
            await waited_out(self._services.delete_file(ledger))
            self._take(ledger, Step.DELETE_FILE)

    # ---- the way back

    async def restore(self, ledger_id: int) -> bool:
        """Makes the file count again, and the copy unwanted. False if the ledger is gone, or has no copy.

        Writes the file again if it is gone, or no longer whole. Raises Damaged, Unreachable, Closed, OSError; then the
        copy still counts.
        """
        async with self._restoring:
            ledger = self._ledgers.get(ledger_id)
            if ledger is None or ledger.info.copy is None or not ledger.info.copy.is_complete:
                return False
            in_both = self.state(ledger_id) is CopyState.BOTH
            if in_both and await self._services.read_thread(lambda: self._whole(ledger)):
                return await self._keep_file(ledger_id)
            return await self._write_again(ledger, ledger.info.copy)

    def _whole(self, ledger: Ledger) -> bool:
        """Whether the ledger's file holds every entry. Blocks."""
        try:
            with self._services.files.use(ledger.path) as fd:
                ledger_file.verify(self._services.disk, fd, ledger.path, ledger.info)
        except (Damaged, FileNotFoundError):
            return False
        return True

    async def _keep_file(self, ledger_id: int) -> bool:
        async with self.changing:
            ledger = self._able(ledger_id, Step.DISCARD)
            if ledger is not None:
                await self._store(ledger, Step.DISCARD, None)
            return ledger is not None

    async def _write_again(self, ledger: Ledger, copy: OffloadedCopy) -> bool:
        file = RestoredFile(self._services.disk, self._services.files, ledger, self._services.read_thread)
        end = await file.write(self._services.reader.copies, copy, self._check_open)
        try:
            async with self.changing:
                await self._drop(ledger.info.id)  # its file is damaged, so only the copy counts
                await self._delete_files()
                if self._able(ledger.info.id, Step.PLACE_FILE) is None:  # it was trimmed
                    return False
                await self._place(ledger, file, end)
                return True
        finally:
            await waited_out(self._services.read_thread(file.remove))  # unless it was placed

    async def _place(self, ledger: Ledger, file: RestoredFile, end: int) -> None:
        """Until the record is durable, the copy counts, and a file that was placed is one to delete."""
        self._check_open()
        self._take(ledger, Step.PLACE_FILE)
        try:
            await file.place()
            await self._store(ledger, Step.RESTORE, None, end)
        finally:
            if self.state(ledger.info.id) is CopyState.RESTORING:
                self._take(ledger, Step.GIVE_UP)

    # ---- a step

    def _able(self, ledger_id: int, step: Step) -> Ledger | None:
        """The ledger, if it exists and may take the step."""
        return self._ledgers.get(ledger_id) if self.state(ledger_id) in STEPS[step] else None

    def _take(self, ledger: Ledger, step: Step) -> None:
        state = STEPS[step][self.state(ledger.info.id)]
        if state is CopyState.LOCAL:
            self._states.pop(ledger.info.id, None)
        else:
            self._states[ledger.info.id] = state

    async def _store(self, ledger: Ledger, step: Step, copy: OffloadedCopy | None, end: int | None = None) -> None:
        """Takes a recorded step; durable on return. `end`: of the records in the file, if that was written again.

        Raises Closed, StorageError: nothing has changed. A caller that is canceled leaves when the step has ended.
        """
        assert step in RECORDED
        self._check_open()

        def done(error: Exception | None) -> None:
            if error is None:
                self._stored(ledger, step, copy, end)

        written = {} if end is None else {"end": end}
        document = None if copy is None else copy.to_document()
        record = changes.change("offload", self._info.id, id=ledger.info.id, copy=document, **written)
        await waited_out(self._services.journal.synced(record, done))

    def _stored(self, ledger: Ledger, step: Step, copy: OffloadedCopy | None, end: int | None) -> None:
        self._take(ledger, step)
        was_remote = ledger.remote
        ledger.copies_first = self._copies_first
        if end is not None:
            ledger.info.end = ledger.next_end = ledger.flushed_end = ledger.taken_end = end
            self._services.catalog.ledger_changed(self._info.id, ledger.info)
        self._services.catalog.set_copy(self._info.id, ledger.info, copy)
        self._follow_source(ledger, was_remote)

    def trimmed(self, ledger_ids: Iterable[int]) -> None:
        """Forgets ledgers that are gone; the catalog knows which copies are unwanted."""
        for ledger_id in ledger_ids:
            self._states.pop(ledger_id, None)

    def copies_first(self, enabled: bool) -> None:
        """Sets whether complete copies are read although the file is there (`managedLedgerOffloadedReadPriority`)."""
        if enabled is not self._copies_first:
            self._copies_first = enabled
            for ledger in self._ledgers.values():
                was_remote = ledger.remote
                ledger.copies_first = enabled
                self._follow_source(ledger, was_remote)

    def _follow_source(self, ledger: Ledger, was_remote: bool) -> None:
        if ledger.remote is not was_remote:
            self._services.reader.moved(ledger)

    def close(self) -> None:
        """Refuses steps from now on; `ended` waits for the one that has begun."""
        self._closed = True

    async def ended(self) -> None:
        """Waits, after `close`, until nothing touches a ledger or its files any more."""
        async with self._restoring, self.changing:
            pass

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"{self._info.name} is closed")


def _has(ledger: Ledger, copy: OffloadedCopy) -> bool:
    return ledger.info.copy is not None and ledger.info.copy.uuid == copy.uuid
