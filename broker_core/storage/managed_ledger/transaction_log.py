"""What a data directory records of transactions as a whole: their IDs and their outcomes.

Their entries are in the logs that they wrote to (`ManagedLedger.append_in`), their acknowledgments at the cursors
(`hold`).
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from broker_core.clock import Clock
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.log.journal import Journal
from broker_core.storage.records import transaction_changes
from broker_core.storage.records.catalog import Catalog
from broker_core.storage.records.changes import commit_acks
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.position import Position
from broker_core.storage.records.transactions import TransactionInfo

IDS_AT_A_TIME = 10_000  # with one sync; a restart skips those that were not given out


class TransactionPart(NamedTuple):
    """What a transaction did in one managed ledger. `acks`: by the name of the cursor."""

    has_messages: bool
    acks: dict[str, TransactionAcks]


class TransactionLog:
    def __init__(
        self,
        journal: Journal,
        catalog: Catalog,
        clock: Clock,
        open_cursor: Callable[[str, str], ManagedCursor | None],
    ) -> None:
        """`open_cursor` returns a cursor by the names of its managed ledger and its own, None if it is not open."""
        self._journal = journal
        self._catalog = catalog
        self._clock = clock
        self._open_cursor = open_cursor
        self._transactions = catalog.transactions
        self._next_id = max(1, self._transactions.ids_end)  # without 0, which a client that names no ID may send

    async def new_id(self) -> int:
        """An ID that no transaction of this data directory had. Raises StorageError."""
        while self._next_id >= self._transactions.ids_end:
            await self._reserve(self._next_id + IDS_AT_A_TIME)
        self._next_id += 1
        return self._next_id - 1

    async def _reserve(self, ids_end: int) -> None:
        def done(error: Exception | None) -> None:
            if error is None:
                self._transactions.ids_end = max(self._transactions.ids_end, ids_end)

        await self._journal.synced(transaction_changes.ids(ids_end), done)

    def open(self) -> list[TransactionInfo]:
        """The open transactions with entries on disk."""
        return [transaction.info for transaction in self._transactions.open.values()]

    def was_committed(self, transaction_id: int) -> bool | None:
        """How it ended a short while ago, also before a restart; None if that is not known, or not any more."""
        return self._transactions.outcomes.was_committed(transaction_id)

    def ranges(self, transaction_id: int) -> int:
        """The number of ranges of consecutive entries that it wrote: a checkpoint writes them again."""
        transaction = self._transactions.open.get(transaction_id)
        return 0 if transaction is None else transaction.ranges

    @property
    def all_ranges(self) -> int:
        """The number of ranges of all open transactions."""
        return self._transactions.ranges

    def is_written(self, transaction_id: int) -> bool:
        """Whether anything of it is on disk."""
        return transaction_id in self._transactions.open

    def acks_weight(self, transaction_id: int) -> int:
        """The memory of its acknowledgments (`TransactionAcks.weight`): a checkpoint writes them again."""
        transaction = self._transactions.open.get(transaction_id)
        return 0 if transaction is None else transaction.weight

    @property
    def all_acks_weight(self) -> int:
        """The same of all open transactions."""
        return self._transactions.acks_weight

    def parts(self, transaction_id: int) -> dict[str, TransactionPart]:
        """What it did, by the name of the managed ledger, in those that are in use."""
        transaction = self._transactions.open.get(transaction_id)
        if transaction is None:
            return {}
        infos = self._catalog.infos
        parts = {infos[owner].name: TransactionPart(True, {}) for owner in transaction.writes if owner in infos}
        for info, cursor, acks in transaction_changes.acked_cursors(transaction, infos.get):
            parts.setdefault(info.name, TransactionPart(False, {})).acks[cursor.name] = acks
        return parts

    def acks_on(self, cursor: ManagedCursor) -> dict[int, TransactionAcks]:
        """By the ID of a transaction, what it acknowledges on the cursor."""
        key = cursor.owner_id, cursor.info.id
        opened = self._transactions.open.items()
        return {id_: transaction.acks[key] for id_, transaction in opened if key in transaction.acks}

    def first_positions(self, transaction_ids: Collection[int]) -> dict[int, dict[str, Position]]:
        """By ID, the position of its first entry in each managed ledger, by name, in use or not."""
        opened = {id_: self._transactions.open[id_] for id_ in transaction_ids if id_ in self._transactions.open}
        owners = {owner for transaction in opened.values() for owner in transaction.writes}
        names = {owner: name for name, owner in self._catalog.names.items() if owner in owners}
        return {
            id_: {
                names[owner]: Position(*ranges[0][:2]) for owner, ranges in transaction.writes.items() if owner in names
            }
            for id_, transaction in opened.items()
        }

    @property
    def last_id(self) -> int:
        """The last ID that was given out; -1 before the first one."""
        return self._next_id - 1 if self._next_id > 1 else -1

    def ended_empty(self, transaction_id: int, *, commit: bool) -> None:
        """One without entries has ended: nothing has to be durable, and only a checkpoint stores the outcome."""
        self._transactions.outcomes.add(transaction_id, self._clock.wall_ms(), commit=commit)

    def hold(
        self,
        info: TransactionInfo,
        cursor: ManagedCursor,
        acks: TransactionAcks,
        done: Callable[[Exception | None], None],
    ) -> None:
        """The transaction acknowledges messages, which no consumer gets from now on; `done` when that is durable.

        If that fails, the messages stay held until the transaction ends, as in Pulsar.
        """
        cursor.info.hold(info.id, acks)
        self._transactions.acked(info, cursor.owner_id, cursor.info.id, acks)
        self._journal.write(transaction_changes.ack(info, cursor.owner_id, cursor.info.id, acks), done)

    def end(self, transaction_id: int, done: Callable[[Exception | None], None], *, commit: bool) -> None:
        """Records the outcome. When it is durable, it is in effect in every log at once, and `done` is called."""

        ended_ms = self._clock.wall_ms()

        def recorded(error: Exception | None) -> None:
            if error is None:
                self._ended(transaction_id, ended_ms, commit=commit)
            done(error)

        self._journal.write(transaction_changes.end(transaction_id, ended_ms, commit=commit), recorded)

    def _ended(self, transaction_id: int, ended_ms: int, *, commit: bool) -> None:
        transaction = self._transactions.end(transaction_id, commit=commit)
        self._transactions.outcomes.add(transaction_id, ended_ms, commit=commit)
        if transaction is None:
            return
        for info, cursor, acks in transaction_changes.acked_cursors(transaction, self._catalog.infos.get):
            cursor.release(transaction_id, acks)
            if commit and (in_use := self._open_cursor(info.name, cursor.name)) is not None:
                in_use.commit(acks)
                self._catalog.cursor_changed(info.id, cursor)  # at once: the next checkpoint may drop the outcome
            elif commit:
                commit_acks(self._catalog, info, cursor, acks)
