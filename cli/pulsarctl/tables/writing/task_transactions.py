"""The transactions of the tasks of one job, which the driver ends."""

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import closing

from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import CliError, Conflict
from pulsarctl.raw.broker_connection import NotOpen
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import Transaction
from pulsarctl.tables.access import Access


def commit_all(access: Access, transactions: Iterable[TransactionId]) -> None:
    """The oldest first: if one is over its timeout, it is, and none is committed. Raises `CliError`."""
    with closing(access.lookup()) as lookup:
        for begun in sorted(transactions):
            with still_open(begun):
                begun_transaction(access, lookup, begun).commit()


def abort_all(access: Access, transactions: Iterable[TransactionId]) -> None:
    """Aborts those that are open. The broker aborts a transaction at its timeout if this does not reach it."""
    with closing(access.lookup()) as lookup:
        for begun in transactions:
            abort(begun_transaction(access, lookup, begun))


def begun_transaction(access: Access, lookup: TopicLookup, begun: TransactionId) -> Transaction:
    return Transaction(lookup, begun=begun, timeout_seconds=access.timeout_seconds)


@contextlib.contextmanager
def still_open(transaction: TransactionId) -> Iterator[None]:
    """Explains that the broker has aborted it."""
    try:
        yield
    except NotOpen as error:
        raise Conflict(
            f"the broker has aborted transaction {transaction} of a task",
            hint="raise the option transaction_timeout if that was too short",
        ) from error


def abort(transaction: Transaction) -> None:
    with contextlib.suppress(CliError):
        transaction.abort()
