"""The infos of managed ledgers: their ledgers and cursors (Pulsar's ManagedLedgerInfo and its parts).

The same objects serve the running broker and recovery. A checkpoint writes those that changed to metadata.sqlite;
between checkpoints changes are records in the journal, and recovery repeats them after a crash.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from broker_core.storage.records.ack_ranges import AckWindow
from broker_core.storage.records.held_acks import HeldAcks, TransactionAcks
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.open_batches import OpenBatches
from broker_core.storage.records.position import Position
from broker_core.storage.records.transactions import Transactions

Change = dict[str, Any]
UNWANTED = 0  # the owner of a copy whose objects are to be removed


@dataclass(slots=True, eq=False, repr=False)
class LedgerInfo:
    """A ledger as far as it is durable. `end` is the file offset after the last record."""

    id: int
    created_ms: int
    entries: int = 0
    messages: int = 0
    size: int = 0  # bytes of the entries
    end: int = 0
    newest_ms: int = 0  # newest publish time, as the producers said
    written_ms: int = 0  # when the last entry was written, by our clock
    sealed_ms: int = 0  # 0 while open
    copy: OffloadedCopy | None = None  # in tiered storage

    @property
    def is_local(self) -> bool:
        """Whether its file counts."""
        return self.copy is None or not self.copy.local_gone


@dataclass(slots=True, eq=False, repr=False)
class CursorInfo:
    """A cursor, as a restart needs it."""

    id: int
    name: str
    mark_delete: Position
    properties: dict[str, str] = field(default_factory=dict)
    windows: dict[int, AckWindow] = field(default_factory=dict)
    dirty_windows: set[int] = field(default_factory=set)  # ledgers whose window changed since the checkpoint
    batches: OpenBatches = field(default_factory=OpenBatches)
    held: HeldAcks | None = None  # by open transactions, which have what is stored; None if there is nothing

    def hold(self, transaction_id: int, acks: TransactionAcks) -> None:
        """No consumer gets these messages while the transaction is open."""
        if self.held is None:
            self.held = HeldAcks()
        self.held.add(transaction_id, acks)

    def release(self, transaction_id: int, acks: TransactionAcks) -> None:
        """The transaction has ended."""
        if self.held is not None:
            self.held.remove(transaction_id, acks)
            self.held = self.held or None

    @property
    def has_acks(self) -> bool:
        """Whether anything above mark-delete is acknowledged, or was at the last checkpoint."""
        return bool(self.windows or self.dirty_windows or self.batches or self.batches.dirty)


@dataclass(slots=True, eq=False, repr=False)
class ManagedLedgerInfo:
    """The log of a topic, as a restart needs it."""

    id: int
    name: str
    properties: dict[str, str] = field(default_factory=dict)
    terminated: Position | None = None
    ledgers: dict[int, LedgerInfo] = field(default_factory=dict)  # ascending ids
    cursors: dict[int, CursorInfo] = field(default_factory=dict)
    compacted: list[int] = field(default_factory=list)  # compacted ledgers whose files may exist
    trimmed_messages: int = 0  # messages of the ledgers that were deleted


class Catalog:
    """All names, the infos in use, and what changed since the last checkpoint."""

    def __init__(self, names: dict[str, int], next_id: int) -> None:
        self.names = names
        self.next_id = next_id
        self.infos: dict[int, ManagedLedgerInfo] = {}
        self.unregistered: set[int] = set()  # managed ledgers whose first record is not durable yet
        self.changed: set[int] = set()  # managed ledgers to write
        self.changed_ledgers: dict[int, LedgerInfo] = {}
        self.changed_cursors: dict[int, CursorInfo] = {}
        self.removed: set[int] = set()
        self.removed_ledgers: set[int] = set()
        self.removed_cursors: set[int] = set()
        self.owners: dict[int, int] = {}  # ledger or cursor -> managed ledger, of those that changed
        self.unwanted_copies: dict[str, OffloadedCopy] = {}  # by uuid: their objects are to be removed
        self.changed_copies: dict[str, tuple[int, OffloadedCopy] | None] = {}  # by uuid, with the owner; None: gone
        self.on_unwanted_copy: Callable[[], None] | None = None
        self.transactions = Transactions()

    def new_id(self) -> int:
        """Unique in the instance, also across deletes and crashes; shared by managed ledgers, ledgers and cursors."""
        self.next_id += 1
        return self.next_id - 1

    def add(self, info: ManagedLedgerInfo) -> None:
        self.names[info.name] = info.id
        self.infos[info.id] = info
        self.changed.add(info.id)

    def ledger_changed(self, owner: int, ledger: LedgerInfo) -> None:
        """Notes a changed ledger. One that was removed stays removed, whatever still happens to it."""
        info = self.infos.get(owner)
        if info is not None and ledger.id in info.ledgers:
            self.changed_ledgers[ledger.id] = ledger
            self.owners[ledger.id] = owner

    def cursor_changed(self, owner: int, cursor: CursorInfo) -> None:
        """Notes a changed cursor. One that was removed stays removed: acknowledgments may reach it later."""
        info = self.infos.get(owner)
        if info is not None and cursor.id in info.cursors:
            self.changed_cursors[cursor.id] = cursor
            self.owners[cursor.id] = owner

    def set_copy(self, owner: int, ledger: LedgerInfo, copy: OffloadedCopy | None) -> None:
        """A copy of another uuid, which this one replaces, is unwanted from now on."""
        if ledger.copy is not None and (copy is None or copy.uuid != ledger.copy.uuid):
            self._discard_copy(ledger.copy)
        ledger.copy = copy
        if copy is not None:
            self.changed_copies[copy.uuid] = owner, copy

    def _discard_copy(self, copy: OffloadedCopy) -> None:
        self.unwanted_copies[copy.uuid] = copy
        self.changed_copies[copy.uuid] = UNWANTED, copy
        if self.on_unwanted_copy is not None:
            self.on_unwanted_copy()

    def forget_copies(self, uuids: Iterable[str]) -> None:
        """Forgets copies whose objects are removed."""
        for uuid in uuids:
            self.unwanted_copies.pop(uuid, None)
            self.changed_copies[uuid] = None

    def remove_ledgers(self, info: ManagedLedgerInfo, ledger_ids: Iterable[int]) -> None:
        ledger_ids = list(ledger_ids)
        self.transactions.forget_ledgers(info.id, ledger_ids)
        for ledger_id in ledger_ids:
            if (ledger := info.ledgers.pop(ledger_id, None)) is not None:
                if ledger.copy is not None:
                    self._discard_copy(ledger.copy)
                self.changed_ledgers.pop(ledger_id, None)
                self.removed_ledgers.add(ledger_id)
                self.owners.pop(ledger_id, None)
                if ledger.messages:
                    info.trimmed_messages += ledger.messages
                    self.changed.add(info.id)
        for cursor in info.cursors.values():
            if cursor.has_acks:  # few of many thousands have
                self._forget_acks(info, cursor, ledger_ids)

    def _forget_acks(self, info: ManagedLedgerInfo, cursor: CursorInfo, ledger_ids: list[int]) -> None:
        for ledger_id in ledger_ids:
            cursor.batches.discard_ledger(ledger_id)
            if cursor.windows.pop(ledger_id, None):
                cursor.dirty_windows.add(ledger_id)
            if ledger_id in cursor.dirty_windows or ledger_id in cursor.batches.dirty:
                self.cursor_changed(info.id, cursor)

    def remove_cursor(self, info: ManagedLedgerInfo, cursor_id: int) -> None:
        if info.cursors.pop(cursor_id, None):
            self.changed_cursors.pop(cursor_id, None)
            self.removed_cursors.add(cursor_id)
            self.owners.pop(cursor_id, None)

    def remove(self, info: ManagedLedgerInfo) -> None:
        for cursor_id in list(info.cursors):
            self.remove_cursor(info, cursor_id)
        self.transactions.forget_log(info.id)
        self.remove_ledgers(info, list(info.ledgers))
        self.names.pop(info.name, None)
        self.infos.pop(info.id, None)
        self.changed.discard(info.id)
        self.unregistered.discard(info.id)
        self.removed.add(info.id)

    @property
    def dirty(self) -> bool:
        return bool(
            self.changed
            or self.changed_ledgers
            or self.changed_cursors
            or self.removed
            or self.removed_ledgers
            or self.removed_cursors
            or self.changed_copies
            or self.transactions.has_changed
        )
