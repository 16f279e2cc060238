"""The connection to metadata.sqlite: what must hold before it is used, and commits that reach the catalog log too.

At start the database has to hold every commit of the log, its pages must be those that were written, and SQLite
must find nothing wrong with them. Otherwise it is refused as a whole: half a catalog would lose topics in silence.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.storage.catalog import tables
from broker_core.storage.catalog.catalog_log import CatalogLog, LogState
from broker_core.storage.catalog.page_sums import PAGE, first_difference, pages_in, sums_of
from broker_core.storage.catalog.tables import RowChange
from broker_core.storage.disk import Disk
from broker_core.storage.errors import CatalogUnusable, Damaged, DiskFull, StorageError

log = logging.getLogger("broker_core.storage")

_MERGE_BYTES = 4 << 20  # of SQLite's write-ahead log, roughly; a start reads all of it
_BLOCK_BYTES = 256 * PAGE  # read at a time
_COMMIT_BYTES = 4 * PAGE  # that a small commit adds to it
_NO_SPACE = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")  # the second: of the index of its write-ahead log
# The codes of SQLite's errors that do not mean damage.
_NOT_DAMAGE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR", "SQLITE_BUSY")


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raises Damaged for what SQLite finds wrong with the file, DiskFull or StorageError for any other failure."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_IOERR")
        if name.startswith(_NO_SPACE):
            raise DiskFull(f"cannot use {path}: {error}") from error
        if name.startswith(_NOT_DAMAGE):
            raise StorageError(f"cannot use {path}: {error}") from error
        raise Damaged(path, 0, str(error)) from error


@contextlib.contextmanager
def refused(path: Path) -> Iterator[None]:
    """Like `translated`, at a start, when damage makes the whole directory unusable."""
    try:
        with translated(path):
            yield
    except Damaged as damage:
        raise CatalogUnusable(path, damage.reason) from damage


class Database:
    """Blocks; belongs to the metadata thread."""

    def __init__(
        self, disk: Disk, path: Path, catalog_log: CatalogLog, still_there: Callable[[], None] = lambda: None
    ) -> None:
        """`still_there` raises StorageError when the directory is not the one that was opened."""
        self.path = path
        self._disk = disk
        self._log = catalog_log
        self._still_there = still_there
        self._commit_number = 0
        self._unmerged = 0  # bytes, roughly
        # Closing any descriptor of the file drops SQLite's POSIX locks, and then another process that opens and closes
        # the database deletes the WAL under this one. So this one stays open as long as the connection.
        self._pages_fd = -1

    # ---- open

    def open(self, *, may_create: bool) -> None:
        """Raises CatalogUnusable, or StorageError when the bytes are not to blame."""
        with refused(self.path):
            self._connection = self._disk.connect(self.path)
            try:
                self._check(may_create)
            except BaseException:
                self._close()
                raise

    def _check(self, may_create: bool) -> None:
        state = self._log.read() if self._log.exists else None
        if not tables.exist(self._connection):
            if not may_create:
                raise CatalogUnusable(self.path, "its tables are missing")
            self._execute(tables.create)
        self._commit_number = self._stored_number()
        vouched = state is not None and self._agrees_with(state)
        self._ask_sqlite("quick_check" if vouched else "integrity_check")
        if state is not None and state.problem is None and state.commit == self._commit_number:
            self._log.resume(state)
        else:
            self._begin_log(state)
        if not vouched:
            self._merge()

    def _stored_number(self) -> int:
        row = self._connection.execute("SELECT value FROM instance WHERE key = 'commit'").fetchone()
        return int(row[0]) if row else 0

    def _agrees_with(self, state: LogState) -> bool:
        """Whether the log vouches for all pages of the database. Raises CatalogUnusable when it contradicts them."""
        if state.commit > self._commit_number:
            missing = f"it ends with commit {self._commit_number}, but {self._log.path.name} has {state.commit}"
            raise CatalogUnusable(self.path, missing)
        if state.problem is not None or state.sums is None or self._is_cut(state):
            return False
        offset = first_difference(sums_of(self._blocks()), state.sums, self._pages_in_wal())
        # A tool of SQLite that was used in between moves pages as well: then the rows decide.
        if offset is not None and not self._log.equals(self._connection):
            raise CatalogUnusable(self.path, f"the page at offset {offset} is not what was written")
        return offset is None

    def _is_cut(self, state: LogState) -> bool:
        """Whether the log lost more than a crash may cost it, one commit: then its page sums are too old to compare."""
        return state.commit + 1 < self._commit_number

    def _ask_sqlite(self, pragma: str) -> None:
        (result,) = self._connection.execute(f"PRAGMA {pragma}(1)").fetchone()
        if result != "ok":
            raise CatalogUnusable(self.path, f"SQLite finds {' '.join(result.split())}")

    def _blocks(self) -> Iterator[bytes]:
        """The database file, a few pages at a time: it may be much larger than what a broker holds in memory."""
        if self._pages_fd < 0:
            self._pages_fd = self._disk.open(self.path)
        for at in range(0, self._disk.size(self._pages_fd), _BLOCK_BYTES):
            yield self._disk.pread(self._pages_fd, _BLOCK_BYTES, at)

    def _close(self) -> None:
        self._connection.close()
        if self._pages_fd >= 0:
            self._disk.close(self._pages_fd)
            self._pages_fd = -1

    def _pages_in_wal(self) -> set[int]:
        path = self.path.with_name(self.path.name + "-wal")
        if not self._disk.exists(path):
            return set()
        fd = self._disk.open(path)
        try:
            return pages_in(partial(self._disk.pread, fd), self._disk.size(fd))
        finally:
            self._disk.close(fd)

    # ---- use

    def query(self, sql: str, *values: Any) -> list[Any]:
        with translated(self.path):
            return self._connection.execute(sql, values).fetchall()

    def commit(self, changes: Iterable[RowChange]) -> None:
        """All of them or none. Raises StorageError."""
        self._still_there()
        rows = [change.resolved() for change in changes]
        rows.append(tables.put("instance", "commit", self._commit_number + 1))

        def write(connection: sqlite3.Connection) -> None:
            for row in rows:
                tables.execute(connection, row)

        with translated(self.path):
            self._execute(write)
        self._commit_number += 1
        self._log_commit(rows)

    def _execute(self, write: Callable[[sqlite3.Connection], None]) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            write(connection)
            self._disk.commit(connection)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    # ---- the second copy

    def _log_commit(self, rows: list[RowChange]) -> None:
        """The database has the commit, so no failure here is one of the commit: the next one tries again."""
        try:
            if self._log.is_open:
                self._unmerged += _COMMIT_BYTES + 2 * self._log.append_commit(self._commit_number, rows)
            else:
                self._log.begin(self._commit_number, tables.all_rows(self._connection))
        except (OSError, sqlite3.Error) as error:
            log.error("cannot write %s: %s; it is begun again with the next commit", self._log.path, error)
        if self._unmerged > _MERGE_BYTES:
            self._merge_or_retry()

    def _merge_or_retry(self) -> None:
        try:
            self._merge()
        except sqlite3.Error as error:
            log.error("cannot merge the write-ahead log of %s: %s; the next commit tries again", self.path, error)

    def _begin_log(self, state: LogState | None) -> None:
        if state is not None:
            lacks = f"it ends with commit {state.commit} of {self._commit_number}"
            log.warning("%s is written again: %s", self._log.path, state.problem or lacks)
        try:
            self._log.drop()
            self._log.begin(self._commit_number, tables.all_rows(self._connection))
        except OSError as error:
            log.error("cannot write %s: %s", self._log.path, error)

    def _merge(self) -> None:
        """Merge SQLite's write-ahead log into the database, and keep the sums of the pages as they are then.

        The sums come before the next commit: until then the write-ahead log still holds the pages that changed.
        """
        if not self._disk.merge(self._connection):
            return  # a tool reads the database; the next commit tries again
        try:
            if self._log.is_long:
                self._log.begin(self._commit_number, tables.all_rows(self._connection))
        except OSError as error:
            log.error("cannot shorten %s: %s", self._log.path, error)
        try:
            if self._log.is_open:
                self._log.append_sums(sums_of(self._blocks()))
        except OSError as error:
            log.error("cannot write %s: %s; it is begun again with the next commit", self._log.path, error)
        self._unmerged = 0

    def close(self) -> None:
        with contextlib.ExitStack() as parts:
            parts.callback(self._close)
            parts.callback(self._log.close)
            try:
                self._still_there()
                with translated(self.path):
                    self._merge()
            except StorageError as error:  # SQLite's write-ahead log stays, and the next start uses it
                log.error("%s was not put in order: %s", self.path, error)
