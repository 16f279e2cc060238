"""Transactions for the storage tests: as a coordinator would begin, write, and end them."""

import asyncio

from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import StorageError
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.position import Position
from broker_core.storage.records.transactions import TransactionInfo
from tests.support.storage import Run

DEADLINE_SECONDS = 60.0


def transaction(transaction_id: int, began_ms: int = 1000, ttl_ms: int = 60_000) -> TransactionInfo:
    return TransactionInfo(transaction_id, began_ms, ttl_ms)


async def append_in(ledger: ManagedLedger, info: TransactionInfo, run: Run) -> Position:
    """Appends in the transaction and waits for the sync; raises the error that `done` receives."""
    future: asyncio.Future[Position] = asyncio.get_running_loop().create_future()

    def done(position: Position | None, error: StorageError | None) -> None:
        if position is not None:
            future.set_result(position)
        elif error is not None:
            future.set_exception(error)

    ledger.append_in(info, run, done)
    return await asyncio.wait_for(future, DEADLINE_SECONDS)


async def end(engine: StorageEngine, transaction_id: int, *, commit: bool) -> None:
    """Ends the transaction; durable on return."""
    ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    engine.transactions.end(transaction_id, ended.set_result, commit=commit)
    error = await asyncio.wait_for(ended, DEADLINE_SECONDS)
    if error is not None:
        raise error


async def hold(engine: StorageEngine, info: TransactionInfo, cursor: ManagedCursor, acks: TransactionAcks) -> None:
    """Acknowledges in the transaction; durable on return."""
    stored: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    engine.transactions.hold(info, cursor, acks, stored.set_result)
    error = await asyncio.wait_for(stored, DEADLINE_SECONDS)
    if error is not None:
        raise error
