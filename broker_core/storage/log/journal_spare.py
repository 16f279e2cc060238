"""Journal files made ready: every block of them was written before, so a sync has no file metadata to write.

Why: where a sync finds new blocks, a journaling file system commits its metadata, and that commit waits for other
files' data too. Beside a growing ledger file such a sync takes tens of milliseconds now and then; a sync of blocks
that exist already does not. So journal files that a checkpoint made superfluous are used again under a new name,
and until there are any, a file of zeros is written in the background. What an older file leaves behind is never
taken for a group: a group's header names its journal and its place.

Spare files mean nothing: they are deleted at start and at a clean stop.
"""

import contextlib
import threading
from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.disk import Disk

LARGEST = 32 << 20  # bytes of a file of zeros
_PIECE = 1 << 20


def remove_spare_files(disk: Disk, directory: Path) -> None:
    """Removes the spare files that an earlier run left."""
    for name in disk.list_directory(directory):
        if filenames.is_spare_journal(name):
            disk.remove(directory / name)


class SpareFiles:
    """Used by the sync thread, the checkpoint's thread and the one that writes zeros: guarded by a lock."""

    def __init__(self, disk: Disk, directory: Path, journal_bytes: int) -> None:
        """`journal_bytes`: the most journal between two checkpoints; half of it may lie around as spare files."""
        self._disk = disk
        self._directory = directory
        self._most_bytes = journal_bytes // 2
        self.size = min(LARGEST, journal_bytes // 8)  # of a file of zeros
        self._lock = threading.Lock()
        self._sizes: dict[Path, int] = {}  # bytes that were written before
        self._given_up = False  # while the disk is full
        self._named = 0
        self._making: threading.Thread | None = None

    @property
    def is_empty(self) -> bool:
        return not self._sizes

    def take(self, target: Path) -> int:
        """Gives a spare file the name of a journal file; returns how many of its bytes were written before, 0: none.

        The new name is durable after the next sync of the directory. A spare file that cannot be used is left behind.
        """
        with self._lock:
            if not self._sizes:
                return 0
            path, size = self._sizes.popitem()
            try:
                self._disk.rename(path, target)
            except OSError:
                return 0
            return size

    def keep(self, retired: Path, written: int) -> None:
        """Makes an obsolete journal file a spare one; deletes it if it is small or there are enough.

        `written`: the number of its bytes that have been written before.
        """
        with self._lock:
            if self._given_up or written < self.size or sum(self._sizes.values()) + written > self._most_bytes:
                self._disk.remove(retired)
                return
            spare = self._next_name()
            self._disk.rename(retired, spare)
            self._sizes[spare] = written

    def give_up(self) -> None:
        """Deletes the spare files on a full disk, and keeps none until `resume`."""
        with self._lock:
            self._given_up = True
            while self._sizes:
                self._remove(self._sizes.popitem()[0])

    def resume(self) -> None:
        """Keeps spare files again, because there is space."""
        with self._lock:
            self._given_up = False

    def make(self) -> None:
        """Writes a file of zeros in the background, unless one is being written or there is a spare one."""
        if self._given_up or self._sizes or (self._making is not None and self._making.is_alive()):
            return
        self._making = threading.Thread(target=self._write_zeros, name="journal-spare", daemon=True)
        self._making.start()

    def close(self) -> None:
        """Deletes all spare files. Blocks until the thread has ended, for one file of zeros at most."""
        if self._making is not None:
            self._making.join()
        with contextlib.suppress(OSError):  # the next start deletes the remaining files
            remove_spare_files(self._disk, self._directory)
        self._sizes.clear()

    def _write_zeros(self) -> None:
        with self._lock:
            path = self._next_name()
        try:
            fd = self._disk.open(path, create=True)
            try:
                zeros = bytes(_PIECE)
                for offset in range(0, self.size, _PIECE):
                    self._disk.pwrite(fd, zeros[: self.size - offset], offset)
                self._disk.sync(fd)
            finally:
                self._disk.close(fd)
        except OSError:
            self._remove(path)  # a full disk has no space for a file that only saves time
            return
        with self._lock:
            if self._given_up:
                self._remove(path)
            else:
                self._sizes[path] = self.size

    def _remove(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # the next start deletes it
            self._disk.remove(path)

    def _next_name(self) -> Path:
        self._named += 1
        return filenames.spare_journal(self._directory, self._named)
