"""The transaction coordinator (Pulsar docs, "Pulsar transactions").

All topics are in one process with one journal, so one record ends a transaction at every topic at once. No participant
is asked, so none can fail. An open transaction is on disk from its first message or acknowledgment on. A transaction
without any costs no write, and a restart forgets it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from broker_core.errors import (
    InvalidTransactionStatus,
    NotAllowed,
    PersistenceFailed,
    TooManyRequests,
    TransactionCoordinatorNotFound,
    TransactionNotFound,
)
from broker_core.rates.transaction_counts import TransactionCounts
from broker_core.storage.errors import StorageError
from broker_core.storage.records.transactions import TransactionInfo
from broker_core.transactions.deadlines import Deadlines
from broker_core.transactions.transaction import Transaction
from broker_core.wire.transaction_id import TransactionId

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.features import TransactionConfig
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.managed_ledger.transaction_log import TransactionLog, TransactionPart
    from broker_core.storage.records.held_acks import TransactionAcks
    from broker_core.storage.records.position import Position
    from broker_core.tasks import Spawn

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0  # after a time-out whose outcome could not be written


class Participant(Protocol):
    """A loaded topic with messages or acknowledgments of a transaction."""

    def end_transaction(self, transaction: TransactionId, *, commit: bool) -> None:
        """The outcome is on its way to the disk: writes the marker, which follows it there."""

    def transaction_ended(self, transaction: TransactionId, part: TransactionPart, *, commit: bool) -> None:
        """The outcome is in effect: there may be something to deliver. `part`: what the transaction did here."""


class Coordinator:
    id = 0
    count = 1

    def __init__(
        self,
        config: TransactionConfig,
        clock: Clock,
        records: TransactionLog,
        spawn: Spawn,
        participant: Callable[[str], Participant | None],
    ) -> None:
        """`participant` returns the topic of a managed ledger, None if it is not loaded."""
        self._config = config
        self._clock = clock
        self._records = records
        self._spawn = spawn
        self._participant = participant
        self._active: dict[int, Transaction] = {}
        self.counts = TransactionCounts()
        self._closed = False
        self._deadlines = Deadlines(clock, self._expired, self._active)
        for info in records.open():
            self._add(info)

    def _add(self, info: TransactionInfo) -> Transaction:
        transaction = self._active[info.id] = Transaction(self.id, info)
        left_ms = info.began_ms + info.ttl_ms - self._clock.wall_ms()
        self._deadlines.add(info.id, min(left_ms, info.ttl_ms) / 1000)
        return transaction

    def check_serves(self, coordinator_id: int) -> None:
        """Raises `TransactionCoordinatorNotFound`."""
        if coordinator_id != self.id:
            raise TransactionCoordinatorNotFound(f"Transaction coordinator with id {coordinator_id} not found!")

    async def begin(self, coordinator_id: int, ttl_ms: int, role: str) -> TransactionId:
        """A new transaction, which is aborted after `ttl_ms`. It belongs to the role, "" without authentication.

        Raises `TransactionCoordinatorNotFound`, `TooManyRequests`, or `PersistenceFailed`.
        """
        self.check_serves(coordinator_id)
        self._check_room()
        try:
            number = await self._records.new_id()
        except StorageError as error:
            raise PersistenceFailed(str(error)) from error
        self._check_room()  # others may have begun in the meantime
        self.counts.begun += 1
        return self._add(TransactionInfo(number, self._clock.wall_ms(), ttl_ms, role)).id

    def _check_room(self) -> None:
        """Raises `TooManyRequests`."""
        if 0 < self._config.max_active <= len(self._active):
            raise TooManyRequests(
                f"there are {self._config.max_active} active transactions (maxActiveTransactionsPerCoordinator)"
            )

    def check_open(self, transaction_id: TransactionId, role: str) -> None:
        """Raises a `BrokerError` unless the transaction is open and belongs to the role."""
        self._owned(transaction_id, role).check_open()

    def _owned(self, transaction_id: TransactionId, role: str) -> Transaction:
        transaction = self.find(transaction_id)
        if transaction.info.role != role:
            raise _not_found(transaction_id)
        return transaction

    def find(self, transaction_id: TransactionId) -> Transaction:
        """The active transaction. Raises `TransactionNotFound` or `TransactionCoordinatorNotFound`."""
        self.check_serves(transaction_id.most)
        transaction = self._active.get(transaction_id.least)
        if transaction is None:
            raise _not_found(transaction_id)
        return transaction

    def writing(self, transaction_id: TransactionId) -> TransactionInfo:
        """The transaction, for a topic that is about to store messages of it. Raises `NotAllowed`.

        Any client that may publish to the topic may publish in the transaction, as in Pulsar.
        """
        transaction = self._find_open(transaction_id)
        self._check_runs(transaction)
        return transaction.info

    def hold(
        self,
        transaction_id: TransactionId,
        cursor: ManagedCursor,
        acks: TransactionAcks,
        done: Callable[[Exception | None], None],
    ) -> None:
        """The transaction acknowledges messages of a cursor; `done` when that is on disk. Raises as `writing` does."""
        transaction = self._find_open(transaction_id)
        self._check_acknowledgments(transaction, acks.weight)
        self._records.hold(transaction.info, cursor, acks, done)

    def _find_open(self, transaction_id: TransactionId) -> Transaction:
        """Raises `NotAllowed`, or `InvalidTransactionStatus`."""
        try:
            transaction = self.find(transaction_id)
        except (TransactionNotFound, TransactionCoordinatorNotFound) as error:
            raise NotAllowed(f"Transaction {transaction_id} is not open") from error
        transaction.check_open()
        return transaction

    def _check_acknowledgments(self, transaction: Transaction, weight: int) -> None:
        """Raises `NotAllowed`."""
        if self._records.acks_weight(transaction.info.id) + weight > self._config.max_acknowledged:
            raise NotAllowed(
                f"Transaction {transaction.id} would acknowledge more than {self._config.max_acknowledged} entries "
                "(maxAcknowledgedEntriesPerTransaction)"
            )
        if self._records.all_acks_weight + weight > self._config.max_all_acknowledged:
            raise NotAllowed(
                f"all open transactions together would acknowledge more than {self._config.max_all_acknowledged} "
                "entries (maxAcknowledgedEntriesOfActiveTransactions)"
            )

    def _check_runs(self, transaction: Transaction) -> None:
        """Raises `NotAllowed`."""
        if self._records.ranges(transaction.info.id) >= self._config.max_runs:
            raise NotAllowed(
                f"Transaction {transaction.id} has {self._config.max_runs} runs of consecutive messages "
                "(maxMessageRunsPerTransaction)"
            )
        if self._records.all_ranges >= self._config.max_all_runs:
            raise NotAllowed(
                f"all open transactions together have {self._config.max_all_runs} runs of consecutive messages "
                "(maxMessageRunsOfActiveTransactions)"
            )

    async def end(self, transaction_id: TransactionId, role: str, *, commit: bool) -> None:
        """Commits or aborts; in effect at every topic on return. Repeating it succeeds, as long as it is remembered.

        Raises `TransactionNotFound`, also for the other outcome than that of an ended transaction,
        `InvalidTransactionStatus` while the other outcome is being written, or `PersistenceFailed`.
        """
        self.check_serves(transaction_id.most)
        if self._records.was_committed(transaction_id.least) is commit:
            return
        await self._end(self._owned(transaction_id, role), commit=commit)

    async def _end(self, transaction: Transaction, *, commit: bool) -> None:
        if transaction.outcome is None:
            self._write_outcome(transaction, commit=commit)
        elif not transaction.is_ending(commit=commit):
            transaction.check_open()  # raises
        await transaction.ending()

    def _write_outcome(self, transaction: Transaction, *, commit: bool) -> None:
        transaction.begin_to_end(commit=commit)
        parts = self._records.parts(transaction.info.id)
        if not self._records.is_written(transaction.info.id):
            self._records.ended_empty(transaction.info.id, commit=commit)
            self._ended(transaction, parts, commit=commit)
            return

        def done(error: Exception | None) -> None:
            if error is None:
                self._ended(transaction, parts, commit=commit)
            else:
                transaction.reopen(PersistenceFailed(f"transaction {transaction.id} is still open: {error}"))

        self._records.end(transaction.info.id, done, commit=commit)
        for name, part in parts.items():  # in the journal, the markers follow what decides
            participant = self._participant(name) if part.has_messages else None
            if participant is not None:
                participant.end_transaction(transaction.id, commit=commit)

    def _ended(self, transaction: Transaction, parts: Mapping[str, TransactionPart], *, commit: bool) -> None:
        """The outcome is in effect. Everything that waits for it learns of it now."""
        del self._active[transaction.info.id]
        self.counts.ended(self._clock.wall_ms() - transaction.info.began_ms, commit=commit)
        for name, part in parts.items():
            participant = self._participant(name)
            if participant is not None:
                participant.transaction_ended(transaction.id, part, commit=commit)
        transaction.ended(commit=commit)

    async def abort(self, transaction_id: TransactionId) -> None:
        """For an operator, who may abort the transaction of any role. Raises as `end` does."""
        await self._end(self.find(transaction_id), commit=False)

    # -- what there is

    @property
    def active(self) -> list[Transaction]:
        """The transactions that have not ended, in the order in which they began."""
        return list(self._active.values())

    @property
    def last_id(self) -> int:
        return self._records.last_id

    @property
    def low_water_mark(self) -> int:
        """The ID up to which all transactions have ended; 0 if none is active, as in Pulsar."""
        return min(self._active, default=1) - 1

    def was_aborted(self, transaction_id: TransactionId) -> bool:
        """Whether it was aborted a short while ago; False if that is not known any more."""
        return self._records.was_committed(transaction_id.least) is False

    def parts(self, transaction_id: TransactionId) -> dict[str, TransactionPart]:
        """What it did, by the name of the managed ledger."""
        return self._records.parts(transaction_id.least)

    def acks_on(self, cursor: ManagedCursor) -> dict[int, TransactionAcks]:
        """By the ID of a transaction, what it acknowledges on the cursor."""
        return self._records.acks_on(cursor)

    def first_positions(self, transactions: Iterable[Transaction]) -> dict[int, dict[str, Position]]:
        """By the ID of a transaction, the first position of its messages, by the name of the managed ledger."""
        return self._records.first_positions([transaction.info.id for transaction in transactions])

    # -- time-outs

    def _expired(self, transaction_id: int) -> None:
        transaction = self._active.get(transaction_id)
        if transaction is not None and not self._closed:
            self._spawn(self._time_out(transaction))

    async def _time_out(self, transaction: Transaction) -> None:
        try:
            await self._end(transaction, commit=False)
            self.counts.timed_out += 1
        except InvalidTransactionStatus:
            self._deadlines.add(transaction.info.id, RETRY_SECONDS)  # it is being committed, which may fail
        except PersistenceFailed as error:
            log.warning("cannot abort transaction %s, which timed out: %s", transaction.id, error)
            self._deadlines.add(transaction.info.id, RETRY_SECONDS)

    def close(self) -> None:
        """No transaction times out from now on: the next start restores those that are on disk."""
        self._closed = True
        self._deadlines.close()


def _not_found(transaction_id: TransactionId) -> TransactionNotFound:
    return TransactionNotFound(f"The transaction with this txdID `{transaction_id}`not found ")  # Pulsar's words
