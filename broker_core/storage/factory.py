"""Opens a data directory, and everything its managed ledgers share: journal, writer, cache, checkpoints.

Pulsar's ManagedLedgerFactory. Threads, each with one job: `journal` syncs groups, `writer` writes ledger files,
`syncer` syncs them at checkpoints, `metadata` owns metadata.sqlite, two `reader`s serve cold reads. The event loop only
hands out work and takes results.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from broker_core.clock import Clock, SystemClock
from broker_core.config.broker import StorageConfig
from broker_core.storage import changes, directory, filenames
from broker_core.storage.ack_journal import AckJournal
from broker_core.storage.cache import BlockCache
from broker_core.storage.catalog import ManagedLedgerInfo
from broker_core.storage.catalog_log import CatalogLog
from broker_core.storage.checkpoint import Checkpoints
from broker_core.storage.damage import DamageRecord
from broker_core.storage.database import Database
from broker_core.storage.disk import NO_SPACE, Disk, RealDisk
from broker_core.storage.errors import (
    Closed,
    Damaged,
    DamageReport,
    DirectoryGone,
    DiskFull,
    Fenced,
    Lost,
    StorageError,
)
from broker_core.storage.journal import Appender, Group, Journal
from broker_core.storage.ledger_file import Ledger
from broker_core.storage.managed_ledger import ManagedLedger
from broker_core.storage.metadata import Metadata
from broker_core.storage.open_files import OpenFiles
from broker_core.storage.pressure import RUN_COST, Pressure
from broker_core.storage.reader import Reader
from broker_core.storage.recovery import Recovery
from broker_core.storage.space import DiskSpace
from broker_core.storage.synced_mark import Mark, read_mark, write_mark
from broker_core.storage.watch import DirectoryWatch
from broker_core.storage.writer import Writer

log = logging.getLogger("broker_core.storage")
_MB = 1 << 20
_MARK_SECONDS = 0.1  # between a sync and the mark that says so
_LOOK_SECONDS = 2.0  # between two looks at the directory of an idle broker
_T = TypeVar("_T")


class ManagedLedgerFactory:
    def __init__(self, path: Path, config: StorageConfig, disk: Disk, clock: Clock) -> None:
        self.path = path
        self.config = config
        self.clock = clock
        self.damage = DamageRecord(disk, path, clock.wall_ms)
        self.pressure = Pressure(config.write_buffer_mb * _MB)
        self.wall_ms = clock.wall_ms()  # as of the last group, like
        self.now = clock.monotonic()
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
            self.writer.retry,
        )
        self.cache = BlockCache(config.cache_mb * _MB, self.writer.relieve)
        index_bytes = config.index_cache_mb * _MB
        self.reader = Reader(disk, self._files, self._readers, self.cache, index_bytes, self._report_ledger)
        catalog_log = CatalogLog(disk, filenames.catalog_log(path))
        database = Database(disk, filenames.metadata_file(path), catalog_log, self.watch.check)
        self.metadata = Metadata(database, self._metadata_thread)
        self._loaded: dict[str, ManagedLedger] = {}
        self._loading: dict[str, asyncio.Future[None]] = {}
        self._mark_timer: asyncio.TimerHandle | None = None
        self._closed = False

    @classmethod
    async def open(
        cls, directory: Path, config: StorageConfig, *, disk: Disk | None = None, clock: Clock | None = None
    ) -> "ManagedLedgerFactory":
        """Take the directory and bring it to the state of its last sync.

        Raises DirectoryLocked, FormatTooNew, NotOurDirectory, CatalogUnusable, OSError.
        """
        factory = cls(directory, config, disk or RealDisk(), clock or SystemClock())
        await factory._open()
        return factory

    async def _open(self) -> None:
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
            on_synced=self._on_synced,
            watch=self.watch,
        )
        self.acks = AckJournal(self.journal, self.catalog, self.config.ack_flush_ms / 1000, self._spawn)
        self._checkpoints = Checkpoints(
            self.disk, self._files, self.journal, self.writer, self.catalog, self.metadata, self.config
        )
        self.journal.start(recovery.journals)
        self._watch_directory()
        self._checkpoints.after_recovery(recovery.written, sum(recovery.journals.values()))

    def _watch_directory(self) -> None:
        """Also while nothing is written: an idle broker has to say that it is not well."""
        self._spawn(self._look_at_directory())
        self._watching = self._loop.call_later(_LOOK_SECONDS, self._watch_directory)

    async def _look_at_directory(self) -> None:
        with contextlib.suppress(DirectoryGone):  # it is logged, and `watch.gone`
            await self.read_thread(self.watch.check)

    def _recover(self) -> Recovery:
        self.watch.begin([self.path, self._journal_directory, filenames.ledgers_directory(self.path)])
        with contextlib.suppress(OSError):
            self.space.take_reserve()  # a full disk is noticed when something is to be written
        self.damage.load()
        if self.damage.open:
            log.error("damage of an earlier run is not accepted yet: %s", self.damage.summary())
        self.metadata.open(may_create=not directory.has_data(self.disk, self.path, self._journal_directory))
        self.catalog = self.metadata.load_catalog()
        recovery = Recovery(
            self.disk,
            self._files,
            self.catalog,
            self.metadata.load_info,
            self.metadata.find_owner,
            self.ledger_path,
            self.damage.report,
        )
        mark = read_mark(self.disk, filenames.synced_file(self.path))
        recovery.replay(self._journal_directory, self.metadata.first_journal, mark)
        for found in self._missing_files():
            self.damage.report(found)
        self.catalog.next_id = max(self.catalog.next_id, directory.highest_id(self.disk, self.path) + 1)
        self._save_damage()
        return recovery

    # ---- damage

    def _missing_files(self) -> Iterator[DamageReport]:
        """Ledger files that the last checkpoint counts on, and that are gone or too short."""
        for ledger_id, name, entries, end in self.metadata.ledgers_with_entries():
            if ledger_id not in self.catalog.removed_ledgers:
                yield from self._missing_bytes(name, self.ledger_path(ledger_id), Lost(ledger_id, 0, entries - 1), end)

    def _missing_bytes(self, name: str, path: Path, whole: Lost, end: int) -> Iterator[DamageReport]:
        """What the file still holds can be read."""
        size = self.disk.file_size(path)
        if size is None:
            yield DamageReport(path, 0, "ledger file is missing", name, whole)
        elif size < end:
            yield DamageReport(path, size, f"file ends before its {end} bytes", name)

    def report_damage(self, found: Iterable[DamageReport]) -> None:
        """Record, log and show places that are damaged; those that are known are not told again."""
        for report in found:
            self.damage.report(report)
        if self.damage.dirty:
            self._spawn(self._run(self._save_damage))

    def _report_ledger(self, ledger: Ledger, found: list[Damaged]) -> None:
        owner = next((one.name for one in self._loaded.values() if ledger.info.id in one.info.ledgers), "")
        self.report_damage([DamageReport(one.path, one.offset, one.reason, owner, one.lost) for one in found])

    def meet_damage(self, name: str, damage: Damaged) -> bool:
        """Records what a read met, and says whether to pass over it.

        What is accepted as lost counts as gone; everything does where the configuration says so.
        """
        self.report_damage([DamageReport(damage.path, damage.offset, damage.reason, name, damage.lost)])
        return self.config.auto_skip_lost or self.damage.is_accepted(damage.path, damage.offset)

    async def accept_loss(self) -> list[DamageReport]:
        """An operator accepts everything that is recorded; durable on return. Raises OSError."""
        accepted = self.damage.accept()
        if self.damage.dirty:
            await self._run(self.damage.save)
        return accepted

    def _save_damage(self) -> None:
        try:
            if self.damage.dirty:
                self.damage.save()
        except OSError as error:  # it is logged and shown all the same, and saved with the next place
            log.error("the record of damage was not saved: %s", error)

    @property
    def _journal_directory(self) -> Path:
        return filenames.journal_directory(self.path, self.config.journal_directory)

    def ledger_path(self, ledger_id: int) -> Path:
        return filenames.ledger_file(self.path, ledger_id)

    def compacted_path(self, ledger_id: int) -> Path:
        return filenames.compacted_file(self.path, ledger_id)

    async def read_thread(self, work: Callable[[], _T]) -> _T:
        """Run `work` in a reader thread."""
        return await self._loop.run_in_executor(self._readers, work)

    # ---- managed ledgers

    def ledger_names(self) -> list[str]:
        return sorted(self.catalog.names)

    def exists(self, name: str) -> bool:
        return name in self.catalog.names

    async def open_ledger(self, name: str) -> ManagedLedger:
        """The managed ledger of that name. A new one leaves no trace before its first append, cursor or property."""
        async with self._loads(name):
            ledger = self._loaded.get(name)
            if ledger is None or not ledger.is_open:
                if self._closed:
                    raise Closed("the storage is closed")
                ledger = self._loaded[name] = await self._load(name)
            return ledger

    @contextlib.asynccontextmanager
    async def _loads(self, name: str) -> AsyncIterator[None]:
        """One load or delete of a name at a time."""
        while name in self._loading:
            await asyncio.wait([self._loading[name]])
        future = self._loading[name] = self._loop.create_future()
        try:
            yield
        finally:
            del self._loading[name]
            future.set_result(None)

    async def _load(self, name: str) -> ManagedLedger:
        managed_ledger_id = self.catalog.names.get(name)
        if managed_ledger_id is None:
            return ManagedLedger(self, ManagedLedgerInfo(self.catalog.new_id(), name), {})
        info = self.catalog.infos.get(managed_ledger_id)
        if info is None:
            info = await self._run(lambda: self.metadata.load_info(managed_ledger_id))
            if info is None:
                raise StorageError(f"{name} is in the list of names, but not in {filenames.metadata_file(self.path)}")
            self.catalog.infos[managed_ledger_id] = info
        ledgers = {i: Ledger(info.ledgers[i], self.ledger_path(i), new=False) for i in info.ledgers}
        self.report_damage(await self.read_thread(partial(self._short_files, name, list(ledgers.values()))))
        for ledger in ledgers.values():
            if not ledger.info.sealed_ms:
                # Of an earlier run: never continued, so it can be sealed without a record of its own.
                ledger.info.sealed_ms = self.clock.wall_ms()
                self.catalog.ledger_changed(info.id, ledger.info)
        owner = ManagedLedger(self, info, ledgers)
        for cursor in owner.cursors.values():
            cursor.prepare_backlog()  # what cannot be known at once is measured in the background
        return owner

    def _short_files(self, name: str, ledgers: list[Ledger]) -> list[DamageReport]:
        found: list[DamageReport] = []
        for ledger in ledgers:
            if ledger.info.entries:
                whole = Lost(ledger.info.id, 0, ledger.info.entries - 1)
                found += self._missing_bytes(name, ledger.path, whole, ledger.info.end)
        return found

    async def close_ledger(self, owner: ManagedLedger, ledgers: list[Ledger]) -> None:
        """Everything of the managed ledger is in its files on return, and its memory is free."""
        try:
            await self.synced()
            for ledger in ledgers:
                self.writer.flush(ledger)
            await self.writer.barrier()
        finally:
            if self._loaded.get(owner.name) is owner:
                del self._loaded[owner.name]
        for ledger in ledgers:
            self.cache.forget(ledger)
            self.reader.forget(ledger)
            self._files.forget(ledger.path)

    async def delete_ledger(self, name: str) -> None:
        """With its entries and cursors; durable on return."""
        owner = await self.open_ledger(name)
        await owner.close()
        info = owner.info
        if info.id not in self.catalog.infos:
            return  # never used: nothing is on disk
        async with self._loads(name):
            await self.journal.synced(changes.change("delete", info.id))
            ids, compacted = list(info.ledgers), list(info.compacted)
            self.catalog.remove(info)
            self._forget_ledgers(owner, ids)
            for ledger_id in compacted:
                await self.read_thread(partial(self.disk.remove, self.compacted_path(ledger_id)))

    async def remove_ledgers(self, owner: ManagedLedger, ledger_ids: list[int]) -> None:
        """Trim: durable first; then, in one step, they leave the catalog and their files are on the way out."""
        await self.journal.synced(changes.change("trim", owner.info.id, ids=ledger_ids))
        self.catalog.remove_ledgers(owner.info, ledger_ids)
        owner.ledgers.refresh()
        self._forget_ledgers(owner, ledger_ids)

    def _forget_ledgers(self, owner: ManagedLedger, ledger_ids: list[int]) -> None:
        for ledger_id in ledger_ids:
            ledger = owner.forget(ledger_id)
            if ledger is not None:
                self.cache.forget(ledger)
                self.reader.forget(ledger)
                self._checkpoints.ledger_removed(ledger)
                self.writer.remove(ledger)

    def ledger_changed(self, owner: int, ledger: Ledger) -> None:
        """Its first new entries since the last checkpoint."""
        ledger.changed = True
        self.catalog.ledger_changed(owner, ledger.info)
        self._checkpoints.ledger_changed(ledger)

    def ledger_sealed(self, owner: int, ledger: Ledger) -> None:
        self.catalog.ledger_changed(owner, ledger.info)
        if ledger.info.entries:
            self._checkpoints.ledger_changed(ledger)
            self.writer.seal(ledger)
            self.reader.indexed(ledger)

    # ---- journal

    async def synced(self) -> None:
        """Waits until everything added to the journal so far is durable."""
        await self.journal.synced(changes.nothing())

    def _on_synced(self, group: Group, error: Exception | None) -> None:
        """On the loop, once per group: the only place where appends are answered."""
        if error is not None:
            self._on_failed(group, error)
            return
        self.wall_ms = self.clock.wall_ms()
        self.now = self.clock.monotonic()
        if self._mark_timer is None and self.config.journal_sync:
            self._mark_timer = self._loop.call_later(_MARK_SECONDS, self._mark_synced)
        touched: dict[Appender, None] = {}
        last = None
        runs = 0
        for appender, what in group.waiting:
            try:
                if appender is None:
                    what(None)
                    continue
                runs += 1
                if appender is not last:
                    touched[appender] = None
                    last = appender
                appender.confirm(what)
            except Exception:
                log.exception("a callback of a synced record failed")
        self.cache.end_group()
        for appender in touched:
            try:
                appender.group_ended()
            except Exception:
                log.exception("a reader of synced records failed")
        self.pressure.settle(runs * RUN_COST)
        if 2 * self.pressure.bytes > self.pressure.limit:
            self.writer.relieve()
        self._checkpoints.note(group.size)

    def _mark_synced(self) -> None:
        self._mark_timer = None
        if not self._closed:
            self._spawn(self._run(self._write_mark))

    def _write_mark(self) -> None:
        """It may lag behind, so it may also be missing."""
        number, end = self.journal.synced_end
        with contextlib.suppress(OSError):
            write_mark(self.disk, filenames.synced_file(self.path), Mark(number, end))

    def _on_failed(self, group: Group, error: Exception) -> None:
        """Nobody knows what of the group is on disk: what it touched is fenced, before anything else is written."""
        full = isinstance(error, OSError) and error.errno in NO_SPACE
        reason = (
            DiskFull(f"no space left for the journal: {error}")
            if full
            else Fenced(f"write to the journal failed: {error}")
        )
        log.error("%s", reason)
        _tell_of_failure(group, reason)
        if full:
            self._spawn(self._resume_on_full_disk(reason))
        else:
            _tell_of_failure(self.journal.resume(), reason)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _resume_on_full_disk(self, reason: StorageError) -> None:
        try:
            await self.space.ran_out(str(reason))
        except OSError:
            log.exception("the reserve could not be given up")
        finally:
            # What was appended meanwhile continues runs that failed: it must not be written either.
            _tell_of_failure(self.journal.resume(), reason)

    def _on_unwritten(self, ledger: Ledger, error: OSError) -> None:
        """A ledger file could not be written. Its entries are safe in the journal, which stays until they are."""
        log.error("ledger %d was not written: %s", ledger.info.id, error)
        if error.errno in NO_SPACE:
            self._spawn(self.space.ran_out(str(error)))
        else:
            self._fence(ledger.path, str(error))

    def _fence(self, path: Path, reason: str) -> None:
        for owner in self._loaded.values():
            owner.fence_if_owner(path, Fenced(f"write to {path} failed: {reason}"))

    # ---- end

    async def close(self) -> None:
        """Everything is written and the directory given up; open managed ledgers refuse from now on.

        What cannot be written to its place stays in the journal, and the next start replays it.
        """
        if self._closed:
            return
        self._closed = True
        if self._mark_timer is not None:
            self._mark_timer.cancel()
        if self._watching is not None:
            self._watching.cancel()
        await self._checkpoints.close()
        try:
            await self._write_everything()
        except (StorageError, OSError) as error:
            log.error("not everything was written, and the journal is kept: %s", error)
        self.acks.close()
        await self.space.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._run(self._close_files)
        self._readers.shutdown()
        self._metadata_thread.shutdown()

    async def _write_everything(self) -> None:
        results = await asyncio.gather(
            *(ledger.close() for ledger in list(self._loaded.values())), return_exceptions=True
        )
        for error in results:
            if isinstance(error, BaseException):
                raise error
        await self._checkpoints.run()

    async def checkpoint(self) -> None:
        """Make everything confirmed so far independent of the journal; raises what kept it from that."""
        await self._checkpoints.run()

    def _close_files(self) -> None:
        self.journal.stop()
        self._checkpoints.stop()
        self.writer.stop()
        self._files.close()
        self.metadata.close()
        self.disk.close(self._lock_fd)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await self._loop.run_in_executor(self._metadata_thread, work)


def _tell_of_failure(group: Group, reason: StorageError) -> None:
    for appender, what in group.waiting:
        try:
            if appender is None:
                what(reason)
            else:
                appender.fail(what, reason)
        except Exception:
            log.exception("a callback of a failed record failed")
