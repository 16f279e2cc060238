"""A subscription's position in a managed ledger (Pulsar's ManagedCursor).

`acknowledgments` says what is acknowledged. `read_position` is the dispatcher's, in memory only.

Acknowledgments change memory at once and reach the journal a moment later, and no caller waits for that. A crash loses
those of the last `ack_flush_ms` at most, and their messages are redelivered. `flush` waits for the disk.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from broker_core.storage.cursor.acknowledgments import Acknowledgments
from broker_core.storage.errors import Closed
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.weights import Weights
from broker_core.storage.records import changes
from broker_core.storage.records.ack_ranges import AckWindow
from broker_core.storage.records.catalog import CursorInfo
from broker_core.storage.records.open_batches import OpenBatch
from broker_core.storage.records.position import Position


class CursorOwner(Protocol):
    """The calls that a cursor makes to its managed ledger."""

    @property
    def ledgers(self) -> LedgerList: ...
    @property
    def weights(self) -> Weights: ...
    @property
    def owner_id(self) -> int: ...
    @property
    def has_ended(self) -> bool:
        """Whether the managed ledger is closed. It may be open again, with new cursors at the same positions."""

    def cursor_dirty(self, cursor: "ManagedCursor") -> None:
        """Asks for `take_acks` within `ack_flush_ms`."""

    def cursor_write(self, cursor: "ManagedCursor") -> None:
        """Takes the acks and journals them."""

    async def cursor_flush(self, cursor: "ManagedCursor") -> None:
        """Journals the acks and waits for the sync."""

    def cursor_inexact(self, cursor: "ManagedCursor") -> None:
        """Its backlog had to be estimated: asks for `measure` in the background."""

    async def cursor_reset(self, cursor: "ManagedCursor", record: bytes, failed: Callable[[], None]) -> None:
        """Durable on return; `failed` is called if it cannot be."""


class ManagedCursor(Acknowledgments):
    def __init__(self, owner: CursorOwner, info: CursorInfo, *, durable: bool) -> None:
        self._owner = owner
        super().__init__(owner.ledgers, owner.weights, owner.owner_id, info, durable=durable)
        self.read_position = self._front

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def owner_id(self) -> int:
        """The ID of its managed ledger."""
        return self._owner.owner_id

    @property
    def properties(self) -> dict[str, str]:
        return self.info.properties

    # ---- position

    def rewind(self, *, also_trimmed: bool = False) -> None:
        """Reads again from the first unacknowledged entry, whether the log still has it, or only from there on."""
        self.read_position = self.info.mark_delete.next if also_trimmed else self._refresh_front()

    def _check_open(self) -> None:
        """Raises Closed. Call it after each await: the cursor of the next load would not see a change."""
        if self._owner.has_ended:
            raise Closed(f"cursor {self.name} was unloaded in the meantime")

    async def reset(self, position: Position, open_bits: int = 0, moved: Callable[[], None] | None = None) -> None:
        """Makes the first entry at or after `position` the next one to read, as after a seek.

        Everything before it counts as acknowledged, and nothing after it. With a bit set, only those messages of the
        entry at `position` are open. A durable cursor is durable on return; `moved` is called before that, as soon as
        this is so in memory. Raises StorageError: the cursor is where it was before, and `moved` was called again.
        """
        messages = await self._weights.read_messages_of(*position) if open_bits else 0
        self._check_open()
        if messages and not open_bits & ((1 << messages) - 1):
            position, open_bits = position.next, 0  # past the last message of the batch
        target = self._ledgers.next_valid(position)
        before = self.info.mark_delete, dict(self.info.windows), list(self.info.batches)
        self._unwritten.clear()
        self._place(self._ledgers.before_reading(position))
        self.read_position = target
        if messages and open_bits and target == position:
            self.info.batches.clear_bits(*target, messages, open_bits)
        if moved is not None:
            moved()
        if self.durable:
            record = changes.reset(self._owner.owner_id, self.info)
            await self._owner.cursor_reset(self, record, partial(self._put_back, *before, moved))

    def _place(self, mark_delete: Position) -> None:
        """Sets mark-delete; nothing above it is acknowledged."""
        for ledger_id in list(self.info.windows):
            self._drop_window(ledger_id)
        self.info.batches.clear()
        self._backlog.forget()
        self.info.mark_delete = mark_delete
        self._set_front(mark_delete)

    def _put_back(
        self,
        mark_delete: Position,
        windows: dict[int, AckWindow],
        batches: list[tuple[int, int, OpenBatch]],
        moved: Callable[[], None] | None,
    ) -> None:
        """Undoes a reset whose record failed. Messages that were acknowledged in the meantime are delivered again."""
        self._place(mark_delete)
        self.info.windows.update(windows)
        self.info.dirty_windows.update(windows)
        for ledger_id, entry_id, batch in batches:
            self.info.batches.put(ledger_id, entry_id, batch)
        self._set_front(mark_delete)
        self.rewind()
        self._unwritten.everything()
        self._mark_dirty()
        if moved is not None:
            moved()

    def expire_to(self, position: Position) -> tuple[int, int]:
        """Acknowledges everything up to and including `position`; returns (entries, messages). Raises Closed."""
        self._check_open()
        messages = self.backlog_messages
        entries = self.acknowledge_up_to(position)
        return entries, messages - self.backlog_messages

    def skip(self, entries: int) -> int:
        self._check_open()
        return super().skip(entries)

    # ---- backlog

    @property
    def entries_read_ahead(self) -> int:
        """Positions after the mark-delete one, up to the read position: Pulsar's entriesSinceFirstNotAckedMessage."""
        first = self.info.mark_delete.next
        if self.read_position < first:
            return 0
        return self._ledgers.entries_after(first) - self._ledgers.entries_after(self.read_position) + 1

    @property
    def backlog_messages(self) -> int:
        """The backlog in messages: exact if the tables of the entries are in memory, and after `measure`.

        Otherwise it is an estimate, until the entries have been read in the background.
        """
        return self.backlog_messages_and_bytes()[0]

    @property
    def backlog_bytes(self) -> int:
        return self.backlog_messages_and_bytes()[1]

    def backlog_entries_and_bytes(self) -> tuple[int, int]:
        """`backlog_entries` and `backlog_bytes` in one step, for reports about thousands of topics."""
        entries, size, exact = self._backlog.entries_and_bytes(self._refresh_front())
        if not exact:
            self._owner.cursor_inexact(self)
        return entries, size

    def prepare_backlog(self) -> None:
        """Requests a background measurement of what is not in memory."""
        self.backlog_messages_and_bytes()

    def backlog_messages_and_bytes(self) -> tuple[int, int]:
        """`backlog_messages` and `backlog_bytes` in one step."""
        messages, size, exact = self._backlog.totals(self._refresh_front())
        if not exact:
            self._owner.cursor_inexact(self)
        return messages, size

    async def measure(self) -> None:
        """Makes the backlog in messages and bytes exact; reads entries if necessary."""
        await self._measure_batches()
        await self._backlog.measure(self._refresh_front())

    async def _measure_batches(self) -> None:
        """Measures batches of which the client named the open messages but not the total."""
        batches = self.info.batches
        for ledger_id, entry_id, batch in list(batches) if batches else ():
            if not batch.messages:
                messages = await self._weights.read_messages_of(ledger_id, entry_id)
                if self._owner.has_ended:
                    return
                if batches.set_messages(ledger_id, entry_id, messages):
                    self.acknowledge(ledger_id, (entry_id,))

    # ---- journal

    def write_acks(self) -> None:
        """Passes new acknowledgments to the journal."""
        if self.durable:
            self._owner.cursor_write(self)

    async def flush(self) -> None:
        """Waits until everything acknowledged so far is durable."""
        if self.durable:
            await self._owner.cursor_flush(self)

    def take_acks(self) -> list[bytes]:
        """The journal records of the acknowledgments since the last call."""
        if not self._dirty:
            return []
        self._dirty = False
        return self._unwritten.take()

    def acks_written(self, error: Exception | None) -> None:
        """After a failed write, the next records of this cursor carry all acknowledgments again: they are in memory."""
        if error is not None:
            self._unwritten.everything()
            self._mark_dirty()

    def _mark_dirty(self) -> None:
        if self.durable and not self._dirty:
            self._dirty = True
            self._owner.cursor_dirty(self)
