"""Every change of every ledger and cursor, in order of arrival, made durable in groups.

The event loop adds records to the pending `Group`; the sync thread takes the whole group as one object, writes it,
syncs, and reports it back to the loop with one call. One fsync so answers everything that arrived meanwhile, over
all topics. After a large group the thread pauses before it takes the next one (`storage.log.pace`).

A failed write or sync is final for its group: what is on disk is unknown, so the file is abandoned, and nothing is
written before the loop has fenced what the group touched (`resume`). The next group goes to a new file.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from broker_core.storage import filenames
from broker_core.storage.disk import Disk
from broker_core.storage.log.doorbell import doorbell
from broker_core.storage.log.journal_spare import SpareFiles
from broker_core.storage.log.pace import Pace
from broker_core.storage.records.journal_group import AROUND, Appender, Done, Group, file_header, write_group
from broker_core.storage.watch import DirectoryWatch

log = logging.getLogger("broker_core.storage")
PREALLOCATION = 16 << 20

Work = tuple[list["asyncio.Future[int]"], Group | None]  # files to begin, or a group to write; neither: the end
OnSynced = Callable[[Group, Exception | None], None]


class Journal:
    """Fields above the line belong to the event loop, those below to the sync thread or to the lock."""

    def __init__(
        self,
        disk: Disk,
        directory: Path,
        first_number: int,
        previous_end: int,
        *,
        sync: bool,
        pace_ms: float,
        max_bytes: int,
        watch: DirectoryWatch,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._watch = watch
        self._disk = disk
        self.directory = directory
        self._sync = sync
        self._max_bytes = max_bytes
        self._bell = doorbell()  # rung after a change of what the lock guards, if the thread may wait for it
        self._lock = threading.Lock()
        # --- guarded by the lock
        self._group = Group()
        self._idle = False
        self._failed = False
        self._stopping = False
        self._rotations: list[asyncio.Future[int]] = []
        self._live: dict[int, int] = {}  # journal number -> bytes, of the files that exist
        self._blocks: dict[int, int] = {}  # journal number -> bytes that were written before it got that number
        # --- sync thread only
        self._number = first_number - 1
        self._fd: int | None = None
        self._path = ""  # of that file
        self._offset = previous_end
        self._allocated = 0
        self._written_before = 0  # bytes of the file whose blocks exist already
        self._pace = Pace(pace_ms / 1000)
        self._unreported: tuple[Group, Exception | None] | None = None
        self._spare = SpareFiles(disk, directory, max_bytes)
        self._spare_ahead = self._spare.size // 8
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self, existing: dict[int, int], on_synced: OnSynced) -> None:
        """`existing` are older files (number -> bytes) that the next checkpoint will remove.

        `on_synced` is called on the event loop with each group, and with the error if its write or sync failed.
        """
        self._on_synced: OnSynced = on_synced
        with self._lock:
            self._live.update(existing)
        self._thread.start()

    def add(
        self,
        head: bytes,
        blob: bytes | memoryview | None,
        length: int,
        appender: Appender | None,
        run_or_done: Any,
        entries: int = 1,
    ) -> None:
        """Put a record into the pending group; loop thread only. `run_or_done` is the appender's run, or a `Done`."""
        with self._lock:
            group = self._group
            group.parts.append(head)
            if blob is not None:
                group.parts.append(blob)
            group.size += length
            group.entries += entries
            group.waiting.append((appender, run_or_done))
            if self._idle:
                self._idle = False
                # Not at once: records that are added before the next loop iteration belong to the same group.
                self._loop.call_soon(self._bell.ring)

    def write(self, record: bytes, done: Done) -> None:
        """A record other than a run; `done(error or None)` is called on the loop after the sync."""
        self.add(record, None, len(record), None, done)

    async def synced(self, record: bytes, then: Done | None = None) -> None:
        """Writes a record and waits until it is durable.

        `then(error or None)` is called at that very moment, even if the caller was canceled meanwhile: the record is
        on its way to the disk, and a checkpoint right after it must find its effect.
        """
        future: asyncio.Future[None] = self._loop.create_future()

        def done(error: Exception | None) -> None:
            if then is not None:
                then(error)
            if not future.done():
                future.set_exception(error) if error else future.set_result(None)

        self.write(record, done)
        await future

    async def rotate(self) -> int:
        """Go on in a new file. All groups of files older than the returned number have been reported to the loop."""
        future: asyncio.Future[int] = self._loop.create_future()
        with self._lock:
            self._rotations.append(future)
        self._bell.ring()
        return await future

    def resume(self) -> Group:
        """After a failure was reported: takes back what was added since, which must fail too, and lets writes go on."""
        with self._lock:
            group, self._group = self._group, Group()
            self._failed = False
        self._bell.ring()
        return group

    @property
    def synced_end(self) -> tuple[int, int]:
        """The last journal file and how far it is synced; (0, 0) before the first group."""
        with self._lock:
            return max(self._live.items(), default=(0, 0))

    @property
    def live_bytes(self) -> int:
        """The bytes of all files that exist."""
        with self._lock:
            return sum(self._live.values())

    def remove_before(self, number: int) -> None:
        """Gives up the files that a checkpoint made superfluous. Blocks; not for the loop."""
        with self._lock:
            written = {n: max(self._live[n], self._blocks.get(n, 0)) for n in sorted(self._live) if n < number}
        for n, size in written.items():
            self._spare.keep(filenames.journal_file(self.directory, n), size)
            with self._lock:  # one by one: after a failure, the next checkpoint must not look for this file again
                del self._live[n]
                self._blocks.pop(n, None)
        self._disk.sync_directory(self.directory)
        self._bell.ring()

    def give_up_spare_files(self) -> None:
        """Deletes spare files on a full disk, and keeps none until `keep_spare_files`. Blocks; not for the loop."""
        self._spare.give_up()

    def keep_spare_files(self) -> None:
        """Keeps spare files again, because there is space."""
        self._spare.resume()

    def stop(self) -> None:
        """Writes what is pending and ends the thread. Blocks; not for the loop."""
        with self._lock:
            self._stopping = True
        self._bell.ring()
        self._thread.join()
        self._bell.close()
        self._spare.close()

    # ---- sync thread

    def _run(self) -> None:
        """Holds no group while it waits for the next one: what waited for a group may be large, such as a log."""
        while self._do(*self._next_work()):
            pass

    def _do(self, rotations: list["asyncio.Future[int]"], group: Group | None) -> bool:
        """Does the work that `_take_work` returned; False at the end."""
        if rotations:
            self._rotate(rotations)
        elif group is None:
            self._close_file()
            return False
        else:
            self._write_group(group)
        return True

    def _next_work(self) -> Work:
        while True:
            work = self._take_work()
            # Last before this thread works or waits without the GIL: the loop, which a report wakes, needs it at once.
            if self._unreported is not None:
                self._report(*self._unreported)
            if work is not None:
                return work
            self._bell.wait()

    def _take_work(self) -> Work | None:
        """The next work. Returns None if there is none; then `add` rings."""
        with self._lock:
            self._idle = False
            if self._rotations:
                rotations, self._rotations = self._rotations, []
                return rotations, None
            group = self._group
            if group.parts and not self._failed:
                if sum(self._live.values()) < self._max_bytes or self._stopping:
                    self._group = Group()
                    return [], group
            elif self._stopping:
                return [], None
            else:
                self._idle = True
            return None

    def _write_group(self, group: Group) -> None:
        error: Exception | None = None
        try:
            self._put(group)
        except Exception as failure:
            # Any error is reported: otherwise the producers of the group would wait forever.
            error = failure
            self._close_file()
            with self._lock:
                self._failed = True
        self._unreported = group, error
        with self._lock:  # before the report: its receipts are what a lone producer waits for
            waiting, stopping = bool(self._group.parts), self._stopping
        pause = self._pace.pause(group.entries, group.size, time.monotonic(), waiting=waiting)
        if pause and not stopping:
            self._report(group, error)
            time.sleep(pause)

    def _put(self, group: Group) -> None:
        if self._fd is None or self._should_change_file():
            self._open_next()
        assert self._fd is not None
        end = self._offset + AROUND + group.size
        if end > self._allocated and end > self._written_before:
            self._preallocate(self._fd, end)
        write_group(self._disk, self._fd, self._number, self._offset, group, sync=self._sync)
        self._watch.check_written(self._fd, self._path)
        self._offset = end
        with self._lock:
            self._live[self._number] = end
        if end + self._spare_ahead > self._written_before and end > self._spare_ahead:
            self._spare.make()

    def _preallocate(self, fd: int, end: int) -> None:
        self._allocated = max(end, self._allocated + PREALLOCATION)
        # On a full disk the group may still fit where nothing can be reserved.
        with contextlib.suppress(OSError):
            self._disk.preallocate(fd, self._offset, self._allocated - self._offset)

    def _should_change_file(self) -> bool:
        """Whether a spare file is ready, and the blocks of this file are used up or were never written before."""
        return self._offset > max(self._written_before, self._spare_ahead) and not self._spare.is_empty

    def _report(self, group: Group, error: Exception | None) -> None:
        self._unreported = None
        try:
            self._loop.call_soon_threadsafe(self._answer, group, error)
        except RuntimeError:
            return  # a closed loop has no one to notify

    def _answer(self, group: Group, error: Exception | None) -> None:
        """Answers what waited for the group; on the loop."""
        self._on_synced(group, error)

    def _rotate(self, rotations: list["asyncio.Future[int]"]) -> None:
        self._close_file()
        number = self._number + 1  # the next group, whenever it comes, opens this file

        def resolve() -> None:
            for future in rotations:
                if not future.done():
                    future.set_result(number)

        self._loop.call_soon_threadsafe(resolve)

    def _open_next(self) -> None:
        previous_end = self._offset
        self._watch.check()
        self._close_file()
        number = self._number + 1
        path = filenames.journal_file(self.directory, number)
        written_before = self._spare.take(path)
        fd = self._disk.open(path, create=True)
        try:
            if not written_before:
                self._disk.truncate(fd, 0)
            header = file_header(number, previous_end)
            self._disk.pwrite(fd, header, 0)
            self._disk.sync(fd)
            self._disk.sync_directory(self.directory)
        except BaseException:
            self._disk.close(fd)
            raise
        self._number = number
        self._fd, self._path = fd, str(path)
        self._offset = self._allocated = len(header)
        self._written_before = written_before
        with self._lock:
            self._blocks[number] = written_before
            self._live[number] = self._offset

    def _close_file(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            try:
                self._disk.close(fd)
            except OSError as error:  # on a network file system; what was answered is synced, and nothing else counts
                log.error("cannot close %s: %s", self._path, error)
