"""The storage engine's disk, with a record of every call.

SQLite writes through its own C code, so its files are compared before and after each commit. The differences are logged
in the order that SQLite documents for a WAL with synchronous=FULL: frames to the WAL, sync of the WAL, and then, if the
commit also ran a checkpoint, pages to the database and its sync. `connect` counts as one step, because SQLite's
rollback journal protects the new file. The -shm file is left out, since SQLite rebuilds it.
"""

import itertools
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from broker_core.storage.disk import RealDisk
from tests.long.powercut.calls import (
    Appeared,
    CallLog,
    Created,
    DirectorySynced,
    MadeDirectory,
    Removed,
    Renamed,
    Resized,
    Synced,
    Written,
)

SECTOR = 512


class RecordingDisk(RealDisk):
    def __init__(self, root: Path, log: CallLog) -> None:
        self.root = root
        self.log = log
        self._numbers = itertools.count()
        self._files: dict[str, int] = {}  # path -> file
        self._open: dict[int, int] = {}  # descriptor -> file
        self._sqlite: dict[str, bytes] = {}  # path -> content as last seen

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.root)

    def name_of(self, fd: int) -> str:
        """The path, relative to the root, of an open file."""
        return next(name for name, file in self._files.items() if file == self._open[fd])

    def _created(self, path: Path) -> Created:
        name = self._name(path)
        self._files[name] = next(self._numbers)
        return Created(name, self._files[name])

    # -- files

    def open(self, path: Path, *, create: bool = False) -> int:
        if create and not path.exists():
            self.log.add(self._created(path))
        fd = super().open(path, create=create)
        self._open[fd] = self._files[self._name(path)]
        return fd

    def close(self, fd: int) -> None:
        self._open.pop(fd, None)
        super().close(fd)

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        self.log.add(Written(self._open[fd], offset, bytes(data)))
        super().pwrite(fd, data, offset)

    def preallocate(self, fd: int, offset: int, size: int) -> None:
        if offset + size > self.size(fd):
            self.log.add(Resized(self._open[fd], offset + size))
        super().preallocate(fd, offset, size)

    def truncate(self, fd: int, size: int) -> None:
        self.log.add(Resized(self._open[fd], size))
        super().truncate(fd, size)

    def sync(self, fd: int) -> None:
        covers = len(self.log)
        super().sync(fd)
        self.log.add(Synced(self._open[fd], covers))

    def _write_through(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> int:
        """Until it returns, it is like any other write: lost, torn, or complete after a cut."""
        data = b"".join(buffers)
        self.log.add(Written(self._open[fd], offset, data))
        covers = len(self.log)
        written = super()._write_through(fd, buffers, offset)
        if written == len(data):  # otherwise `pwrite` and `sync` follow and are logged
            self.log.add(Synced(self._open[fd], covers))
        return written

    # -- names

    def sync_directory(self, path: Path) -> None:
        covers = len(self.log)
        super().sync_directory(path)
        self.log.add(DirectorySynced(self._name(path), covers))

    def make_directory(self, path: Path) -> None:
        is_new = not path.exists()
        super().make_directory(path)
        if is_new:
            self.log.add(MadeDirectory(self._name(path)))

    def remove(self, path: Path) -> None:
        if self._files.pop(self._name(path), None) is not None:
            self.log.add(Removed(self._name(path)))
        super().remove(path)

    def rename(self, path: Path, target: Path) -> None:
        name, new_name = self._name(path), self._name(target)
        self.log.add(Renamed(name, new_name))
        self._files[new_name] = self._files.pop(name)
        super().rename(path, target)

    # -- SQLite

    def connect(self, path: Path) -> sqlite3.Connection:
        connection = super().connect(path)
        created, content = self._created(path), path.read_bytes()
        self._sqlite[created.path] = content
        self.log.add(Appeared(created.path, created.file, content))
        return connection

    def commit(self, connection: sqlite3.Connection) -> None:
        (_, _, name), *_ = connection.execute("PRAGMA database_list").fetchall()
        database = Path(name)
        self._note_changes(database)  # commits from elsewhere, such as the schema
        super().commit(connection)
        self._note_changes(database)

    def merge(self, connection: sqlite3.Connection) -> bool:
        (_, _, name), *_ = connection.execute("PRAGMA database_list").fetchall()
        self._note_changes(Path(name))
        merged = super().merge(connection)
        self._note_changes(Path(name))
        return merged

    def _note_changes(self, database: Path) -> None:
        for path in (database.with_name(database.name + "-wal"), database):
            if path.exists():
                self._note_file(path)

    def _note_file(self, path: Path) -> None:
        name, new = self._name(path), path.read_bytes()
        old = self._sqlite.get(name)
        if old == new:
            return
        if old is None:
            created = self._created(path)
            self.log.add(created, DirectorySynced(self._name(path.parent), len(self.log) + 1))
        file = self._files[name]
        self.log.add(*(Written(file, offset, data) for offset, data in changed_runs(old or b"", new)))
        if old is not None and len(new) < len(old):
            self.log.add(Resized(file, len(new)))
        self.log.add(Synced(file, len(self.log)))
        self._sqlite[name] = new


def changed_runs(old: bytes, new: bytes) -> list[tuple[int, bytes]]:
    """(offset, bytes) of each run of sectors in `new` that differ from `old`."""
    runs: list[tuple[int, bytes]] = []
    for offset in range(0, len(new), SECTOR):
        sector = new[offset : offset + SECTOR]
        if sector == old[offset : offset + SECTOR]:
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + sector)
        else:
            runs.append((offset, sector))
    return runs
