"""Which entries of a managed ledger a cursor has acknowledged.

Everything up to `mark_delete` is acknowledged; above it, acknowledged entries are kept per ledger in an `AckWindow`,
and batches of which only some messages are acknowledged in `OpenBatches`. Entries that do not exist (trimmed, or
past the end of a sealed ledger) count as acknowledged.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from broker_core.storage.cursor.backlog import Backlog
from broker_core.storage.cursor.unwritten_acks import UnwrittenAcks
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.weights import Weights
from broker_core.storage.records.ack_ranges import AckWindow
from broker_core.storage.records.block import Block
from broker_core.storage.records.catalog import CursorInfo
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.open_batches import OpenBatch
from broker_core.storage.records.position import EARLIEST, Position

_new = tuple.__new__  # makes a Position in a third of the time that its own constructor takes


class Acknowledgments(ABC):
    """`_dirty` is true from the call of `_mark_dirty` until the changes are taken."""

    def __init__(
        self, ledgers: LedgerList, weights: Weights, owner_id: int, info: CursorInfo, *, durable: bool
    ) -> None:
        self._ledgers = ledgers
        self._weights = weights
        self.info = info
        self.open_batches = info.batches  # entries above mark-delete of which some messages are acknowledged
        self.durable = durable
        self._unwritten = UnwrittenAcks(owner_id, info)
        self._dirty = False
        self._front = EARLIEST
        self._set_front(info.mark_delete)
        self._backlog = Backlog(info, ledgers, weights)

    @property
    def mark_delete(self) -> Position:
        return self.info.mark_delete

    @property
    def backlog_entries(self) -> int:
        return self._backlog.entries(self._refresh_front())

    @abstractmethod
    def _mark_dirty(self) -> None:
        """Reports acknowledgments that the journal does not have."""

    def acknowledge(self, ledger_id: int, entry_ids: Sequence[int]) -> int:
        """Acknowledges entries of one ledger one by one; returns how many were newly acknowledged."""
        ledger = self._ledgers.infos.get(ledger_id)
        if ledger is None or not entry_ids:
            return 0
        front_ledger, front_entry = self._front
        if (
            entry_ids[0] == front_entry
            and len(entry_ids) == 1
            and ledger_id == front_ledger
            and front_entry + 1 < ledger.entries
            and not self.info.windows
            and not self.info.batches
        ):  # in order, one by one: what most consumers do
            self.info.mark_delete = self._front
            self._front = _new(Position, (ledger_id, front_entry + 1))
            if not self._dirty:
                self._mark_dirty()
            return 1
        if ledger_id != front_ledger:
            front_ledger, front_entry = self._refresh_front()
            if ledger_id < front_ledger:
                return 0
        if self.info.batches:
            self.info.batches.discard(ledger_id, entry_ids)
        window = self.info.windows.get(ledger_id)
        if window is None:
            if ledger_id == front_ledger and entry_ids[0] == front_entry and _in_order(entry_ids):
                stop = min(entry_ids[-1] + 1, ledger.entries)
                if stop <= front_entry:
                    return 0
                self._move(ledger_id, stop)
                return stop - front_entry
            window = AckWindow(front_entry if ledger_id == front_ledger else 0)
            self.info.windows[ledger_id] = window
        low = front_entry if ledger_id == front_ledger else 0
        if min(entry_ids) < low or max(entry_ids) >= ledger.entries:
            entry_ids = [entry_id for entry_id in entry_ids if low <= entry_id < ledger.entries]
            if not entry_ids:
                return 0
        newly = window.acknowledge(entry_ids, ledger.entries)
        if newly:
            self.info.dirty_windows.add(ledger_id)
            if self.durable:  # other cursors never write them, so the list would grow forever
                self._unwritten.entries(ledger_id, entry_ids)
            if ledger_id == front_ledger and (stop := window.first_unacknowledged(front_entry)) > front_entry:
                self._move(ledger_id, min(stop, ledger.entries))
            else:
                self._mark_dirty()
        return newly

    def acknowledge_indexes(self, position: Position, open_bits: int, messages: int = 0) -> tuple[int, bool]:
        """Acknowledges the messages of a batch except those in the bit set (1 is open); none becomes open again.

        `messages` is the size of the batch, if known; it need not be right. Returns how many messages were newly
        acknowledged, and whether they were the last ones of the entry, which is acknowledged then.
        """
        ledger_id, entry_id = position
        self._refresh_front()
        if self.is_acknowledged(position) or not self._ledgers.is_valid(position):
            return 0, False
        messages = self._weights.messages_of(ledger_id, entry_id) or messages
        batches = self.info.batches
        before = batches.get(ledger_id, entry_id)
        newly, left = batches.clear_bits(ledger_id, entry_id, messages, open_bits)
        if left is None:
            self.acknowledge(ledger_id, (entry_id,))
        elif batches.get(ledger_id, entry_id) is not before:  # size unknown: acknowledges some, and counts none
            if self.durable:
                self._unwritten.batch(ledger_id, entry_id)
            self._mark_dirty()
        return newly, left is None

    def acknowledge_up_to(self, position: Position) -> int:
        """Acknowledges everything up to and including `position`; returns how many entries are newly acknowledged."""
        position = min(position, self._ledgers.last_confirmed)
        if position.entry_id < 0:  # before the first entry of a ledger: the end of the previous one
            position = self._ledgers.previous(position)
        front = self._refresh_front()
        if position < front:
            return 0
        before = self.backlog_entries
        for ledger_id in [i for i in self.info.windows if i < position.ledger_id]:
            self._drop_window(ledger_id)
        stop = position.entry_id + 1
        window = self.info.windows.get(position.ledger_id)
        if window is not None:
            stop = window.first_unacknowledged(stop)
        if self.info.batches:
            self.info.batches.discard_below(Position(position.ledger_id, stop))
        self._move(position.ledger_id, stop)
        return before - self.backlog_entries

    def is_acknowledged(self, position: Position) -> bool:
        if position <= self.info.mark_delete:
            return True
        window = self.info.windows.get(position.ledger_id)
        return window is not None and window.is_acknowledged(position.entry_id)

    def unacknowledged(self, block: Block) -> list[tuple[int, int]]:
        """Index ranges [a, b) of the block's entries that are not acknowledged, and not held by a transaction."""
        ranges = self._unacknowledged(block)
        held = self.info.held
        if held is None or not held.concerns(block.ledger_id, block.first_entry_id):
            return ranges
        rows = [row for a, b in ranges for row in range(a, b)]
        return [(row, row + 1) for row in rows if self._is_deliverable(block, row)]

    def _is_deliverable(self, block: Block, row: int) -> bool:
        position = Position(block.ledger_id, block.first_entry_id + row)
        return not self._held(position) or self.is_open(position, block.counts[row])

    def _held(self, position: Position) -> int:
        """The messages of the entry that a transaction holds, as a bit set."""
        return 0 if self.info.held is None else self.info.held.bits(*position)

    def is_open(self, position: Position, messages: int) -> bool:
        """Whether any message of the entry is neither acknowledged nor held by a transaction."""
        return bool((1 << messages) - 1 & ~self.acknowledged_bits(position) & ~self._held(position))

    def acknowledged_bits(self, position: Position) -> int:
        """The messages of the entry that are acknowledged, as a bit set; -1 for all of them."""
        if self.is_acknowledged(position):
            return -1
        batch = self.info.batches.get(*position)
        return 0 if batch is None else batch.acknowledged_bits

    @property
    def has_partly_open(self) -> bool:
        """Whether there may be entries of which a consumer gets only some messages."""
        return bool(self.info.batches.by_ledger) or self.info.held is not None

    def partly_open(self, ledger_id: int, first: int, counts: Sequence[int]) -> list[tuple[int, OpenBatch]]:
        """The entries of which some messages are not open. `counts`: the messages of each entry from `first` on."""
        rows = self.info.batches.rows_within(ledger_id, first, len(counts))
        held = self.info.held
        if held is None or not held.concerns(ledger_id, first):
            return rows
        batches = dict(rows)
        for entry_id, messages in enumerate(counts, first):
            if bits := held.bits(ledger_id, entry_id):
                batch = batches.get(entry_id, OpenBatch(messages, (1 << messages) - 1))
                batches[entry_id] = OpenBatch(messages, batch.bits & ~bits)
        return sorted(batches.items())

    def last_entry_up_to(self, position: Position) -> Position:
        """The last existing entry at or before the position; its entry is -1 if there is none."""
        position = min(position, self._ledgers.last_confirmed)
        return position if self._ledgers.is_valid(position) else self._ledgers.previous(position)

    def has_entry(self, position: Position) -> bool:
        """Whether the log has that entry."""
        return self._ledgers.is_valid(position)

    async def read_messages_of(self, position: Position) -> int:
        """The number of messages of an entry, 0 if there is no such entry. Raises StorageError."""
        return await self._weights.read_messages_of(*position)

    def commit(self, acks: TransactionAcks) -> None:
        """Carries out the acknowledgments of a committed transaction."""
        if acks.cumulative is not None:
            position, left = acks.cumulative
            self.acknowledge_up_to(Position(position.ledger_id, position.entry_id - 1))
            self.acknowledge_indexes(position, left.bits, left.messages)
        for ledger_id in sorted(acks.entries):
            whole, batches = acks.parts(ledger_id)
            self.acknowledge(ledger_id, whole)
            for entry_id, left in batches.items():
                self.acknowledge_indexes(Position(ledger_id, entry_id), left.bits, left.messages)

    def _unacknowledged(self, block: Block) -> list[tuple[int, int]]:
        ledger_id, first = block.ledger_id, block.first_entry_id
        n = len(block.starts)
        mark_ledger, mark_entry = self.info.mark_delete
        start = first
        if ledger_id <= mark_ledger:
            if ledger_id < mark_ledger:
                return []
            start = max(first, mark_entry + 1)
        window = self.info.windows.get(ledger_id)
        if window is None:
            return [(start - first, n)] if start < first + n else []
        return [(a - first, b - first) for a, b in window.open_ranges(start, first + n)]

    def oldest_unacknowledged(self) -> Position | None:
        """None if there is no backlog."""
        front = self._refresh_front()
        return front if self._ledgers.is_valid(front) else None

    def skip(self, entries: int) -> int:
        """Acknowledges the next `entries` unacknowledged entries; returns how many there were."""
        done = 0
        while done < entries and (front := self.oldest_unacknowledged()):
            ledger = self._ledgers.infos[front.ledger_id]
            window = self.info.windows.get(front.ledger_id)
            stop = ledger.entries
            for a, b in window.open_ranges(front.entry_id, ledger.entries) if window else [(front.entry_id, stop)]:
                stop = min(b, a + entries - done)
                done += stop - a
                if done == entries:
                    break
            self.acknowledge_up_to(Position(front.ledger_id, stop - 1))
        return done

    def ack_ranges(self) -> Iterator[tuple[int, int, int]]:
        """(ledger, first, last) of the entries acknowledged above mark-delete."""
        front = self._refresh_front()
        for ledger_id in sorted(self.info.windows):
            start = front.entry_id if ledger_id == front.ledger_id else 0
            for a, b in self.info.windows[ledger_id].acked_ranges(start):
                yield ledger_id, a, b - 1

    # ---- mark-delete

    def _move(self, ledger_id: int, stop: int) -> None:
        """Mark-delete moves to (ledger_id, stop - 1), and on over what is acknowledged in the ledgers that follow."""
        ledgers = self._ledgers
        while True:
            if stop > 0:
                self.info.mark_delete = Position(ledger_id, stop - 1)
            window = self.info.windows.get(ledger_id)
            if window is not None:
                window.drop_before(stop)
                self.info.dirty_windows.add(ledger_id)
                if not window.bits:
                    del self.info.windows[ledger_id]
            following = ledgers.following(ledger_id)
            ledger = ledgers.infos.get(ledger_id)
            if following is None or (ledger is not None and stop < ledger.entries):
                break
            ledger_id = following
            window = self.info.windows.get(ledger_id)
            stop = window.first_unacknowledged(0) if window is not None else 0
        self._front = Position(ledger_id, stop)
        self._mark_dirty()

    def _refresh_front(self) -> Position:
        """The first position above mark-delete that is not acknowledged; ledgers may have come or gone since."""
        ledger_id, entry_id = self._front
        ledger = self._ledgers.infos.get(ledger_id)
        if ledger is None or entry_id >= ledger.entries:
            self._set_front(self.info.mark_delete)
        return self._front

    def _set_front(self, mark_delete: Position) -> None:
        front = self._ledgers.next_valid(mark_delete.next)
        while (window := self.info.windows.get(front.ledger_id)) is not None:
            stop = window.first_unacknowledged(front.entry_id)
            if stop == front.entry_id:
                break
            front = self._ledgers.next_valid(Position(front.ledger_id, stop))
        self._front = front

    def _drop_window(self, ledger_id: int) -> None:
        del self.info.windows[ledger_id]
        self.info.dirty_windows.add(ledger_id)


def _in_order(entry_ids: Sequence[int]) -> bool:
    first = entry_ids[0]
    n = len(entry_ids)
    return n == 1 or (entry_ids[-1] - first == n - 1 and list(entry_ids) == list(range(first, first + n)))
