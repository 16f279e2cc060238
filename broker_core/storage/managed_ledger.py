"""A topic's log: an ordered list of ledgers, appended at its end, read anywhere, trimmed at its start.

Pulsar's ManagedLedger. Belongs to the event loop; nothing here waits for a disk. Entries get their positions when
they are appended and become readable when the journal has synced them (`last_confirmed`). A ledger is created at the
first append and again whenever the last one is full, old, failed, or from an earlier run of the broker.

States (`refusal` says why appends fail): open -> fenced (a write failed) -> open by `unfence`; open -> terminated;
any -> closed. A full disk refuses appends too, but heals by itself.
"""

from collections.abc import Callable
from pathlib import Path

from broker_core.storage import changes, retention
from broker_core.storage.block import (
    DELIVERY_SIZE,
    EMPTY,
    HEADER_SIZE,
    ROW_SIZE,
    Block,
    EntryRun,
    encode_one,
    encode_one_delayed,
    encode_run,
)
from broker_core.storage.catalog import LedgerInfo, ManagedLedgerInfo
from broker_core.storage.compacted_ledger import CompactedLedger, CompactedWriter
from broker_core.storage.compacted_store import CompactedStore
from broker_core.storage.cursor import ManagedCursor
from broker_core.storage.cursor_list import CursorList
from broker_core.storage.errors import Closed, Damaged, DirectoryGone, DiskFull, Lost, StorageError, Terminated
from broker_core.storage.ledger_file import Ledger
from broker_core.storage.ledger_list import LedgerList
from broker_core.storage.ledger_services import LedgerServices
from broker_core.storage.log_reader import LogReader
from broker_core.storage.position import LATEST, Position
from broker_core.storage.pressure import RUN_COST
from broker_core.storage.retention import Retention
from broker_core.storage.tail import RECORD_COST
from broker_core.storage.weights import Weights
from broker_core.storage.writer import FLUSH_AT

Done = Callable[[Position | None, StorageError | None], None]

# A run on its way to the journal: first position, ledger, length of the record, the record (or its header and table,
# then blob and block), entries, messages, entry bytes, newest publish time, done.
Appended = tuple[Position, Ledger, int, bytes, "bytes | memoryview | None", "Block | None", int, int, int, int, "Done"]

_ONE = HEADER_SIZE + ROW_SIZE  # of a record with one entry, before the entry
_new = tuple.__new__  # of a Position: a third of the time that its own constructor takes


class ManagedLedger:
    def __init__(
        self,
        services: LedgerServices,
        info: ManagedLedgerInfo,
        ledgers: dict[int, Ledger],
        closed: Callable[["ManagedLedger"], None],
    ) -> None:
        """`closed` is called when everything is in the files and nothing is taken any more."""
        self._services = services
        self._closed = closed
        self._times = services.times
        self._journal = services.journal
        self._cache = services.cache
        self._pressure = services.pressure
        self._clock = services.clock
        self._writer = services.writer
        self._space = services.space
        self._max_entries = services.config.max_entries_per_ledger
        self._max_bytes = services.config.max_ledger_mb << 20
        self._max_age = services.config.max_rollover_minutes * 60
        self._min_age = min(self._max_age, services.config.min_rollover_minutes * 60)
        self.info = info
        self._ledgers = ledgers  # in use, by id: all of them
        self._registered = info.name in services.catalog.names
        self._current: Ledger | None = None
        self._abandoned: list[Ledger] = []  # to be sealed at what was confirmed, before the next append
        self._refusal: StorageError | None = None
        self.fenced_reason: str | None = None
        self.ledgers = LedgerList(info.ledgers)
        self._reader = LogReader(ledgers, self.ledgers, services.cache, services.reader)
        weights = Weights(ledgers, services.cache, services.reader.read_span)
        self.last_confirmed = self.ledgers.last_confirmed
        self.on_confirmed: Callable[[], None] | None = None
        self._compacted = CompactedStore(services, info, self._register)
        self._cursors = CursorList(services, info, self.ledgers, weights, self._register)
        if info.terminated is not None:
            self._refusal = Terminated(f"{info.name} is terminated at {info.terminated}")

    @property
    def on_disk(self) -> "ManagedLedger":
        return self

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def properties(self) -> dict[str, str]:
        return self.info.properties

    # ---- append

    def append(self, run: EntryRun, done: Done) -> Position:
        """Give the run its positions (consecutive, in one ledger) and send it to the journal; returns the first.

        `done(first, None)` is called on the loop once it is durable, in the order of the appends; `done(None, error)`
        when it failed. Raises Fenced, Terminated, DiskFull or Closed at once.
        """
        if self._refusal is not None or self._space.full is not None:
            raise self._refusal or DiskFull(self._space.full)
        ledger = self._current
        if (
            ledger is None
            or ledger.next_entry >= self._max_entries
            or ledger.next_end >= self._max_bytes
            or self._times.now >= ledger.old_at
        ):
            ledger = self._roll_if_due()
        entry_id = ledger.next_entry
        first: Position = _new(Position, (ledger.info.id, entry_id))
        n = len(run.starts)
        what: Appended
        if n == 1:
            if run.delivery_times:
                head = encode_one_delayed(run, first[0], entry_id)
                length = len(head)
                size = length - _ONE - DELIVERY_SIZE
            else:
                head = encode_one(run, first[0], entry_id)
                length = len(head)
                size = length - _ONE
            what = (first, ledger, length, head, None, None, 1, run.counts[0], size, run.publish_times[0], done)
            self._journal.add(head, None, length, self, what)
        else:
            head, blob, block = encode_run(run, first[0], entry_id)
            length = len(head) + len(blob)
            messages, newest_ms = sum(run.counts), max(run.publish_times)
            what = (first, ledger, length, head, blob, block, n, messages, block.size, newest_ms, done)
            self._journal.add(head, blob, length, self, what, n)
        ledger.next_entry = entry_id + n
        ledger.next_end += length
        self._pressure.bytes += length + RUN_COST
        return first

    def confirm(self, appended: Appended) -> None:
        """The journal has synced the run: it can be read now."""
        first, ledger, length, head, blob, block, n, messages, size, newest_ms, done = appended
        if not ledger.parts:
            self._writer.buffered[ledger] = None
            if not ledger.changed:
                self._services.ledger_changed(self.info.id, ledger)
        ledger.confirm(head, blob, length, n, messages, size, newest_ms)
        ledger.info.written_ms = self._times.wall_ms
        self.last_confirmed = first if n == 1 else _new(Position, (first[0], first[1] + n - 1))
        tail = ledger.tail
        if tail is None or not tail.fresh:
            tail = self._cache.tail_of(ledger)
        tail.firsts.append(first[1])
        tail.records.append(head if block is None else block)
        tail.fresh += length + RECORD_COST
        if ledger.info.end - ledger.taken_end >= FLUSH_AT:
            self._writer.flush(ledger)
        done(first, None)

    def group_ended(self) -> None:
        if self.on_confirmed is not None:
            self.on_confirmed()

    def fail(self, appended: Appended, error: StorageError) -> None:
        """The run is not durable, or nobody knows: its ledger takes no more entries."""
        ledger, length, done = appended[1], appended[2], appended[-1]
        self._pressure.settle(length + RUN_COST)
        self._abandon(ledger)
        if not isinstance(error, DiskFull) and self._refusal is None:
            self.fenced_reason = str(error)
            self._refusal = error
        done(None, error)

    def _abandon(self, ledger: Ledger) -> None:
        if ledger is self._current:
            self._current = None
            self._abandoned.append(ledger)
        ledger.next_entry, ledger.next_end = ledger.info.entries, ledger.info.end

    def fence_if_owner(self, path: Path, reason: StorageError) -> None:
        """Fence, if `path` is one of this managed ledger's files."""
        ledger = next((ledger for ledger in self._ledgers.values() if ledger.path == path), None)
        if ledger is not None and self._refusal is None:
            self.fenced_reason = str(reason)
            self._refusal = reason

    def unfence(self) -> None:
        """Take appends again, in a new ledger; the failed one is sealed at what was confirmed.

        Raises DirectoryGone: then no append can succeed.
        """
        if self._services.watch.gone:
            raise DirectoryGone(self._services.watch.gone)
        if self.fenced_reason is not None:
            self.fenced_reason = None
            self._refusal = None

    # ---- ledgers

    def _roll_if_due(self) -> Ledger:
        """Pulsar's roll-over rule: full and not too young, or old; `append` has looked at the limits."""
        ledger = self._current
        if ledger is None:
            return self._open_next_ledger()
        age = self._times.now - ledger.opened
        if not ledger.next_entry or age < self._min_age:
            return ledger
        return self._open_next_ledger()

    def _open_next_ledger(self) -> Ledger:
        """The records that make it travel in front of its first entries, so no wait is needed."""
        self._register()
        self._seal_current()
        catalog = self._services.catalog
        info = LedgerInfo(catalog.new_id(), self._clock.wall_ms())
        ledger = Ledger(info, self._services.ledger_path(info.id), new=True)
        ledger.opened = self._times.now = self._clock.monotonic()
        ledger.old_at = ledger.opened + self._max_age
        record = changes.change("ledger", self.info.id, id=info.id, at=info.created_ms)
        self._journal.write(record, _ignore)
        self.ledgers.add(info)
        self._ledgers[info.id] = ledger
        catalog.ledger_changed(self.info.id, info)
        self._current = ledger
        return ledger

    def _register(self) -> None:
        """A managed ledger exists from its first append, cursor or property on."""
        if not self._registered:
            self._registered = True
            self._services.catalog.add(self.info)
            record = changes.change("managed-ledger", self.info.id, name=self.name, properties=self.info.properties)
            self._journal.write(record, self._registration_written)

    def _registration_written(self, error: Exception | None) -> None:
        if error is not None:
            self._registered = False  # without this record a replay would not know whose the ledgers are

    def _seal_current(self) -> None:
        """Seal what is open; in the journal this comes after the last entries of those ledgers."""
        if self._current is not None:
            self._abandoned.append(self._current)
            self._current = None
        for ledger in self._abandoned:
            self._seal(ledger)
        self._abandoned.clear()

    def _seal(self, ledger: Ledger) -> None:
        at = self._clock.wall_ms()
        record = changes.change("seal", self.info.id, id=ledger.info.id, entries=ledger.next_entry, at=at)

        def done(error: Exception | None) -> None:
            if error is None and ledger.info.id in self._ledgers:
                ledger.info.sealed_ms = at
                self._services.ledger_sealed(self.info.id, ledger)
            elif error is not None:
                self._abandoned.append(ledger)

        self._journal.write(record, done)

    async def roll(self) -> None:
        """Seal the open ledger, if it holds entries; durable on return."""
        if self._current is not None and self._current.next_entry:
            self._seal_current()
            await self._services.synced()

    async def trim(self, limits: Retention, now_ms: int) -> list[int]:
        """Delete the ledgers that nobody needs any more (`retention.removable`); returns their ids."""
        current = self._current
        if current is not None and current.info.entries and retention.roll_is_due(self._view(), limits, now_ms):
            await self.roll()
        ids = retention.removable(self._view(), limits, now_ms)
        if ids:
            await self._remove(ids)
        return ids

    def next_trim_due(self, limits: Retention, now_ms: int) -> int | None:
        """Wall time (ms) at which `trim` will have something to do if nothing else changes; None: never."""
        return retention.next_due(self._view(), limits, now_ms)

    def _view(self) -> retention.LogView:
        open_id = self._current.info.id if self._current else None
        return self.ledgers.view(open_id, self._cursors.slowest())

    async def _remove(self, ledger_ids: list[int]) -> None:
        """Durable first; then, in one step, they leave the catalog and their files are on the way out."""
        await self._journal.synced(changes.change("trim", self.info.id, ids=ledger_ids))
        self._services.catalog.remove_ledgers(self.info, ledger_ids)
        self.ledgers.refresh()
        self.forget(ledger_ids)

    def forget(self, ledger_ids: list[int]) -> None:
        """These ledgers have left the catalog."""
        for ledger_id in ledger_ids:
            ledger = self._ledgers.pop(ledger_id, None)
            if ledger is not None:
                self._services.ledger_removed(ledger)

    async def terminate(self) -> Position:
        """No more entries, ever; returns the last position, also when asked again. Durable on return."""
        if isinstance(self._refusal, Closed):
            raise self._refusal
        if self.info.terminated is None:
            self._register()
            self._refusal = Terminated(f"{self.name} is terminated")
            await self._services.synced()  # what was appended before is confirmed, or has failed
            position = self.last_confirmed
            await self._journal.synced(changes.change("terminate", self.info.id, at=list(position)))
            self.info.terminated = position
            self._services.catalog.changed.add(self.info.id)
        return self.info.terminated

    @property
    def terminated(self) -> Position | None:
        return self.info.terminated

    async def set_properties(self, properties: dict[str, str]) -> None:
        """Replaces them; durable on return."""
        self.info.properties = dict(properties)
        self._register()
        self._services.catalog.changed.add(self.info.id)
        await self._journal.synced(changes.change("properties", self.info.id, properties=properties))

    # ---- read

    has_trimmed = False  # see `dispatch.dispatcher.Source`

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        """Entries from `start` on out of memory; None when they are not there. An empty block: nothing to read yet."""
        if start > self.last_confirmed:
            return EMPTY
        return self._reader.read_cached(start, max_entries, max_bytes)

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        """Entries of one ledger from the first one at or after `start`; empty at the end.

        Raises Damaged when the first of them is lost; then it is on record. What is accepted as lost, or skipped by
        configuration (`autoSkipNonRecoverableData`), counts as acknowledged by all, and is passed over.
        """
        while True:
            try:
                return await self._reader.read(start, max_entries, max_bytes)
            except Damaged as damage:
                if not self._services.meet_damage(self.name, damage) or damage.lost is None:
                    raise
                start = self._pass_over(damage.lost)

    def _pass_over(self, lost: Lost) -> Position:
        """As Pulsar's skipNonRecoverableLedger: for every cursor, or it would hold what is behind for ever."""
        for cursor in self.cursors.values():
            cursor.acknowledge(lost.ledger_id, range(lost.first, lost.last + 1))
        return Position(lost.ledger_id, lost.last + 1)

    @property
    def lost(self) -> list[Lost]:
        """Entries that are known to be lost, of the ledgers that there are."""
        return [lost for ledger_id in self.ledgers.ids for lost in self._services.damage.lost_in(ledger_id)]

    async def find_by_time(self, publish_time_ms: int) -> Position:
        """The first entry published at or after the time, or the next to be written."""
        return await self._reader.find_by_time(publish_time_ms) or self.next_position

    async def publish_time(self, position: Position) -> int | None:
        """Publish time (ms) of the first entry at or after `position` that can be read; None at the end."""
        while True:
            try:
                block = await self.read(position, 1, 1)
            except Damaged as damage:
                if damage.lost is None:
                    raise
                position = Position(damage.lost.ledger_id, damage.lost.last + 1)
            else:
                return block.publish_times[0] if len(block) else None

    @property
    def first_position(self) -> Position:
        return self.ledgers.first_position

    @property
    def next_position(self) -> Position:
        """The position behind the last entry."""
        return self.ledgers.next_valid(LATEST)

    # ---- cursors

    async def open_cursor(
        self,
        name: str,
        *,
        initial: Position | None = None,
        durable: bool = True,
        properties: dict[str, str] | None = None,
    ) -> ManagedCursor:
        """The cursor of that name, or a new one that first reads `initial` (None or LATEST: what comes next).

        A new durable cursor is on disk on return.
        """
        if isinstance(self._refusal, Closed):
            raise self._refusal
        return await self._cursors.open(name, initial, properties, durable=durable)

    async def set_cursor_properties(self, name: str, properties: dict[str, str]) -> None:
        """Replaces them; durable on return, together with the mark-delete position as it is now."""
        await self._cursors.set_properties(name, properties)

    async def move_cursor(
        self, cursor: ManagedCursor, mark_delete: Position, properties: dict[str, str], moved: Callable[[], None]
    ) -> None:
        """Mark-delete and properties as one step, see `CursorList.move`."""
        await self._cursors.move(cursor, mark_delete, properties, moved)

    async def delete_cursor(self, name: str) -> None:
        await self._cursors.delete(name)

    @property
    def cursors(self) -> dict[str, ManagedCursor]:
        return self._cursors.by_name

    # ---- compaction

    async def create_compacted(self) -> CompactedWriter:
        """A new compacted ledger, to be filled and sealed. Leftovers of a compaction that was killed are removed."""
        return await self._compacted.create()

    async def open_compacted(self, ledger_id: int) -> CompactedLedger:
        """Raises Damaged or FileNotFoundError."""
        return await self._compacted.open(ledger_id)

    async def delete_compacted(self, compacted: CompactedLedger) -> None:
        """The old result, after a cursor property names the new one durably."""
        await self._compacted.delete(compacted)

    # ---- figures and end

    @property
    def entries(self) -> int:
        return self.ledgers.entries

    @property
    def messages(self) -> int:
        return self.ledgers.messages

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return self.ledgers.size

    def ledger_infos(self) -> list[LedgerInfo]:
        """Ascending; `sealed_ms` of the last is 0 while it is open."""
        return [self.info.ledgers[i] for i in self.ledgers.ids]

    async def close(self) -> None:
        """Waits for what was appended and acknowledged; the managed ledger refuses everything afterwards."""
        if isinstance(self._refusal, Closed):
            return
        self._refusal = Closed(f"{self.name} is closed")
        if self._current is not None and self._current.next_entry:
            self._seal_current()
        for cursor in self.cursors.values():
            cursor.write_acks()
        ledgers = list(self._ledgers.values())
        try:
            await self._services.write_out(ledgers)
        finally:
            self._closed(self)
        self._services.release(ledgers)

    @property
    def is_open(self) -> bool:
        return not isinstance(self._refusal, Closed)


def _ignore(error: Exception | None) -> None:
    """The entries that follow in the same group are told of the failure."""
