"""What a data directory records of transactions as a whole: their IDs and their outcomes.

Their entries are in the logs that they wrote to (`ManagedLedger.append_in`).
"""

from collections.abc import Callable, Collection

from broker_core.clock import Clock
from broker_core.storage.log.journal import Journal
from broker_core.storage.records import transaction_changes
from broker_core.storage.records.catalog import Catalog
from broker_core.storage.records.position import Position
from broker_core.storage.records.transactions import TransactionInfo

IDS_AT_A_TIME = 10_000  # with one sync; a restart skips those that were not given out


class TransactionLog:
    def __init__(self, journal: Journal, catalog: Catalog, clock: Clock) -> None:
        self._journal = journal
        self._catalog = catalog
        self._clock = clock
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
        """Those with entries on disk."""
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

    def written(self, transaction_id: int) -> list[str]:
        """The names of the managed ledgers in use that it wrote to."""
        transaction = self._transactions.open.get(transaction_id)
        infos = self._catalog.infos
        return [infos[owner].name for owner in transaction.writes if owner in infos] if transaction else []

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

    def end(self, transaction_id: int, done: Callable[[Exception | None], None], *, commit: bool) -> None:
        """Records the outcome. When it is durable, it is in effect in every log at once, and `done` is called."""

        ended_ms = self._clock.wall_ms()

        def recorded(error: Exception | None) -> None:
            if error is None:
                self._transactions.end(transaction_id, commit=commit)
                self._transactions.outcomes.add(transaction_id, ended_ms, commit=commit)
            done(error)

        self._journal.write(transaction_changes.end(transaction_id, ended_ms, commit=commit), recorded)
