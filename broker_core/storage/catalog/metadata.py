"""metadata.sqlite: documents (tenants, policies, ...) and the catalog as of the last checkpoint.

One thread owns the connection (the engine's metadata thread). A document is durable when `put` returns: puts that
wait together share one commit. All documents are held in memory; they are small and few.
"""

import asyncio
import json
import logging
import struct
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

from broker_core.storage.catalog.database import Database
from broker_core.storage.catalog.tables import RowChange, delete, put
from broker_core.storage.catalog.transaction_rows import load_transactions
from broker_core.storage.errors import Damaged, StorageError
from broker_core.storage.records.ack_ranges import AckWindow
from broker_core.storage.records.catalog import UNWANTED, Catalog, CursorInfo, LedgerInfo, ManagedLedgerInfo
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.open_batches import inflate_batches
from broker_core.storage.records.position import Position

log = logging.getLogger("broker_core.storage")

Document = dict[str, Any]
_T = TypeVar("_T")


class Metadata:
    """Document calls are for the event loop; everything else blocks and belongs to the metadata thread."""

    def __init__(self, database: Database, executor: Executor) -> None:
        self._database = database
        self._executor = executor
        self._documents: dict[str, dict[str, Document]] = {}
        self._waiting: list[tuple[RowChange, Callable[[], object], asyncio.Future[None]]] = []
        self._committing: asyncio.Task[None] | None = None

    # ---- documents

    def get(self, kind: str, key: str) -> Document | None:
        return self._documents.get(kind, {}).get(key)

    def list(self, kind: str) -> dict[str, Document]:
        """Key -> document, sorted by key."""
        return dict(sorted(self._documents.get(kind, {}).items()))

    def keys(self, kind: str) -> Iterable[str]:
        """In no order; to be read before the next wait."""
        return self._documents.get(kind, {}).keys()

    async def put(self, kind: str, key: str, doc: Document) -> None:
        """Durable on return; visible to `get` only then. Raises `StorageError`.

        A caller that stops waiting (a client that leaves) does not stop the commit, and the document becomes visible.
        """
        documents = self._documents.setdefault(kind, {})
        row = put("document", kind, key, json.dumps(doc))
        await self._commit_document(row, partial(documents.__setitem__, key, doc))

    async def delete(self, kind: str, key: str) -> None:
        """Deletes a document; durable and visible as with `put`."""
        documents = self._documents.setdefault(kind, {})
        await self._commit_document(delete("document", kind, key), partial(documents.pop, key, None))

    async def _commit_document(self, row: RowChange, make_visible: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((row, make_visible, future))
        if self._committing is None:  # a separate task: the first caller may be canceled while others still wait
            self._committing = loop.create_task(self._commit_waiting())
        await future

    async def _commit_waiting(self) -> None:
        """Writes all waiting documents in one commit, and repeats that until none waits."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            error: StorageError | None = None
            try:
                await loop.run_in_executor(self._executor, self.commit, [row for row, _, _ in batch])
            except Exception as failure:  # any error is reported: otherwise the callers would wait forever
                error = StorageError(f"cannot write {self._database.path}: {failure}")
            for _, make_visible, future in batch:
                if error is None:
                    make_visible()
                if not future.done():
                    future.set_result(None) if error is None else future.set_exception(error)
        self._committing = None

    async def flush(self) -> None:
        """Waits for the commits of all documents so far."""
        if self._committing is not None:
            await asyncio.wait([self._committing])

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run `work` in the metadata thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    # ---- metadata thread

    def open(self, *, may_create: bool) -> None:
        """Raises CatalogUnusable, or StorageError when the bytes are not to blame."""
        self._database.open(may_create=may_create)
        for kind, key, doc in self._database.query("SELECT kind, key, doc FROM document"):
            try:
                self._documents.setdefault(kind, {})[key] = json.loads(doc)
            except ValueError as error:  # one bad document must not stop the others
                log.error("the %s document of %s cannot be read and is left out: %s", kind, key, error)

    def close(self) -> None:
        self._database.close()

    def commit(self, rows: Iterable[RowChange]) -> None:
        """All of them or none. Raises StorageError."""
        self._database.commit(rows)

    def load_catalog(self) -> Catalog:
        """Names only; a managed ledger's info is loaded when it is needed."""
        names = dict(self._database.query("SELECT name, id FROM managed_ledger"))
        catalog = Catalog(names, self._instance("next_id"))
        for (text,) in self._database.query("SELECT copy FROM offload WHERE owner = ?", UNWANTED):
            copy = OffloadedCopy.from_document(json.loads(text))
            catalog.unwanted_copies[copy.uuid] = copy
        catalog.transactions = load_transactions(self._database)
        return catalog

    @property
    def first_journal(self) -> int:
        """The first journal file that the last checkpoint does not cover."""
        return self._instance("first_journal")

    def _instance(self, key: str) -> int:
        rows = self._database.query("SELECT value FROM instance WHERE key = ?", key)
        return int(rows[0][0]) if rows else 1

    def find_owner(self, ledger_id: int) -> int | None:
        """The managed ledger that a ledger belongs to."""
        rows = self._database.query("SELECT owner FROM ledger WHERE id = ?", ledger_id)
        return rows[0][0] if rows else None

    def ledger_end(self, ledger_id: int) -> tuple[int, int]:
        """Entries and end of the file as of the last checkpoint; zeros when it knows nothing of the ledger."""
        rows = self._database.query("SELECT entries, end_offset FROM ledger WHERE id = ?", ledger_id)
        return rows[0] if rows else (0, 0)

    def ledgers_with_entries(self) -> Iterable[tuple[int, str, int, int]]:
        """Ledger, managed ledger, entries, and end of the file of each ledger file that the last checkpoint counts on.

        Ledgers whose file was deleted in favor of a copy in tiered storage are left out.
        """
        sql = (
            "SELECT ledger.id, name, entries, end_offset FROM ledger JOIN managed_ledger ON managed_ledger.id = owner"
            " WHERE entries > 0 AND ledger.id NOT IN (SELECT ledger FROM offload WHERE local_gone AND owner != 0)"
            " ORDER BY ledger.id"
        )
        return self._database.query(sql)

    def load_copies(self) -> dict[str, OffloadedCopy]:
        """All copies in tiered storage that are on record since the last checkpoint, by uuid."""
        rows = self._database.query("SELECT uuid, copy FROM offload")
        return {uuid: OffloadedCopy.from_document(json.loads(text)) for uuid, text in rows}

    def load_info(self, managed_ledger_id: int) -> ManagedLedgerInfo | None:
        """Raises Damaged when the rows of the managed ledger make no sense."""
        try:
            return self._load_info(managed_ledger_id)
        except (ValueError, TypeError, zlib.error, struct.error) as error:
            raise Damaged(self._database.path, 0, f"managed ledger {managed_ledger_id}: {error}") from error

    def _load_info(self, managed_ledger_id: int) -> ManagedLedgerInfo | None:
        sql = "SELECT name, properties, compacted, terminated_ledger, terminated_entry FROM managed_ledger WHERE id = ?"
        rows = self._database.query(sql, managed_ledger_id)
        if not rows:
            return None
        name, properties, compacted, *terminated = rows[0]
        info = ManagedLedgerInfo(managed_ledger_id, name, json.loads(properties))
        info.compacted = json.loads(compacted)
        if terminated[0] is not None:
            info.terminated = Position(*terminated)
        trimmed = self._database.query("SELECT messages FROM trimmed WHERE owner = ?", managed_ledger_id)
        info.trimmed_messages = trimmed[0][0] if trimmed else 0
        ledgers = self._database.query(
            "SELECT id, created_ms, entries, messages, size, end_offset, newest_ms, written_ms, sealed_ms"
            " FROM ledger WHERE owner = ? ORDER BY id",
            managed_ledger_id,
        )
        info.ledgers = {values[0]: LedgerInfo(*values) for values in ledgers}
        for (text,) in self._database.query("SELECT copy FROM offload WHERE owner = ?", managed_ledger_id):
            copy = OffloadedCopy.from_document(json.loads(text))
            if copy.ledger_id in info.ledgers:
                info.ledgers[copy.ledger_id].copy = copy
        sql = "SELECT id, name, mark_delete_ledger, mark_delete_entry, properties FROM cursor WHERE owner = ?"
        for cursor_id, name, ledger_id, entry_id, properties in self._database.query(sql, managed_ledger_id):
            cursor = CursorInfo(cursor_id, name, Position(ledger_id, entry_id), json.loads(properties))
            self._load_acknowledged(cursor)
            info.cursors[cursor_id] = cursor
        return info

    def _load_acknowledged(self, cursor: CursorInfo) -> None:
        windows = self._database.query("SELECT ledger, base, acked FROM ack_window WHERE cursor = ?", cursor.id)
        cursor.windows = {ledger: AckWindow.decode(base, acked) for ledger, base, acked in windows}
        sql = "SELECT ledger, batches, open FROM ack_batches WHERE cursor = ?"
        for ledger_id, n, batches in self._database.query(sql, cursor.id):
            cursor.batches.load(ledger_id, inflate_batches(batches, n))
