"""The storage engine of one data directory: opens it, recovers it, and owns what its managed ledgers share.

Pulsar's ManagedLedgerFactory. Threads, each with one job: `journal` syncs groups, `writer` writes ledger files,
`syncer` syncs them at checkpoints, `metadata` owns metadata.sqlite, two `reader`s serve cold reads. The event loop only
hands out work and takes results.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

from broker_core.clock import Clock, SystemClock
from broker_core.config.storage import StorageConfig
from broker_core.storage import directory, filenames
from broker_core.storage.catalog.catalog_log import CatalogLog
from broker_core.storage.catalog.database import Database
from broker_core.storage.catalog.metadata import Metadata
from broker_core.storage.cursor.ack_journal import AckJournal
from broker_core.storage.damage import DamageRecord
from broker_core.storage.disk import NO_SPACE, Disk, RealDisk
from broker_core.storage.errors import (
    Damaged,
    DamageReport,
    DirectoryGone,
    DirectoryUnseen,
    Lost,
    StorageError,
)
from broker_core.storage.log.cache import BlockCache
from broker_core.storage.log.cache_traffic import CacheTraffic
from broker_core.storage.log.copy_reader import CopyReader, NoCopies
from broker_core.storage.log.journal import Journal
from broker_core.storage.log.journal_spare import remove_spare_files
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.log.reader import Reader
from broker_core.storage.log.synced_mark import read_mark
from broker_core.storage.log.writer import Writer
from broker_core.storage.managed_ledger.checkpoint import Checkpoints
from broker_core.storage.managed_ledger.ledger_services import GroupTimes, LedgerServices
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.managed_ledger.offloaded_copies import OffloadedCopies
from broker_core.storage.managed_ledger.open_ledgers import OpenLedgers, missing_bytes
from broker_core.storage.managed_ledger.synced_groups import SyncedGroups
from broker_core.storage.managed_ledger.transaction_log import TransactionLog
from broker_core.storage.pressure import Pressure
from broker_core.storage.records.catalog import ManagedLedgerInfo
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.recovery import Recovery
from broker_core.storage.space import DiskSpace
from broker_core.storage.watch import DirectoryWatch

log = logging.getLogger("broker_core.storage")
_MB = 1 << 20
_LOOK_SECONDS = 2.0  # between two checks of the directory of an idle broker
T = TypeVar("T")


class StorageEngine:
    def __init__(
        self, path: Path, config: StorageConfig, disk: Disk, clock: Clock, copies: CopyReader | None = None
    ) -> None:
        self.path = path
        self.config = config
        self.clock = clock
        self.damage = DamageRecord(disk, path, clock.wall_ms)
        self.pressure = Pressure(config.write_buffer_mb * _MB)
        self.disk = disk
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._metadata_thread = ThreadPoolExecutor(1, "metadata")
        self._readers = ThreadPoolExecutor(2, "reader")
        self._files = OpenFiles(disk, config.open_files)
        self.watch = DirectoryWatch(disk, path)
        self._watching: asyncio.TimerHandle | None = None
        self.writer = Writer(disk, self._files, self.pressure, self.watch, self._on_unwritten)
        self.space = DiskSpace(
            disk,
            path,
            config.reserve_mb * _MB,
            self.read_thread,
            lambda: self.journal.give_up_spare_files(),  # there is no journal yet
            self._space_again,
        )
        self.cache = BlockCache(config.cache_mb * _MB, self.writer.relieve, CacheTraffic(clock))
        index_bytes = config.index_cache_mb * _MB
        self.reader = Reader(
            disk, self._files, self._readers, self.cache, index_bytes, self._report_ledger, copies or NoCopies()
        )
        catalog_log = CatalogLog(disk, filenames.catalog_log(path))
        database = Database(disk, filenames.metadata_file(path), catalog_log, self.watch.check)
        self.metadata = Metadata(database, self._metadata_thread)
        self._closed = False

    @classmethod
    async def open(
        cls,
        directory: Path,
        config: StorageConfig,
        *,
        disk: Disk | None = None,
        clock: Clock | None = None,
        copies: CopyReader | None = None,
        answers: AbstractContextManager[None] | None = None,
    ) -> "StorageEngine":
        """Takes the directory and brings it to the state of its last sync.

        `copies` reads offloaded ledgers. Each synced group is answered inside `answers`, so that what it queues for
        many clients can leave at its end.

        Raises DirectoryLocked, FormatTooNew, NotOurDirectory, CatalogUnusable, OSError.
        """
        engine = cls(directory, config, disk or RealDisk(), clock or SystemClock(), copies)
        await engine._open(answers or nullcontext())
        return engine

    async def _open(self, answers: AbstractContextManager[None]) -> None:
        self._lock_fd = await self._run(lambda: directory.take(self.disk, self.path, self.config))
        try:
            recovery = await self._run(self._recover)
        except BaseException:
            self.disk.close(self._lock_fd)
            self._metadata_thread.shutdown(wait=False)
            raise
        self.journal = Journal(
            self.disk,
            self._journal_directory,
            recovery.next_number,
            recovery.tail_end,
            sync=self.config.journal_sync,
            pace_ms=self.config.journal_pace_ms,
            max_bytes=self.config.journal_max_mb * _MB,
            watch=self.watch,
        )
        self.acks = AckJournal(self.journal, self.catalog, self.config.ack_flush_ms / 1000, self._spawn)
        self._checkpoints = Checkpoints(
            self.disk, self._files, self.journal, self.writer, self.catalog, self.metadata, self.config
        )
        self.copies = OffloadedCopies(self.catalog, self.journal, self._load_copies)
        services = self._services()
        self._ledgers = OpenLedgers(services, self._load_info, self.report_damage)
        self.transactions = TransactionLog(self.journal, self.catalog, self.clock, self._ledgers.open_cursor)
        self._groups = SyncedGroups(services, answers, self._spawn, self._metadata_thread.submit)
        self.journal.start(recovery.journals, self._groups.synced)
        self._watch_directory()
        full = self.space.full is not None
        if full:
            self.journal.give_up_spare_files()
        self._checkpoints.after_recovery(recovery.written, sum(recovery.journals.values()), at_once=full)
        self.space.watch()

    def _space_again(self) -> None:
        self.journal.keep_spare_files()
        self.writer.retry()

    def _services(self) -> LedgerServices:
        return LedgerServices(
            path=self.path,
            config=self.config,
            clock=self.clock,
            times=GroupTimes(self.clock),
            disk=self.disk,
            journal=self.journal,
            acks=self.acks,
            catalog=self.catalog,
            checkpoints=self._checkpoints,
            cache=self.cache,
            reader=self.reader,
            writer=self.writer,
            files=self._files,
            pressure=self.pressure,
            space=self.space,
            watch=self.watch,
            damage=self.damage,
            read_thread=self.read_thread,
            record_damage=self.record_damage,
        )

    async def _load_info(self, managed_ledger_id: int) -> ManagedLedgerInfo | None:
        return await self._run(lambda: self.metadata.load_info(managed_ledger_id))

    async def _load_copies(self) -> dict[str, OffloadedCopy]:
        return await self._run(self.metadata.load_copies)

    def _watch_directory(self) -> None:
        """Checks the directory also while nothing is written: an idle broker has to report that it cannot work."""
        self._watching = self._loop.call_later(_LOOK_SECONDS, lambda: self._spawn(self._look_at_directory()))

    async def _look_at_directory(self) -> None:
        """Makes one check at a time: on a disk that hangs, more of them would occupy all readers."""
        with contextlib.suppress(DirectoryGone, DirectoryUnseen):  # DirectoryGone is logged, and kept in `watch.gone`
            await self.read_thread(self.watch.check)
        if not self._closed:
            self._watch_directory()

    def _recover(self) -> Recovery:
        lock = filenames.lock_file(self.path)  # without it another broker can take the directory
        self.watch.begin([self.path, self._journal_directory, filenames.ledgers_directory(self.path), lock])
        remove_spare_files(self.disk, self._journal_directory)
        self.space.begin()
        self.damage.load()
        if self.damage.open:
            log.error("damage of an earlier run is not accepted yet: %s", self.damage.summary())
        may_create = not directory.has_data(self.disk, self.path, self._journal_directory)
        self.space.make_room_for(partial(self.metadata.open, may_create=may_create), lambda: False)
        recovery = self.space.make_room_for(self._replay, self._remove_old_journals)
        for report in self._missing_files():
            self.damage.report(report)
        self.catalog.next_id = max(self.catalog.next_id, directory.highest_id(self.disk, self.path) + 1)
        self._save_damage()
        return recovery

    def _replay(self) -> Recovery:
        """Replays the journal, and changes nothing that would make a second replay differ."""
        self.catalog = self.metadata.load_catalog()
        recovery = Recovery(
            self.disk,
            self._files,
            self.catalog,
            self.metadata.load_info,
            self.metadata.find_owner,
            partial(filenames.ledger_file, self.path),
            self.damage.report,
        )
        mark = read_mark(self.disk, filenames.synced_file(self.path))
        recovery.replay(self._journal_directory, self.metadata.first_journal, mark)
        return recovery

    def _remove_old_journals(self) -> bool:
        """Removes the journals that the last checkpoint made obsolete. Returns whether there were any."""
        first = self.metadata.first_journal
        numbers = map(filenames.journal_number, self.disk.list_directory(self._journal_directory))
        old = [number for number in numbers if number is not None and number < first]
        for number in old:
            self.disk.remove(filenames.journal_file(self._journal_directory, number))
        return bool(old)

    # ---- damage

    def _missing_files(self) -> Iterator[DamageReport]:
        """Ledger files that the last checkpoint counts on, and that are gone or too short."""
        changed = (change[1] for change in self.catalog.changed_copies.values() if change is not None)
        offloaded = {copy.ledger_id for copy in changed if copy.local_gone}  # since the checkpoint
        for ledger_id, name, entries, end in self.metadata.ledgers_with_entries():
            if ledger_id not in self.catalog.removed_ledgers and ledger_id not in offloaded:
                path, whole = filenames.ledger_file(self.path, ledger_id), Lost(ledger_id, 0, entries - 1)
                yield from missing_bytes(self.disk, name, path, whole, end)

    def report_damage(self, reports: Iterable[DamageReport]) -> None:
        """Records, logs, and shows damaged places, except those that are known."""
        for report in reports:
            self.damage.report(report)
        if self.damage.dirty:
            self._spawn(self._run(self._save_damage))

    def _report_ledger(self, ledger: Ledger, damage: list[Damaged]) -> None:
        if not damage:
            return  # the usual case, without a search for the owner
        owner = self._ledgers.owner_of(ledger.info.id)
        self.report_damage(
            [DamageReport(damaged.path, damaged.offset, damaged.reason, owner, damaged.lost) for damaged in damage]
        )

    def record_damage(self, name: str, damage: Damaged) -> bool:
        """Records damage that a read met, and returns whether to pass over it.

        Data that is accepted as lost counts as gone, and so does all damaged data where the configuration says so.
        """
        self.report_damage([DamageReport(damage.path, damage.offset, damage.reason, name, damage.lost)])
        return self.config.auto_skip_lost or self.damage.is_accepted(damage.path, damage.offset)

    async def accept_loss(self) -> list[DamageReport]:
        """An operator accepts everything that is recorded; durable on return.

        Raises StorageError, and then nothing is accepted.
        """
        accepted = self.damage.accept()
        try:
            if self.damage.dirty:
                await self._run(self.damage.save)
        except OSError as error:
            self.damage.take_back(accepted)
            raise StorageError(f"cannot record that the loss is accepted: {error}") from error
        return accepted

    def _save_damage(self) -> None:
        try:
            if self.damage.dirty:
                self.damage.save()
        except OSError as error:  # it is logged and shown all the same, and saved with the next place
            log.error("cannot save the record of damage: %s", error)

    @property
    def _journal_directory(self) -> Path:
        return filenames.journal_directory(self.path, self.config.journal_directory)

    # ---- managed ledgers

    def exists(self, name: str) -> bool:
        return name in self.catalog.names

    async def open_ledger(self, name: str) -> ManagedLedger:
        """The managed ledger of that name. A new one leaves no trace before its first append, cursor or property."""
        return await self._ledgers.open(name)

    async def delete_ledger(self, name: str) -> None:
        """Deletes a managed ledger, open or not (`ManagedLedger.delete`)."""
        await self._ledgers.delete(name)

    # ---- threads and tasks

    async def read_thread(self, work: Callable[[], T]) -> T:
        """Runs `work` in a reader thread."""
        return await self._loop.run_in_executor(self._readers, work)

    async def _run(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._metadata_thread, work)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the storage failed", exc_info=error)

    def _on_unwritten(self, ledger: Ledger, error: OSError) -> None:
        """A ledger file could not be written. Its entries are safe in the journal, which stays until they are."""
        log.error("ledger %d: cannot write it: %s", ledger.info.id, error)
        if error.errno in NO_SPACE:
            self._spawn(self.space.ran_out(str(error)))
        else:
            self._ledgers.fence(ledger.path, str(error))

    # ---- end

    async def close(self) -> None:
        """Writes everything and gives up the directory; open managed ledgers refuse all calls from now on.

        Data that cannot be written to its file stays in the journal, and the next start replays it.
        """
        if self._closed:
            return
        self._closed = True
        self._groups.close()
        self._ledgers.refuse_more()
        if self._watching is not None:
            self._watching.cancel()
        await self._checkpoints.close()
        try:
            await self._write_everything()
        except (StorageError, OSError) as error:
            log.error("cannot write all ledgers; the broker keeps the journal: %s", error)
        self.acks.close()
        await self.space.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.metadata.flush()
        try:
            await self._run(self._close_files)
        finally:
            self._readers.shutdown()
            self._metadata_thread.shutdown()

    async def _write_everything(self) -> None:
        await self._ledgers.close()
        await self._checkpoints.run()

    async def checkpoint(self) -> None:
        """Makes everything confirmed so far independent of the journal; raises the error that prevents it."""
        await self._checkpoints.run()

    def _close_files(self) -> None:
        """What cannot be closed keeps nothing else open; the lock goes last."""
        with contextlib.ExitStack() as parts:
            parts.callback(self.disk.close, self._lock_fd)
            parts.callback(self.metadata.close)
            parts.callback(self._files.close)
            parts.callback(self.writer.stop)
            parts.callback(self._checkpoints.stop)
            parts.callback(self.journal.stop)
