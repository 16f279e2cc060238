"""Opens a data directory, and everything its managed ledgers share: journal, writer, cache, checkpoints.

Pulsar's ManagedLedgerFactory. Threads, each with one job: `journal` syncs groups, `writer` writes ledger files,
`checkpoint` owns metadata.sqlite and syncs ledger files, two `reader`s serve cold reads. The event loop only hands
out work and takes results.

A checkpoint: the journal goes on in a new file; everything of the older files is by then in memory as confirmed;
ledger buffers are written and their files synced; the catalog is committed; the older journal files are deleted.
Publishing goes on meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from broker_core.clock import Clock, SystemClock
from broker_core.config import StorageConfig
from broker_core.storage import changes, directory, filenames
from broker_core.storage.cache import BlockCache
from broker_core.storage.catalog import ManagedLedgerInfo
from broker_core.storage.cursor import ManagedCursor
from broker_core.storage.disk import Disk, RealDisk
from broker_core.storage.errors import Closed, DamageReport, Fenced, StorageError
from broker_core.storage.journal import Appender, Group, Journal
from broker_core.storage.ledger_file import Ledger
from broker_core.storage.managed_ledger import ManagedLedger
from broker_core.storage.metadata import Metadata, Statement, checkpoint_statements
from broker_core.storage.open_files import OpenFiles
from broker_core.storage.pressure import Pressure
from broker_core.storage.reader import Reader
from broker_core.storage.recovery import Recovery
from broker_core.storage.writer import Writer

log = logging.getLogger("broker_core.storage")
_MB = 1 << 20
_T = TypeVar("_T")


class ManagedLedgerFactory:
    def __init__(self, path: Path, config: StorageConfig, disk: Disk, clock: Clock) -> None:
        self.path = path
        self.config = config
        self.clock = clock
        self.damage: list[DamageReport] = []
        self.pressure = Pressure(config.write_buffer_mb * _MB)
        self.full: str | None = None  # why appends are refused, while the disk is full
        self.wall_ms = clock.wall_ms()  # as of the last group, like
        self.now = clock.monotonic()
        self.disk = disk
        self._loop = asyncio.get_running_loop()
        self._checkpointer = ThreadPoolExecutor(1, "checkpoint")
        self._readers = ThreadPoolExecutor(2, "reader")
        self._files = OpenFiles(disk, config.open_files)
        self.writer = Writer(disk, self._files, self.pressure)
        self.cache = BlockCache(config.cache_mb * _MB, self.writer.flush)
        self.reader = Reader(disk, self._files, self._readers, self.cache, config.index_cache_mb * _MB)
        self.metadata = Metadata(disk, filenames.metadata_file(path), self._checkpointer)
        self._loaded: dict[str, ManagedLedger] = {}
        self._loading: dict[str, asyncio.Future[ManagedLedger]] = {}
        self._dirty_cursors: dict[ManagedCursor, int] = {}  # -> managed ledger id
        self._ack_timer: asyncio.TimerHandle | None = None
        self._checkpoint_timer: asyncio.TimerHandle | None = None
        self._checkpoint_lock = asyncio.Lock()
        self._checkpoint_task: asyncio.Task[None] | None = None
        self._journaled = 0  # bytes since the last checkpoint
        self._unsynced: set[Ledger] = set()  # written since the last checkpoint
        self._replayed: set[Path] = set()  # ledger files that recovery wrote
        self._closed = False

    @classmethod
    async def open(
        cls, directory: Path, config: StorageConfig, *, disk: Disk | None = None, clock: Clock | None = None
    ) -> "ManagedLedgerFactory":
        """Take the directory and bring it to the state of its last sync.

        Raises DirectoryLocked, FormatTooNew, NotOurDirectory, OSError.
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
            raise
        self.damage = recovery.damage
        self._replayed.update(recovery.written)
        self.journal = Journal(
            self.disk,
            self._journal_directory,
            recovery.next_number,
            recovery.tail_end,
            sync=self.config.journal_sync,
            pace_ms=self.config.journal_pace_ms,
            max_bytes=self.config.journal_max_mb * _MB,
            on_synced=self._on_synced,
        )
        self.journal.start(recovery.journals)
        if self.catalog.dirty:
            self._arm_checkpoint()

    def _recover(self) -> Recovery:
        self.metadata.open()
        self.catalog = self.metadata.load_catalog()
        recovery = Recovery(
            self.disk, self._files, self.catalog, self.metadata.load_info, self.metadata.find_owner, self.ledger_path
        )
        recovery.replay(self._journal_directory, self.metadata.first_journal)
        return recovery

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
        while name in self._loading:
            await asyncio.wait([self._loading[name]])
        ledger = self._loaded.get(name)
        if ledger is not None and ledger.is_open:
            return ledger
        if self._closed:
            raise Closed("the storage is closed")
        future = self._loading[name] = self._loop.create_future()
        try:
            ledger = self._loaded[name] = await self._load(name)
        finally:
            del self._loading[name]
            future.cancel()
        return ledger

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
        for ledger in ledgers.values():
            if not ledger.info.sealed_ms:
                # Of an earlier run: never continued, so it can be sealed without a record of its own.
                ledger.info.sealed_ms = self.clock.wall_ms()
                self.catalog.ledger_changed(info.id, ledger.info)
        return ManagedLedger(self, info, ledgers)

    async def close_ledger(self, info: ManagedLedgerInfo) -> None:
        self._loaded.pop(info.name, None)
        await self.synced()

    async def delete_ledger(self, name: str) -> None:
        """With its entries and cursors; durable on return."""
        ledger = await self.open_ledger(name)
        info = ledger.info
        await ledger.close()
        if info.id not in self.catalog.infos:
            return
        ids = list(info.ledgers)
        compacted = [self.compacted_path(i) for i in info.compacted]
        self.catalog.remove(info)
        await self.journal.synced(changes.change("delete", info.id))
        self._forget_ledgers(ledger, ids)
        for path in compacted:
            await self.read_thread(partial(self.disk.remove, path))

    async def remove_ledgers(self, owner: ManagedLedger, ledger_ids: list[int]) -> None:
        """Trim: durable first, then the files go."""
        info = owner.info
        self.catalog.remove_ledgers(info, ledger_ids)
        owner.ledgers.refresh()
        await self.journal.synced(changes.change("trim", info.id, ids=ledger_ids))
        self._forget_ledgers(owner, ledger_ids)

    def _forget_ledgers(self, owner: ManagedLedger, ledger_ids: list[int]) -> None:
        for ledger_id in ledger_ids:
            ledger = owner.forget(ledger_id)
            if ledger is not None:
                self.cache.forget(ledger)
                self.reader.forget(ledger)
                self._unsynced.discard(ledger)
                self.writer.remove(ledger)

    def ledger_changed(self, owner: int, ledger: Ledger) -> None:
        """Its first new entries since the last checkpoint."""
        ledger.changed = True
        self.catalog.ledger_changed(owner, ledger.info)
        self._unsynced.add(ledger)

    def ledger_sealed(self, owner: int, ledger: Ledger) -> None:
        self.catalog.ledger_changed(owner, ledger.info)
        if ledger.info.entries:
            self._unsynced.add(ledger)
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
        touched: dict[Appender, None] = {}
        last = None
        for appender, what in group.waiting:
            try:
                if appender is None:
                    what(None)
                    continue
                if appender is not last:
                    touched[appender] = None
                    last = appender
                appender.confirm(what)
            except Exception:
                log.exception("a callback of a synced record failed")
        for appender in touched:
            appender.group_ended()
        if 2 * self.pressure.bytes > self.pressure.limit:
            self.writer.flush_buffers()
        self._journaled += group.size
        if self._journaled > self.config.journal_max_mb * _MB // 4:
            self._start_checkpoint()
        elif self._checkpoint_timer is None:
            self._arm_checkpoint()

    def _on_failed(self, group: Group, error: Exception) -> None:
        """Nobody knows what of the group is on disk: what it touched is fenced, before anything else is written."""
        reason = Fenced(f"write to the journal failed: {error}")
        log.error("%s", reason)
        for failed in (group, self.journal.resume()):
            for appender, what in failed.waiting:
                try:
                    if appender is None:
                        what(reason)
                    else:
                        appender.fail(what, reason)
                except Exception:
                    log.exception("a callback of a failed record failed")

    # ---- cursors

    def cursor_dirty(self, owner: int, cursor: ManagedCursor) -> None:
        self._dirty_cursors[cursor] = owner
        if self._ack_timer is None:
            self._ack_timer = self._loop.call_later(self.config.ack_flush_ms / 1000, self._flush_acks)

    def _flush_acks(self) -> None:
        self._ack_timer = None
        cursors, self._dirty_cursors = self._dirty_cursors, {}
        for cursor, owner in cursors.items():
            self._write_acks(owner, cursor)

    def _write_acks(self, owner: int, cursor: ManagedCursor) -> None:
        for record in cursor.take_acks():
            self.catalog.cursor_changed(owner, cursor.info)
            self.journal.write(record, cursor.acks_written)

    async def flush_cursor(self, owner: int, cursor: ManagedCursor) -> None:
        self._dirty_cursors.pop(cursor, None)
        self._write_acks(owner, cursor)
        await self.synced()

    # ---- checkpoints

    def _arm_checkpoint(self) -> None:
        self._checkpoint_timer = self._loop.call_later(self.config.checkpoint_seconds, self._start_checkpoint)

    def _start_checkpoint(self) -> None:
        if self._checkpoint_task is None and not self._closed:
            self._checkpoint_task = self._loop.create_task(self._checkpoint_in_background())

    async def _checkpoint_in_background(self) -> None:
        try:
            await self.checkpoint()
        except Exception:
            log.exception("checkpoint failed; the journal is kept")
            self._arm_checkpoint()
        finally:
            self._checkpoint_task = None

    async def checkpoint(self) -> None:
        """Make everything confirmed so far independent of the journal, and delete the journal files before."""
        async with self._checkpoint_lock:
            if self._checkpoint_timer is not None:
                self._checkpoint_timer.cancel()
                self._checkpoint_timer = None
            self._journaled = 0
            number = await self.journal.rotate()
            # No await until the statements are made: they and the flushed buffers are one state.
            self.writer.flush_buffers()
            written = self.writer.barrier()
            unsynced = {ledger.path for ledger in self._unsynced} | self._replayed
            for ledger in self._unsynced:
                ledger.changed = False
            self._unsynced.clear()
            self._replayed.clear()
            statements = checkpoint_statements(self.catalog, number)
            await written
            await self._run(lambda: self._make_durable(unsynced, statements, number))

    def _make_durable(self, unsynced: set[Path], statements: list[Statement], number: int) -> None:
        for path in sorted(unsynced):
            if not self.disk.exists(path):
                continue  # trimmed meanwhile
            with self._files.use(path) as fd:
                self.disk.sync(fd)
        for folder in sorted({path.parent for path in unsynced}):
            self.disk.sync_directory(folder)
        self.metadata.commit(statements)
        self.journal.remove_before(number)

    # ---- end

    async def close(self) -> None:
        """Everything is written and the directory given up; open managed ledgers refuse from now on."""
        if self._closed:
            return
        self._closed = True
        if self._ack_timer is not None:
            self._ack_timer.cancel()
        if self._checkpoint_task is not None:
            await asyncio.wait([self._checkpoint_task])
        for ledger in list(self._loaded.values()):
            await ledger.close()
        with contextlib.suppress(StorageError):
            await self.synced()
        await self.checkpoint()
        if self._checkpoint_timer is not None:
            self._checkpoint_timer.cancel()
        await self._run(self._close_files)
        for executor in (self._readers, self._checkpointer):
            executor.shutdown()

    def _close_files(self) -> None:
        self.journal.stop()
        self.writer.stop()
        self._files.close()
        self.metadata.close()
        self.disk.close(self._lock_fd)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await self._loop.run_in_executor(self._checkpointer, work)
