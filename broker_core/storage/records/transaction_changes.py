"""The journal records of transactions, and what each does to the catalog when the journal is replayed.

A `transaction-write` comes before the entries that it names, so no entry is ever without it. One `transaction-end` is
the outcome at every topic, so no topic can lack it.
"""

from collections.abc import Callable

from broker_core.storage.records.catalog import Change
from broker_core.storage.records.changes import change
from broker_core.storage.records.transactions import TransactionInfo, Transactions


def write(info: TransactionInfo, owner: int, ledger_id: int, first: int, last: int) -> bytes:
    """Entries of a transaction follow, in `ledger_id` from `first` to `last`."""
    return change("transaction-write", owner, transaction=list(info), entries=[ledger_id, first, last])


def end(transaction_id: int, ended_ms: int, *, commit: bool) -> bytes:
    return change("transaction-end", 0, transaction=transaction_id, commit=commit, at=ended_ms)


def ids(ids_end: int) -> bytes:
    """IDs below `ids_end` may be given out from now on."""
    return change("transaction-ids", 0, end=ids_end)


def _write(transactions: Transactions, values: Change) -> None:
    transactions.wrote(TransactionInfo(*values["transaction"]), values["owner"], *values["entries"])


def _end(transactions: Transactions, values: Change) -> None:
    transactions.end(values["transaction"], commit=values["commit"])
    transactions.outcomes.add(values["transaction"], values.get("at", 0), commit=values["commit"])


def _ids(transactions: Transactions, values: Change) -> None:
    transactions.ids_end = max(transactions.ids_end, values["end"])


APPLY: dict[str, Callable[[Transactions, Change], None]] = {
    "transaction-write": _write,
    "transaction-end": _end,
    "transaction-ids": _ids,
}
