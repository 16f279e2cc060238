"""The rows of transactions in metadata.sqlite."""

import contextlib
import json
import zlib
from functools import partial
from typing import Any

from broker_core.storage.catalog.database import Database
from broker_core.storage.catalog.tables import Late, RowChange, deflated, delete, put
from broker_core.storage.records.block import column, column_bytes
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.transaction_outcomes import Outcome, Outcomes
from broker_core.storage.records.transactions import (
    Entries,
    OpenTransaction,
    TransactionInfo,
    Transactions,
    WrittenRange,
)

IDS_END = "transaction_ids_end"  # keys of `instance`
OUTCOMES = "transaction_outcomes"


def transaction_rows(transactions: Transactions) -> list[RowChange]:
    """The rows of what changed since the last checkpoint."""
    rows = [put("instance", IDS_END, transactions.ids_end)] if transactions.ids_end else []
    if transactions.outcomes.has_changed:
        rows.append(put("instance", OUTCOMES, deflated(partial(_triples, transactions.outcomes.stored()))))
        transactions.outcomes.has_changed = False
    for transaction_id in transactions.changed:
        transaction = transactions.open.get(transaction_id)
        rows.append(delete("open_transaction", transaction_id) if transaction is None else _row(transaction))
    for owner, ledger_id in transactions.changed_aborted:
        log = transactions.logs.get(owner)
        ranges = log.aborted.get(ledger_id) if log is not None else None
        key = ("aborted_entries", owner, ledger_id)
        rows.append(put(*key, deflated(partial(_pairs, list(ranges)))) if ranges else delete(*key))
    transactions.changed.clear()
    transactions.changed_aborted.clear()
    return rows


def _row(transaction: OpenTransaction) -> RowChange:
    writes = {owner: list(ranges) for owner, ranges in transaction.writes.items()}
    acks = {key: acks.copy() for key, acks in transaction.acks.items()}
    return put("open_transaction", transaction.info.id, Late(partial(_text, transaction.info, writes, acks)))


def _text(
    info: TransactionInfo, writes: dict[int, list[WrittenRange]], acks: dict[tuple[int, int], TransactionAcks]
) -> str:
    documents = [[*key, acks_of_cursor.document()] for key, acks_of_cursor in acks.items()]
    return json.dumps({"transaction": info, "writes": writes, "acks": documents})


def load_transactions(database: Database) -> Transactions:
    """Raises Damaged."""
    rows = database.query("SELECT value FROM instance WHERE key = ?", IDS_END)
    transactions = Transactions(int(rows[0][0]) if rows else 0)
    for (blob,) in database.query("SELECT value FROM instance WHERE key = ?", OUTCOMES):
        # A salvaged database may have damaged ones. They only answer a repeated END_TXN, so the start goes on.
        with contextlib.suppress(zlib.error, ValueError):
            transactions.outcomes = Outcomes(inflate_outcomes(blob))
    for (text,) in database.query("SELECT document FROM open_transaction ORDER BY id"):
        transactions.load(_transaction(json.loads(text)))
    transactions.order()
    for owner, ledger_id, blob in database.query("SELECT owner, ledger, ranges FROM aborted_entries"):
        transactions.load_aborted(owner, ledger_id, inflate_ranges(blob))
    return transactions


def _triples(outcomes: list[Outcome]) -> bytes:
    return column_bytes("q", [number for outcome in outcomes for number in outcome])


def inflate_outcomes(blob: bytes) -> list[Outcome]:
    numbers = column("q", zlib.decompress(blob))
    return list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def _pairs(ranges: list[Entries]) -> bytes:
    return column_bytes("I", [entry for pair in ranges for entry in pair])


def inflate_ranges(blob: bytes) -> list[Entries]:
    entries = column("I", zlib.decompress(blob))
    return list(zip(entries[::2], entries[1::2], strict=True))


def _transaction(document: dict[str, Any]) -> OpenTransaction:
    transaction = OpenTransaction(TransactionInfo(*document["transaction"]))
    for owner, ranges in document["writes"].items():
        transaction.writes[int(owner)] = [(ledger_id, first, last) for ledger_id, first, last in ranges]
        transaction.ranges += len(ranges)
    for owner, cursor_id, acks in document.get("acks", ()):
        transaction.acked(owner, cursor_id, TransactionAcks.from_document(acks))
    return transaction
