"""A real disk that fails, fills up, or waits when a test says so."""

import errno
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from broker_core.storage.disk import RealDisk


class FaultyDisk(RealDisk):
    """`failures` maps (operation, suffix of the file name) to the errno of the next calls; `full` stops all growth."""

    def __init__(self) -> None:
        self.failures: dict[tuple[str, str], int] = {}
        self.full = False
        self.sync_seconds = 0.0
        self.removal_seconds = 0.0
        self.calls: list[tuple[str, str]] = []
        self._paths: dict[int, Path] = {}

    def _check(self, operation: str, path: Path) -> None:
        self.calls.append((operation, path.name))
        for (wanted, suffix), number in self.failures.items():
            if wanted == operation and path.name.endswith(suffix):
                raise OSError(number, os.strerror(number), str(path))

    def _check_room(self, fd: int, end: int) -> None:
        if self.full and end > self.size(fd):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._paths[fd]))

    def open(self, path: Path, *, create: bool = False) -> int:
        self._check("open", path)
        fd = super().open(path, create=create)
        self._paths[fd] = path
        return fd

    def close(self, fd: int) -> None:
        """Also a close that fails gives up the descriptor, as on Linux."""
        super().close(fd)
        if fd in self._paths:
            self._check("close", self._paths.pop(fd))

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        self._check("pread", self._paths[fd])
        return super().pread(fd, size, offset)

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        self._check("pwrite", self._paths[fd])
        self._check_room(fd, offset + len(data))
        super().pwrite(fd, data, offset)

    def preallocate(self, fd: int, offset: int, size: int) -> None:
        self._check_room(fd, offset + size)
        super().preallocate(fd, offset, size)

    def sync(self, fd: int) -> None:
        self._check("sync", self._paths[fd])
        time.sleep(self.sync_seconds)  # a slow disk
        super().sync(fd)

    def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
        """Two steps, as on a platform without a combined call. Either may fail."""
        self.pwrite(fd, b"".join(buffers), offset)
        self.sync(fd)

    def remove(self, path: Path) -> None:
        self._check("remove", path)
        time.sleep(self.removal_seconds)
        super().remove(path)

    def commit(self, connection: sqlite3.Connection) -> None:
        if ("commit", "") in self.failures:
            raise sqlite3.OperationalError("disk I/O error")
        time.sleep(self.sync_seconds)  # a slow disk
        super().commit(connection)

    def free_bytes(self, path: Path) -> int:
        return 0 if self.full else super().free_bytes(path)
