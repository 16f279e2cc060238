"""Writes ledger buffers to ledger files, after the journal, in one thread.

A ledger is written when its buffer reaches 128 KiB, when all buffers together fill half of what `Pressure` allows,
when the cache needs memory, and at checkpoints. Work is done in the order it was handed in, so the parts of a
file arrive in order.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from broker_core.storage.disk import Disk
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.pressure import Pressure
from broker_core.storage.records import ledger_file
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.watch import DirectoryWatch

log = logging.getLogger("broker_core.storage")
FLUSH_AT = 128 << 10

Job = tuple[Ledger, Callable[[], None], int]  # what to do for a ledger, and how many bytes that writes


class Writer:
    """`on_unwritten` is called on the loop when a ledger could not be written; `retry` and every barrier try again."""

    def __init__(
        self,
        disk: Disk,
        files: OpenFiles,
        pressure: Pressure,
        watch: DirectoryWatch,
        on_unwritten: Callable[[Ledger, OSError], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._disk = disk
        self._files = files
        self._pressure = pressure
        self._watch = watch
        self._thread = ThreadPoolExecutor(1, "writer")
        self._buffered: dict[Ledger, None] = {}  # ledgers with something to write, in the order of its arrival
        self._handed = 0  # bytes that the thread has got and not written yet
        self._on_unwritten = on_unwritten
        # --- writer thread only
        self._folders: set[Path] = set()  # known to exist
        self._unwritten: dict[Ledger, list[tuple[Callable[[], None], int]]] = {}  # what failed, and what follows it

    def buffer(self, ledger: Ledger) -> None:
        """Notes that the ledger has something to write, at a later time."""
        self._buffered[ledger] = None

    def flush(self, ledger: Ledger) -> None:
        """Hands the ledger's buffer to the thread."""
        self._buffered.pop(ledger, None)
        if ledger.parts:
            self._thread.submit(self._do, *self._take(ledger))

    def _take(self, ledger: Ledger) -> Job:
        length = ledger.buffered
        self._handed += length
        return ledger, partial(self._write, ledger, *ledger.take_buffer(), length), length

    def relieve(self) -> None:
        """Writes everything, because memory is short, unless that is being done. Single records would be slow."""
        if not self._handed:
            self.flush_buffers()

    def _written(self, length: int) -> None:
        self._handed -= length
        self._pressure.release(length)
        if 2 * self._pressure.bytes > self._pressure.limit:
            self.relieve()

    def flush_buffers(self) -> None:
        """Hands over all buffers as one piece of work: with ten thousand ledgers, single ones would delay the loop."""
        jobs = [self._take(ledger) for ledger in self._buffered if ledger.parts]
        self._buffered.clear()
        if jobs:
            self._thread.submit(self._do_all, jobs)

    def seal(self, ledger: Ledger) -> None:
        """Writes the index after the last record; everything in the ledger is confirmed."""
        self.flush(ledger)
        assert ledger.spans is not None
        footer = ledger_file.footer(ledger.info, ledger.spans)
        self._thread.submit(self._do, ledger, partial(self._write_footer, ledger, ledger.info.end, footer), 0)

    def remove(self, ledger: Ledger) -> "Future[None]":
        """Deletes the file, after whatever was handed in before; done when it is gone. A failure is also logged."""
        self._buffered.pop(ledger, None)
        self._pressure.release(ledger.buffered)
        ledger.take_buffer()
        return self._thread.submit(self._remove, ledger)

    def barrier(self) -> "asyncio.Future[None]":
        """Done when everything handed in so far is in the files; fails with OSError when something is not."""
        return asyncio.wrap_future(self._thread.submit(self._catch_up, raising=True), loop=self._loop)

    def retry(self) -> None:
        """Tries again to write what could not be written."""
        self._thread.submit(self._catch_up)

    def stop(self) -> None:
        """Blocks; not for the loop."""
        self._thread.shutdown()

    # ---- writer thread

    def _do_all(self, jobs: list[Job]) -> None:
        for job in jobs:
            self._do(*job)

    def _do(self, ledger: Ledger, work: Callable[[], None], length: int) -> None:
        """Works in order per ledger: what follows an unwritten part has to wait with it."""
        waiting = self._unwritten.get(ledger)
        if waiting is not None:
            waiting.append((work, length))
            return
        try:
            work()
        except OSError as error:
            self._unwritten[ledger] = [(work, length)]
            self._tell(partial(self._on_unwritten, ledger, error))

    def _catch_up(self, *, raising: bool = False) -> None:
        for ledger, waiting in list(self._unwritten.items()):
            try:
                while waiting:
                    waiting[0][0]()
                    waiting.pop(0)
            except OSError:
                if raising:
                    raise
                continue
            del self._unwritten[ledger]

    def _write(
        self, ledger: Ledger, offset: int, parts: list[bytes | memoryview], entries: int, end: int, length: int
    ) -> None:
        folder = ledger.path.parent
        if folder not in self._folders:
            self._watch.check()
            self._disk.make_directory(folder)
            self._folders.add(folder)
        if offset == ledger_file.DATA_START:
            parts = [ledger_file.file_header(ledger.info.id, ledger.info.created_ms), *parts]
            offset = 0
        with self._files.use(ledger.path, create=True) as fd:
            self._disk.pwrite(fd, b"".join(parts), offset)
        ledger.flushed_entries, ledger.flushed_end = entries, end
        self._tell(partial(self._written, length))

    def _write_footer(self, ledger: Ledger, offset: int, footer: bytes) -> None:
        with self._files.use(ledger.path, create=True) as fd:
            self._disk.truncate(fd, offset)
            self._disk.pwrite(fd, footer, offset)

    def _remove(self, ledger: Ledger) -> None:
        for _, length in self._unwritten.pop(ledger, ()):
            self._tell(partial(self._written, length))
        try:
            self._disk.remove(ledger.path)
        except OSError as error:
            log.error("ledger %d: cannot delete its file: %s", ledger.info.id, error)
            raise
        finally:  # not before: a reader could open the old file again
            self._files.forget(ledger.path)

    def _tell(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(callback)
