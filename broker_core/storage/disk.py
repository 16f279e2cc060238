"""The only file-system calls of the storage engine: the seam for tests that fail, slow down or cut the power.

All calls block; none is made on the event loop, except where a comment says so. `sync` returns only when the bytes
are on stable storage (fdatasync on Linux, F_FULLFSYNC on macOS, where fsync alone stops at the drive's cache).
A name is durable only after `sync_directory` of its folder.

fcntl is imported where it is used: Windows has none, but its clients import this module with the readers of tables.
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from broker_core.storage.errors import DirectoryLocked, NotOurDirectory

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_SUPPORTED = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})


class Disk(Protocol):
    def open(self, path: Path, *, create: bool = False) -> int:
        """A descriptor for reading and writing; `create` makes a missing file."""

    def close(self, fd: int) -> None: ...

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        """All of `data`, or OSError."""

    def sync(self, fd: int) -> None: ...

    def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
        """Writes the buffers one after the other and syncs them; other writes may not be on stable storage yet."""

    def preallocate(self, fd: int, offset: int, size: int) -> None:
        """Reserve zeroed space, so that a later sync need not write file metadata; may do nothing."""

    def truncate(self, fd: int, size: int) -> None: ...

    def size(self, fd: int) -> int: ...

    def file_size(self, path: Path) -> int | None:
        """None when there is no such file."""

    def is_deleted(self, fd: int) -> bool:
        """Whether the open file has lost its name, so that a restart cannot find it."""

    def is_named(self, path: str) -> bool:
        """Whether there is a file of that name, at the least cost; False also if the directory may not be searched."""

    def identity(self, path: Path) -> tuple[int, int]:
        """Device and number of a file or directory. Raises OSError when it is not there."""

    def sync_directory(self, path: Path) -> None: ...

    def make_directory(self, path: Path) -> None:
        """Creates missing parents too; the new names are durable on return."""

    def list_directory(self, path: Path) -> list[str]: ...

    def exists(self, path: Path) -> bool: ...

    def remove(self, path: Path) -> None:
        """A missing file is fine."""

    def replace(self, path: Path, data: bytes) -> None:
        """Atomically: afterwards, and after any crash, the file is whole, old or new."""

    def rename(self, path: Path, target: Path) -> None:
        """Atomically replaces the target; durable after the next `sync_directory`."""

    def free_bytes(self, path: Path) -> int: ...

    def lock(self, path: Path, owner: str) -> int:
        """Takes the lock file or raises DirectoryLocked; the lock ends with the process.

        A link of that name is refused with NotOurDirectory: the file it points to would be overwritten.
        """

    def connect(self, path: Path) -> sqlite3.Connection: ...

    def commit(self, connection: sqlite3.Connection) -> None: ...

    def merge(self, connection: sqlite3.Connection) -> bool:
        """Move SQLite's write-ahead log into the database; False when a reader kept some of it out."""


class RealDisk:
    _writes_through = hasattr(os, "RWF_DSYNC")  # Linux; not every file system supports it

    def open(self, path: Path, *, create: bool = False) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return os.open(path, flags, 0o600)

    def open_to_read(self, path: Path) -> int:
        """For tools that look at files which may belong to a running broker."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def is_locked(self, path: Path) -> bool:
        """Whether a process holds the lock file; for tools that change nothing."""
        import fcntl

        try:
            fd = self.open_to_read(path)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(fd)
        return False

    def close(self, fd: int) -> None:
        os.close(fd)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = os.pread(fd, size, offset)
        if len(data) == size or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size and (data := os.pread(fd, size - got, offset + got)):
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        written = os.pwrite(fd, data, offset)
        while written < len(data):
            written += os.pwrite(fd, memoryview(data)[written:], offset + written)

    def sync(self, fd: int) -> None:
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
        written = self._write_through(fd, buffers, offset)
        if written < sum(map(len, buffers)):
            self.pwrite(fd, b"".join(buffers)[written:], offset + written)
            self.sync(fd)

    def _write_through(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> int:
        """How many bytes one call has both written and synced; 0 where the platform has no such call."""
        if not self._writes_through:
            return 0
        try:
            return os.pwritev(fd, buffers, offset, os.RWF_DSYNC)
        except OSError as error:
            if error.errno not in NOT_SUPPORTED:
                raise
        self._writes_through = False
        return 0

    def preallocate(self, fd: int, offset: int, size: int) -> None:
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(fd, offset, size)
        except OSError as error:
            if error.errno in NO_SPACE:
                raise
            # The file system cannot: writing still works, a sync just costs a little more.

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def file_size(self, path: Path) -> int | None:
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return None

    def is_deleted(self, fd: int) -> bool:
        # Not fstat: a file whose times were read gets a new, precise one at its next write (multigrain timestamps,
        # Linux 6.13), which makes a synced write of 110 us take 180.
        try:
            return os.readlink(f"/proc/self/fd/{fd}").endswith(" (deleted)")
        except OSError:  # no /proc
            return not os.fstat(fd).st_nlink

    def is_named(self, path: str) -> bool:
        return os.access(path, os.F_OK)  # a sixth of what /proc costs, and as in `is_deleted`, no times

    def identity(self, path: Path) -> tuple[int, int]:
        status = os.stat(path)
        return status.st_dev, status.st_ino

    def sync_directory(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def make_directory(self, path: Path) -> None:
        if path.is_dir():
            return
        self.make_directory(path.parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        self.sync_directory(path.parent)

    def list_directory(self, path: Path) -> list[str]:
        return os.listdir(path)

    def exists(self, path: Path) -> bool:
        return path.exists()

    def remove(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def replace(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(path.name + ".new")
        fd = self.open(temporary, create=True)
        try:
            self.truncate(fd, 0)
            self.pwrite(fd, data, 0)
            self.sync(fd)
        finally:
            self.close(fd)
        self.rename(temporary, path)
        self.sync_directory(path.parent)

    def rename(self, path: Path, target: Path) -> None:
        os.replace(path, target)

    def free_bytes(self, path: Path) -> int:
        return shutil.disk_usage(path).free

    def lock(self, path: Path, owner: str) -> int:
        import fcntl

        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            kind = {errno.ELOOP: "a symbolic link", errno.EISDIR: "a directory"}.get(error.errno or 0)
            if kind is None:
                raise
            raise NotOurDirectory(f"{path} is {kind}, not the lock of a data directory; remove it") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            text = os.pread(fd, 1000, 0).decode("utf-8", "replace").strip()
            os.close(fd)
            raise DirectoryLocked(path.parent, text) from error
        with contextlib.suppress(OSError):  # a full disk; written over the old name first, whose block is there
            os.ftruncate(fd, os.pwrite(fd, owner.encode(), 0))
        return fd

    def connect(self, path: Path) -> sqlite3.Connection:
        _make_private(path)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA wal_autocheckpoint=0")  # by `merge` only: page sums go with it
            if sys.platform == "darwin":
                connection.execute("PRAGMA fullfsync=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def commit(self, connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")

    def merge(self, connection: sqlite3.Connection) -> bool:
        busy, frames, merged = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return not busy and frames == merged


def _make_private(database: Path) -> None:
    """Only the owner can read the database and what SQLite keeps beside it; new files get the mode of the first."""
    os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError, PermissionError):
            os.chmod(f"{database}{suffix}", 0o600)
