"""The journal records of transactions, and what each does to the catalog when the journal is replayed.

A `transaction-write` comes before the entries that it names, so no entry is ever without it. One `transaction-end` is
the outcome at every topic and every cursor, so none can lack it.
"""

from collections.abc import Callable, Iterator

from broker_core.storage.records.catalog import Catalog, Change, CursorInfo, ManagedLedgerInfo
from broker_core.storage.records.changes import change, commit_acks
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.transactions import OpenTransaction, TransactionInfo

Load = Callable[[int], ManagedLedgerInfo | None]


def write(info: TransactionInfo, owner: int, ledger_id: int, first: int, last: int) -> bytes:
    """Entries of a transaction follow, in `ledger_id` from `first` to `last`."""
    return change("transaction-write", owner, transaction=list(info), entries=[ledger_id, first, last])


def ack(info: TransactionInfo, owner: int, cursor_id: int, acks: TransactionAcks) -> bytes:
    """The transaction acknowledges messages; a commit carries that out."""
    return change("transaction-ack", owner, transaction=list(info), cursor=cursor_id, acks=acks.document())


def end(transaction_id: int, ended_ms: int, *, commit: bool) -> bytes:
    return change("transaction-end", 0, transaction=transaction_id, commit=commit, at=ended_ms)


def ids(ids_end: int) -> bytes:
    """IDs below `ids_end` may be given out from now on."""
    return change("transaction-ids", 0, end=ids_end)


def _write(catalog: Catalog, load: Load, values: Change) -> None:
    catalog.transactions.wrote(TransactionInfo(*values["transaction"]), values["owner"], *values["entries"])


def _ack(catalog: Catalog, load: Load, values: Change) -> None:
    acks = TransactionAcks.from_document(values["acks"])
    catalog.transactions.acked(TransactionInfo(*values["transaction"]), values["owner"], values["cursor"], acks)


def _end(catalog: Catalog, load: Load, values: Change) -> None:
    transaction = catalog.transactions.end(values["transaction"], commit=values["commit"])
    catalog.transactions.outcomes.add(values["transaction"], values.get("at", 0), commit=values["commit"])
    if transaction is None or not values["commit"]:
        return
    for info, cursor, acks in acked_cursors(transaction, load):
        commit_acks(catalog, info, cursor, acks)


def _ids(catalog: Catalog, load: Load, values: Change) -> None:
    catalog.transactions.ids_end = max(catalog.transactions.ids_end, values["end"])


def hold_acks(catalog: Catalog, load: Load) -> None:
    """At the end of a replay: no consumer gets what open transactions acknowledge. `load`: as in `apply_change`."""
    for transaction in catalog.transactions.open.values():
        for _, cursor, acks in acked_cursors(transaction, load):
            cursor.hold(transaction.info.id, acks)


def acked_cursors(
    transaction: OpenTransaction, load: Load
) -> Iterator[tuple[ManagedLedgerInfo, CursorInfo, TransactionAcks]]:
    """The cursors on which it acknowledges messages, with their managed ledgers; not those that were deleted since."""
    for (owner, cursor_id), acks in transaction.acks.items():
        info = load(owner)
        cursor = None if info is None else info.cursors.get(cursor_id)
        if info is not None and cursor is not None:
            yield info, cursor, acks


APPLY: dict[str, Callable[[Catalog, Load, Change], None]] = {
    "transaction-write": _write,
    "transaction-ack": _ack,
    "transaction-end": _end,
    "transaction-ids": _ids,
}
