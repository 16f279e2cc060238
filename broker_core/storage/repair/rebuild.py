"""`pulsarctl storage rebuild`: a new metadata.sqlite in a directory whose database is lost or damaged.

It is made from the catalog log, and then nothing is missing. If that is missing or damaged itself, it is made from what
the log still holds, what SQLite still reads of the old database, and the ledger files: the journal may know their
topics, and a topic whose name is lost gets a new one. The next start replays the journal over all of it, as always.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.storage import directory, filenames, migration
from broker_core.storage.catalog import tables
from broker_core.storage.catalog.catalog_log import CatalogLog
from broker_core.storage.catalog.database import Database
from broker_core.storage.catalog.tables import RowChange
from broker_core.storage.disk import Disk, RealDisk
from broker_core.storage.errors import CatalogUnusable, NotOurDirectory
from broker_core.storage.repair.strays import adopt_strays, unexplained

_LOST = (
    "tenants, namespaces, policies, partitioned topics, schemas and subscriptions are back only as far as they were "
    "found elsewhere; create the others again"
)
_TRANSACTIONS = (
    "which transactions were aborted or open is known only as far as it was found elsewhere; consumers get the "
    "messages of the others as if these were committed"
)
_PARTS = ("", "-wal", "-shm")  # of a database of SQLite


@dataclass(slots=True)
class Rebuilt:
    """The content of the new database, its sources, and what could not be known, in sentences.

    Without `sources` the database was sound, and only the `restored` files are new.
    """

    sources: list[str]
    restored: list[Path] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)  # table -> number of rows
    kept: list[Path] = field(default_factory=list)  # the old files under their new names


def rebuild(path: Path, journal_directory: str = "", disk: Disk | None = None) -> Rebuilt | None:
    """Blocks. None when everything is sound, and then nothing is touched.

    Can be killed and repeated. Raises DirectoryLocked, FormatTooNew, NotOurDirectory, StorageError, OSError.
    """
    disk = disk or RealDisk()
    journals = filenames.journal_directory(path, journal_directory)
    has_format = disk.exists(filenames.format_file(path))
    if not has_format and not _has_data(disk, path, journals):
        raise NotOurDirectory(f"{path} has no FORMAT file and no files of a broker: it is not a data directory")
    lock = disk.lock(filenames.lock_file(path), "pulsarctl storage rebuild")
    try:
        restored = _restore_format(disk, path, journals)
        if not _is_sound(disk, path, journals):
            rebuilt = _rebuild(disk, path, journals)
        elif restored:
            rebuilt = Rebuilt([])
        else:
            return None
        rebuilt.restored = restored
        return rebuilt
    finally:
        disk.close(lock)


def _has_data(disk: Disk, path: Path, journals: Path) -> bool:
    database = filenames.metadata_file(path)
    return directory.missing(disk, database) is None or directory.has_data(disk, path, journals)


def _restore_format(disk: Disk, path: Path, journals: Path) -> list[Path]:
    """Writes a FORMAT file in place of one that is missing or unreadable; returns it.

    It names the oldest format. Each step to the next one changes nothing in a directory that has taken it already.
    Raises FormatTooNew, NotOurDirectory.
    """
    marker = filenames.format_file(path)
    if disk.exists(marker):
        try:
            migration.check_version(disk, path)
            return []
        except NotOurDirectory:
            if not _has_data(disk, path, journals):
                raise
    catalog_log = CatalogLog(disk, filenames.catalog_log(path))
    if catalog_log.exists:
        catalog_log.read()  # it may tell that a newer release wrote it
    migration.write_version(disk, path, migration.OLDEST)
    return [marker]


def _is_sound(disk: Disk, path: Path, journals: Path) -> bool:
    """Whether a start accepts the directory. Without any data, it needs no database."""
    if directory.missing(disk, filenames.metadata_file(path)) is not None:
        return not directory.has_data(disk, path, journals)
    try:
        migration.migrate(disk, path)
        _open(disk, path)
    except CatalogUnusable:
        return False
    return True


def _open(disk: Disk, path: Path) -> None:
    """Raises CatalogUnusable. Begins the catalog log again where it does not fit the database."""
    database = Database(disk, filenames.metadata_file(path), CatalogLog(disk, filenames.catalog_log(path)))
    database.open(may_create=False)
    database.close()


def _rebuild(disk: Disk, path: Path, journals: Path) -> Rebuilt:
    database = filenames.metadata_file(path)
    fresh = database.with_name(database.name + ".new")
    for part in _PARTS:
        disk.remove(Path(f"{fresh}{part}"))
    with contextlib.closing(disk.connect(fresh)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables.create(connection)
        rebuilt = _fill(disk, path, journals, connection)
        disk.commit(connection)
        disk.merge(connection)
    rebuilt.kept = _set_aside(disk, database)
    disk.rename(fresh, database)
    disk.sync_directory(path)
    if rebuilt.unknown:  # the database has more than the log, and a start would trust the log
        disk.remove(filenames.catalog_log(path))
    migration.write_version(disk, path, filenames.FORMAT_VERSION)
    _open(disk, path)
    return rebuilt


def _fill(disk: Disk, path: Path, journals: Path, connection: sqlite3.Connection) -> Rebuilt:
    catalog_log = CatalogLog(disk, filenames.catalog_log(path))
    database = filenames.metadata_file(path)
    rebuilt = Rebuilt([])
    problem = f"{catalog_log.path.name} is missing"
    if catalog_log.exists:
        _put_all(connection, catalog_log.rows())
        rebuilt.sources.append(catalog_log.path.name)
        state = catalog_log.read()
        problem = str(state.problem or _newer(database, state.commit) or _cut(disk, path, journals, connection))
    if problem:
        rebuilt.unknown += [f"{problem}: {_LOST}", _TRANSACTIONS]
        if _put_all(connection, _salvaged(database)):
            rebuilt.sources.append("what can be read of metadata.sqlite")
        rebuilt.sources.append("the ledgers")
        rebuilt.unknown += adopt_strays(disk, path, journals, connection)
    for table in tables.TABLES:
        (rebuilt.rows[table],) = connection.execute(
            f"SELECT count(*) FROM {table}"  # noqa: S608  # one of `tables.TABLES`
        ).fetchone()
    return rebuilt


def _newer(database: Path, commit: int) -> str:
    """Why the database has more than the catalog log, which ends with `commit`; "" when it has not."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_read_only(database)) as connection:
        row = connection.execute("SELECT value FROM instance WHERE key = 'commit'").fetchone()
        if row is not None and int(row[0]) > commit:
            return f"catalog.log ends with commit {commit}, but {database.name} has {row[0]}"
    return ""


def _cut(disk: Disk, path: Path, journals: Path, connection: sqlite3.Connection) -> str:
    """Why a catalog log whose records are all sound is not the whole one, or ""."""
    reason = unexplained(disk, path, journals, connection)
    return f"{reason}: catalog.log may have lost its end" if reason else ""


def _put_all(connection: sqlite3.Connection, rows: Iterable[RowChange]) -> int:
    count = 0
    for row in rows:
        with contextlib.suppress(sqlite3.IntegrityError):  # of a damaged source
            tables.execute(connection, row)
            count += 1
    return count


def _salvaged(database: Path) -> Iterator[RowChange]:
    """The rows that SQLite reads from either end of each table before it comes upon damage."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_read_only(database)) as connection:
        for table, (_, key) in tables.TABLES.items():
            for order in ("", f" ORDER BY {', '.join(f'{column} DESC' for column in key)}"):
                with contextlib.suppress(sqlite3.Error):
                    query = f"SELECT * FROM {table}{order}"  # noqa: S608  # names of `tables.TABLES`
                    for row in connection.execute(query):
                        yield RowChange(True, table, row)


def _read_only(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{database}?mode=ro", uri=True)


def _set_aside(disk: Disk, database: Path) -> list[Path]:
    """The write-ahead log first: it must not be taken for a part of the new database."""
    number = 1
    while disk.exists(database.with_name(f"{database.name}.damaged-{number}")):
        number += 1
    aside = database.with_name(f"{database.name}.damaged-{number}")
    moved = []
    for part in reversed(_PARTS):
        if disk.exists(old := Path(f"{database}{part}")):
            disk.rename(old, Path(f"{aside}{part}"))
            moved.append(Path(f"{aside}{part}"))
    return moved
