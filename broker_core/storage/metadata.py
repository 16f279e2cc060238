"""metadata.sqlite: documents (tenants, policies, ...) and the catalog as of the last checkpoint.

One thread owns the connection (the factory's metadata thread). A document is durable when `put` returns: puts that
wait together share one commit. All documents are held in memory; they are small and few.
"""

import asyncio
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from broker_core.storage.ack_ranges import AckWindow
from broker_core.storage.catalog import Catalog, CursorInfo, LedgerInfo, ManagedLedgerInfo
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged, StorageError
from broker_core.storage.open_batches import encode_batches, inflate_batches
from broker_core.storage.position import Position

Statement = tuple[str, tuple[Any, ...]]
Document = dict[str, Any]
_T = TypeVar("_T")

_SCHEMA = """
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


class Metadata:
    """Document calls are for the event loop; everything else blocks and belongs to the metadata thread."""

    def __init__(self, disk: Disk, path: Path, executor: Executor) -> None:
        self._disk = disk
        self._path = path
        self._executor = executor
        self._documents: dict[str, dict[str, Document]] = {}
        self._waiting: list[tuple[Statement, Callable[[], object], asyncio.Future[None]]] = []
        self._committing: asyncio.Task[None] | None = None

    # ---- documents

    def get(self, kind: str, key: str) -> Document | None:
        return self._documents.get(kind, {}).get(key)

    def list(self, kind: str) -> dict[str, Document]:
        """Key -> document, sorted by key."""
        return dict(sorted(self._documents.get(kind, {}).items()))

    async def put(self, kind: str, key: str, doc: Document) -> None:
        """Durable on return; visible to `get` only then. Raises `StorageError`.

        Who stops waiting for it (a client that leaves) stops nothing: what is committed becomes visible.
        """
        sql = "INSERT OR REPLACE INTO document(kind, key, doc) VALUES(?, ?, ?)"
        documents = self._documents.setdefault(kind, {})
        await self._commit_document((sql, (kind, key, json.dumps(doc))), partial(documents.__setitem__, key, doc))

    async def delete(self, kind: str, key: str) -> None:
        """As `put`."""
        documents = self._documents.setdefault(kind, {})
        sql = "DELETE FROM document WHERE kind = ? AND key = ?"
        await self._commit_document((sql, (kind, key)), partial(documents.pop, key, None))

    async def _commit_document(self, statement: Statement, make_visible: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((statement, make_visible, future))
        if self._committing is None:  # a task of its own: whoever was first may go away, the others still wait
            self._committing = loop.create_task(self._commit_waiting())
        await future

    async def _commit_waiting(self) -> None:
        """Everything that waits goes into one commit, again and again until nothing waits."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            error: StorageError | None = None
            try:
                await loop.run_in_executor(self._executor, self.commit, [statement for statement, _, _ in batch])
            except Exception as failure:  # whatever it was: unreported, those who wait would wait for ever
                error = StorageError(f"cannot write {self._path}: {failure}")
            for _, make_visible, future in batch:
                if error is None:
                    make_visible()
                if not future.done():
                    future.set_result(None) if error is None else future.set_exception(error)
        self._committing = None

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run `work` in the metadata thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    # ---- metadata thread

    def open(self) -> None:
        try:
            self._connection = self._disk.connect(self._path)
            self._load_documents()
        except sqlite3.OperationalError as error:  # full, read-only, not to be opened: nothing is wrong with the bytes
            raise StorageError(f"cannot use {self._path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise Damaged(self._path, 0, str(error)) from error

    def _load_documents(self) -> None:
        if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'instance'").fetchone():
            self.commit([(statement, ()) for statement in (_SCHEMA + BATCH_TABLE).split(";") if statement.strip()])
        for kind, key, doc in self._connection.execute("SELECT kind, key, doc FROM document"):
            self._documents.setdefault(kind, {})[key] = json.loads(doc)

    def close(self) -> None:
        self._connection.close()

    def commit(self, statements: Iterable[Statement]) -> None:
        """All of them or none."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for sql, values in statements:
                connection.execute(sql, values)
            self._disk.commit(connection)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def load_catalog(self) -> Catalog:
        """Names only; a managed ledger's info is loaded when it is wanted."""
        names = dict(self._connection.execute("SELECT name, id FROM managed_ledger"))
        row = self._connection.execute("SELECT value FROM instance WHERE key = 'next_id'").fetchone()
        return Catalog(names, row[0] if row else 1)

    @property
    def first_journal(self) -> int:
        """The first journal file that the last checkpoint does not cover."""
        row = self._connection.execute("SELECT value FROM instance WHERE key = 'first_journal'").fetchone()
        return row[0] if row else 1

    def find_owner(self, ledger_id: int) -> int | None:
        """The managed ledger that a ledger belongs to."""
        row = self._connection.execute("SELECT owner FROM ledger WHERE id = ?", (ledger_id,)).fetchone()
        return row[0] if row else None

    def ledger_end(self, ledger_id: int) -> tuple[int, int]:
        """Entries and end of the file as of the last checkpoint; zeros when it knows nothing of the ledger."""
        sql = "SELECT entries, end_offset FROM ledger WHERE id = ?"
        row = self._connection.execute(sql, (ledger_id,)).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def ledgers_with_entries(self) -> Iterable[tuple[int, str, int, int]]:
        """Ledger, managed ledger, entries and end of the file of those that must be there since the last checkpoint."""
        sql = (
            "SELECT ledger.id, name, entries, end_offset FROM ledger JOIN managed_ledger ON managed_ledger.id = owner"
            " WHERE entries > 0 ORDER BY ledger.id"
        )
        return self._connection.execute(sql).fetchall()

    def load_info(self, managed_ledger_id: int) -> ManagedLedgerInfo | None:
        row = self._connection.execute(
            "SELECT name, properties, compacted, terminated_ledger, terminated_entry FROM managed_ledger WHERE id = ?",
            (managed_ledger_id,),
        ).fetchone()
        if row is None:
            return None
        info = ManagedLedgerInfo(managed_ledger_id, row[0], json.loads(row[1]))
        info.compacted = json.loads(row[2])
        if row[3] is not None:
            info.terminated = Position(row[3], row[4])
        ledgers = self._connection.execute(
            "SELECT id, created_ms, entries, messages, size, end_offset, newest_ms, written_ms, sealed_ms"
            " FROM ledger WHERE owner = ? ORDER BY id",
            (managed_ledger_id,),
        )
        info.ledgers = {values[0]: LedgerInfo(*values) for values in ledgers}
        cursors = self._connection.execute(
            "SELECT id, name, mark_delete_ledger, mark_delete_entry, properties FROM cursor WHERE owner = ?",
            (managed_ledger_id,),
        )
        for cursor_id, name, ledger_id, entry_id, properties in cursors.fetchall():
            cursor = CursorInfo(cursor_id, name, Position(ledger_id, entry_id), json.loads(properties))
            windows = self._connection.execute(
                "SELECT ledger, base, acked FROM ack_window WHERE cursor = ?", (cursor_id,)
            )
            cursor.windows = {ledger: AckWindow.decode(base, acked) for ledger, base, acked in windows}
            sql = "SELECT ledger, batches, open FROM ack_batches WHERE cursor = ?"
            for ledger_id, n, batches in self._connection.execute(sql, (cursor_id,)):
                cursor.batches.load(ledger_id, inflate_batches(batches, n))
            info.cursors[cursor_id] = cursor
        return info


class _Deflated:
    """A blob that is made and compressed in the thread that commits it, not on the event loop."""

    def __init__(self, data: Callable[[], bytes]) -> None:
        self._data = data

    def __conform__(self, protocol: object) -> bytes:
        return zlib.compress(self._data(), 1)


def checkpoint_statements(catalog: Catalog, first_journal: int) -> list[Statement]:
    """What a checkpoint has to write; afterwards the catalog counts as clean. Cheap: blobs are copied, not deflated."""
    sql = "INSERT OR REPLACE INTO instance VALUES(?, ?)"
    statements: list[Statement] = [(sql, ("next_id", catalog.next_id)), (sql, ("first_journal", first_journal))]
    for table, ids in (
        ("managed_ledger", catalog.removed),
        ("ledger", catalog.removed_ledgers),
        ("cursor", catalog.removed_cursors),
    ):
        statements += [(f"DELETE FROM {table} WHERE id = ?", (i,)) for i in ids]
    for table in ("ack_window", "ack_batches"):
        statements += [(f"DELETE FROM {table} WHERE cursor = ?", (i,)) for i in catalog.removed_cursors]
    statements += [_managed_ledger_row(catalog.infos[i]) for i in catalog.changed]
    statements += [_ledger_row(catalog.owners[ledger.id], ledger) for ledger in catalog.changed_ledgers.values()]
    for cursor in catalog.changed_cursors.values():
        statements += _cursor_rows(catalog.owners[cursor.id], cursor)
    for touched in (catalog.changed, catalog.removed, catalog.removed_ledgers, catalog.removed_cursors):
        touched.clear()
    catalog.changed_ledgers.clear()
    catalog.changed_cursors.clear()
    catalog.owners.clear()
    return statements


def _managed_ledger_row(info: ManagedLedgerInfo) -> Statement:
    ledger_id, entry_id = info.terminated or (None, None)
    sql = "INSERT OR REPLACE INTO managed_ledger VALUES(?, ?, ?, ?, ?, ?)"
    return sql, (info.id, info.name, json.dumps(info.properties), json.dumps(info.compacted), ledger_id, entry_id)


def _ledger_row(owner: int, ledger: LedgerInfo) -> Statement:
    sql = "INSERT OR REPLACE INTO ledger VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    return sql, (
        ledger.id,
        owner,
        ledger.created_ms,
        ledger.entries,
        ledger.messages,
        ledger.size,
        ledger.end,
        ledger.newest_ms,
        ledger.written_ms,
        ledger.sealed_ms,
    )


def _cursor_rows(owner: int, cursor: CursorInfo) -> list[Statement]:
    sql = "INSERT OR REPLACE INTO cursor VALUES(?, ?, ?, ?, ?, ?)"
    rows: list[Statement] = [(sql, (cursor.id, owner, cursor.name, json.dumps(cursor.properties), *cursor.mark_delete))]
    for ledger_id in cursor.dirty_windows:
        window = cursor.windows.get(ledger_id)
        if window is None:
            rows.append(("DELETE FROM ack_window WHERE cursor = ? AND ledger = ?", (cursor.id, ledger_id)))
        else:
            sql = "INSERT OR REPLACE INTO ack_window VALUES(?, ?, ?, ?)"
            rows.append((sql, (cursor.id, ledger_id, window.base, _Deflated(partial(bytes, window.bits[:])))))
    cursor.dirty_windows.clear()
    rows += _batch_rows(cursor)
    return rows


def _batch_rows(cursor: CursorInfo) -> list[Statement]:
    rows: list[Statement] = []
    for ledger_id in cursor.batches.dirty:
        batches = cursor.batches.of_ledger(ledger_id)
        if batches:
            sql = "INSERT OR REPLACE INTO ack_batches VALUES(?, ?, ?, ?)"
            rows.append((sql, (cursor.id, ledger_id, len(batches), _Deflated(partial(encode_batches, batches)))))
        else:
            rows.append(("DELETE FROM ack_batches WHERE cursor = ? AND ledger = ?", (cursor.id, ledger_id)))
    cursor.batches.dirty.clear()
    return rows
