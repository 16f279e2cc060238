"""The acknowledgments since a cursor's last records in the journal, and their records."""

from collections.abc import Sequence

from broker_core.storage.records import changes
from broker_core.storage.records.catalog import CursorInfo


class UnwrittenAcks:
    """Mark-delete is not among them: every record carries the current one."""

    def __init__(self, owner_id: int, info: CursorInfo) -> None:
        self._owner_id = owner_id
        self._info = info
        self._entries: dict[int, list[int]] = {}  # by ledger
        self._batches: dict[int, set[int]] = {}  # by ledger: entries of which some messages were acknowledged
        self._everything = False

    def entries(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        self._entries.setdefault(ledger_id, []).extend(entry_ids)

    def batch(self, ledger_id: int, entry_id: int) -> None:
        self._batches.setdefault(ledger_id, set()).add(entry_id)

    def everything(self) -> None:
        """Makes the next records carry all acknowledgments, because the last ones were lost."""
        self._everything = True

    def clear(self) -> None:
        self._entries.clear()
        self._batches.clear()

    def take(self) -> list[bytes]:
        """Returns the records, at least one, because mark-delete may have moved."""
        if self._everything:
            self._everything = False
            windows = self._info.windows.items()
            self._entries = {
                ledger_id: [entry_id for a, b in window.acked_ranges(0) for entry_id in range(a, b)]
                for ledger_id, window in windows
            }
            batches = self._info.batches
            self._batches = {ledger_id: set(batches.of_ledger(ledger_id)) for ledger_id in batches.ledger_ids}
        records = [*self._entry_records(), *self._batch_records()]
        self.clear()
        return records or [changes.acks(self._owner_id, self._info.id, self._info.mark_delete, 0, ())]

    def _entry_records(self) -> list[bytes]:
        mark_delete = self._info.mark_delete
        records = []
        for ledger_id, entry_ids in self._entries.items():
            if ledger_id == mark_delete.ledger_id:
                entry_ids = [entry_id for entry_id in entry_ids if entry_id > mark_delete.entry_id]
            if entry_ids and ledger_id >= mark_delete.ledger_id:
                records.append(changes.acks(self._owner_id, self._info.id, mark_delete, ledger_id, entry_ids))
        return records

    def _batch_records(self) -> list[bytes]:
        info = self._info
        records = []
        for ledger_id, entry_ids in self._batches.items():
            batches = info.batches.of_ledger(ledger_id)  # those that are gone were acknowledged as a whole since
            batches = {entry_id: batches[entry_id] for entry_id in sorted(entry_ids & batches.keys())}
            if batches:
                records.append(changes.batch_acks(self._owner_id, info.id, info.mark_delete, ledger_id, batches))
        return records
