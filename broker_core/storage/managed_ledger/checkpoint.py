"""Checkpoints: what makes the journal superfluous.

The journal goes on in a new file; everything of the older files is by then in memory as confirmed. Ledger buffers are
written and their files synced; the catalog is committed with the number of the new journal; the older journal files
are deleted. Publishing goes on meanwhile, and so do document commits, for files are synced in threads of their own.
A checkpoint that fails keeps the journal and leaves its work to the next.

One is due when an eighth of the allowed journal has been written, and `flushInterval` after the first change.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from broker_core.config.storage import StorageConfig
from broker_core.storage.catalog.catalog_rows import add_cursor_rows, checkpoint_rows
from broker_core.storage.catalog.metadata import Metadata
from broker_core.storage.catalog.tables import RowChange
from broker_core.storage.disk import Disk
from broker_core.storage.log.journal import Journal
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.log.rewritten_ledger import rewrite_ledger
from broker_core.storage.log.writer import Writer
from broker_core.storage.records.catalog import Catalog
from broker_core.storage.records.ledger_file import Ledger

log = logging.getLogger("broker_core.storage")
_T = TypeVar("_T")
_SYNCERS = 4  # a file system answers syncs that wait together with one commit


class Checkpoints:
    def __init__(
        self,
        disk: Disk,
        files: OpenFiles,
        journal: Journal,
        writer: Writer,
        catalog: Catalog,
        metadata: Metadata,
        config: StorageConfig,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._disk = disk
        self._files = files
        self._journal = journal
        self._writer = writer
        self._catalog = catalog
        self._metadata = metadata
        self._seconds = config.checkpoint_seconds
        self._due_bytes = (config.journal_max_mb << 20) // 8
        self._syncer = ThreadPoolExecutor(_SYNCERS, "syncer")
        self._journaled = 0  # bytes since the last checkpoint
        self._changed: set[Ledger] = set()  # since the last checkpoint
        self._unsynced: dict[int, Path] = {}  # by ledger: files that recovery wrote, or that a failed checkpoint left
        self._torn: dict[int, Path] = {}  # by ledger: files whose sync failed, until they are written again
        self._uncommitted: list[RowChange] = []  # of a failed checkpoint
        self._folders: set[Path] = set()  # of removed files
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._closed = False

    def after_recovery(self, written: dict[int, Path], journaled: int, *, at_once: bool) -> None:
        """Replayed files and the journal they came from are the next checkpoint's work; a full disk has it at once."""
        self._unsynced.update(written)
        if at_once:
            self._start()
        elif journaled:
            self.note(journaled)

    def note(self, size: int) -> None:
        """`size` more bytes are in the journal."""
        self._journaled += size
        if self._journaled > self._due_bytes:
            self._start()
        elif self._timer is None:
            self._arm()

    def ledger_changed(self, ledger: Ledger) -> None:
        self._changed.add(ledger)

    def ledger_removed(self, ledger: Ledger) -> None:
        self._changed.discard(ledger)
        self._unsynced.pop(ledger.info.id, None)
        self._torn.pop(ledger.info.id, None)
        self._folders.add(ledger.path.parent)

    async def run(self) -> None:
        """Makes everything confirmed so far independent of the journal, and deletes the journal files before."""
        async with self._lock:
            self._disarm()
            self._journaled = 0
            number = await self._journal.rotate()
            # No await until the rows of ledgers are made: they and the flushed buffers are one state.
            self._writer.flush_buffers()
            written = self._writer.barrier()
            for ledger in self._changed:
                ledger.changed = False
                self._unsynced[ledger.info.id] = ledger.path
            self._changed.clear()
            self._uncommitted += checkpoint_rows(self._catalog, number)
            await add_cursor_rows(self._catalog, self._uncommitted)
            await written
            await self._sync_files()
            await self._metadata.run(partial(self._metadata.commit, list(self._uncommitted)))
            self._uncommitted.clear()
            await self._in_syncer(partial(self._journal.remove_before, number))

    async def _sync_files(self) -> None:
        files = dict(self._unsynced)
        folders = set(self._folders)
        folders |= {path.parent for path in files.values()}
        places = sorted(files.items())
        shares = [partial(self._sync, places[i::_SYNCERS]) for i in range(min(_SYNCERS, len(places)))]
        await asyncio.gather(*(self._in_syncer(share) for share in shares))
        await self._in_syncer(partial(self._sync_folders, folders))
        await self._write_torn_again()
        self._unsynced = {i: path for i, path in self._unsynced.items() if i not in files}
        self._folders -= folders

    async def _write_torn_again(self) -> None:
        """A failed sync may have thrown the written pages away, and the next one would succeed without them."""
        for ledger_id, path in list(self._torn.items()):
            first = await self._metadata.run(lambda: self._metadata.first_journal)
            entries, end = await self._metadata.run(partial(self._metadata.ledger_end, ledger_id))
            await self._in_syncer(partial(self._rewrite, path, first, ledger_id, entries, end))
            self._torn.pop(ledger_id, None)

    def _sync(self, files: list[tuple[int, Path]]) -> None:
        """Notes the files whose sync failed. Syncer thread."""
        for ledger_id, path in files:
            try:
                with self._files.use(path) as fd:
                    self._disk.sync(fd)
            except FileNotFoundError:
                continue  # trimmed in the meantime
            except OSError as error:
                log.error("sync of %s failed (%s); it is written again from the journal", path, error)
                self._torn[ledger_id] = path

    def _sync_folders(self, folders: set[Path]) -> None:
        for folder in sorted(folders):
            if self._disk.exists(folder):
                self._disk.sync_directory(folder)

    def _rewrite(self, path: Path, first_journal: int, ledger_id: int, entries: int, end: int) -> None:
        if not self._disk.exists(path):
            return  # trimmed in the meantime
        with self._files.use(path) as fd:
            rewrite_ledger(self._disk, fd, self._journal.directory, first_journal, ledger_id, entries, end)
            self._disk.sync(fd)

    async def _in_syncer(self, work: Callable[[], _T]) -> _T:
        return await self._loop.run_in_executor(self._syncer, work)

    # ---- when

    def _arm(self) -> None:
        self._timer = self._loop.call_later(self._seconds, self._start)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        if self._task is None and not self._closed:
            self._task = self._loop.create_task(self._run_in_background())

    async def _run_in_background(self) -> None:
        """Starts the next one if it is due: a full journal writes nothing, so nothing would be noted anymore."""
        is_due = False
        try:
            await self.run()
            is_due = self._journaled > self._due_bytes
        except Exception:
            log.exception("checkpoint failed; the broker keeps the journal")
            self._disarm()
            self._arm()
        finally:
            self._task = None
        if is_due:
            self._start()

    async def close(self) -> None:
        """Starts no more checkpoints; finishes a running one."""
        self._closed = True
        if self._task is not None:
            await asyncio.wait([self._task])
        self._disarm()

    def stop(self) -> None:
        """Blocks; not for the loop."""
        self._disarm()
        self._syncer.shutdown()
