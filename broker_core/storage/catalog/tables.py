"""The tables of metadata.sqlite, and changes of their rows as plain data.

A change names its table and the values of a row, never SQL: the same changes go to the database and to the catalog
log, and a rebuild repeats them (FORMAT.md).
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

SCHEMA = """
CREATE TABLE IF NOT EXISTS instance(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS document(kind TEXT, key TEXT, doc TEXT NOT NULL, PRIMARY KEY(kind, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS managed_ledger(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, properties TEXT NOT NULL,
  compacted TEXT NOT NULL, terminated_ledger INTEGER, terminated_entry INTEGER);
CREATE TABLE IF NOT EXISTS ledger(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, created_ms INTEGER NOT NULL,
  entries INTEGER NOT NULL, messages INTEGER NOT NULL, size INTEGER NOT NULL, end_offset INTEGER NOT NULL,
  newest_ms INTEGER NOT NULL, written_ms INTEGER NOT NULL, sealed_ms INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS ledger_owner ON ledger(owner);
CREATE TABLE IF NOT EXISTS cursor(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, name TEXT NOT NULL,
  properties TEXT NOT NULL, mark_delete_ledger INTEGER NOT NULL, mark_delete_entry INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS cursor_owner ON cursor(owner);
CREATE TABLE IF NOT EXISTS ack_window(cursor INTEGER, ledger INTEGER, base INTEGER NOT NULL, acked BLOB NOT NULL,
  PRIMARY KEY(cursor, ledger)) WITHOUT ROWID;
"""
BATCH_TABLE = """
CREATE TABLE IF NOT EXISTS ack_batches(cursor INTEGER, ledger INTEGER, batches INTEGER NOT NULL, open BLOB NOT NULL,
  PRIMARY KEY(cursor, ledger)) WITHOUT ROWID
"""

OFFLOAD_TABLES = (
    "CREATE TABLE IF NOT EXISTS offload(uuid TEXT PRIMARY KEY, owner INTEGER NOT NULL, ledger INTEGER NOT NULL,"
    " local_gone INTEGER NOT NULL, copy TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS offload_owner ON offload(owner)",
)

TRIMMED_TABLE = "CREATE TABLE IF NOT EXISTS trimmed(owner INTEGER PRIMARY KEY, messages INTEGER NOT NULL)"

TRANSACTION_TABLES = (
    "CREATE TABLE IF NOT EXISTS open_transaction(id INTEGER PRIMARY KEY, document TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS aborted_entries(owner INTEGER, ledger INTEGER, ranges BLOB NOT NULL,"
    " PRIMARY KEY(owner, ledger)) WITHOUT ROWID",
)

# Table -> number of columns, and the columns of its key, which come first.
TABLES: dict[str, tuple[int, tuple[str, ...]]] = {
    "instance": (2, ("key",)),
    "document": (3, ("kind", "key")),
    "managed_ledger": (6, ("id",)),
    "ledger": (10, ("id",)),
    "cursor": (6, ("id",)),
    "ack_window": (4, ("cursor", "ledger")),
    "ack_batches": (4, ("cursor", "ledger")),
    "offload": (5, ("uuid",)),
    "trimmed": (2, ("owner",)),
    "open_transaction": (2, ("id",)),
    "aborted_entries": (3, ("owner", "ledger")),
}


class Late:
    """A value that is made in the thread that commits it, not on the event loop."""

    def __init__(self, make: Callable[[], str | bytes]) -> None:
        self.make = make


def deflated(data: Callable[[], bytes]) -> Late:
    """A blob that is made and compressed late."""
    return Late(lambda: zlib.compress(data(), 1))


class RowChange(NamedTuple):
    """`put` replaces the row with the key that `values` begin with; without `put`, `values` begin a key to delete."""

    put: bool
    table: str
    values: tuple[Any, ...]

    def resolved(self) -> "RowChange":
        """The change with all values made; for the thread that commits."""
        if not any(isinstance(value, Late) for value in self.values):
            return self
        values = (value.make() if isinstance(value, Late) else value for value in self.values)
        return RowChange(self.put, self.table, tuple(values))


def put(table: str, *values: Any) -> RowChange:
    return RowChange(True, table, values)


def delete(table: str, *key: Any) -> RowChange:
    """Deletes every row whose key begins with `key`."""
    return RowChange(False, table, key)


def execute(connection: sqlite3.Connection, change: RowChange) -> None:
    """Raises KeyError for a table that does not exist, sqlite3.Error for values that do not fit it."""
    columns, key = TABLES[change.table]
    if change.put:
        marks = ", ".join("?" * columns)
        connection.execute(f"INSERT OR REPLACE INTO {change.table} VALUES({marks})", change.values)
    else:
        where = " AND ".join(f"{column} = ?" for column in key[: len(change.values)])
        query = f"DELETE FROM {change.table} WHERE {where}"  # noqa: S608  # names of TABLES
        connection.execute(query, change.values)


def create(connection: sqlite3.Connection) -> None:
    for statement in (*(SCHEMA + BATCH_TABLE).split(";"), *OFFLOAD_TABLES, TRIMMED_TABLE, *TRANSACTION_TABLES):
        if statement.strip():
            connection.execute(statement)


def exist(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'instance'").fetchone()
    return row is not None


def all_rows(connection: sqlite3.Connection) -> Iterator[RowChange]:
    """Every row of every table, as the change that puts it there; a database of an older format lacks some tables."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in (table for table in TABLES if table in there):
        for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608  # one of TABLES
            yield RowChange(True, table, row)
