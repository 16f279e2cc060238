"""A topic's log: an ordered list of ledgers, appended at its end, read anywhere, trimmed at its start.

Pulsar's ManagedLedger. Belongs to the event loop; nothing here waits for a disk. Entries get their positions when
they are appended and become readable when the journal has synced them (`last_confirmed`). A ledger is created at the
first append and again whenever the last one is full, old, failed, or from an earlier run of the broker.

States (`refusal` says why appends fail): open -> fenced (a write failed) -> open by `unfence`; open -> terminated;
any -> closed. A full disk refuses appends too, but heals by itself.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from broker_core.rates.rate import Rate
from broker_core.rates.time_slices import sliced
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.errors import Closed, Damaged, Lost, StorageError, Terminated
from broker_core.storage.log import retention
from broker_core.storage.log.arrival_times import ArrivalTimes
from broker_core.storage.log.compacted_ledger import CompactedLedger, CompactedWriter
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.log_reader import LogReader
from broker_core.storage.log.message_index import MessageIndex
from broker_core.storage.log.retention import Retention
from broker_core.storage.log.weights import Weights
from broker_core.storage.managed_ledger.compacted_store import CompactedStore
from broker_core.storage.managed_ledger.cursor_list import CursorList
from broker_core.storage.managed_ledger.ledger_copies import LedgerCopies
from broker_core.storage.managed_ledger.ledger_services import LedgerServices
from broker_core.storage.managed_ledger.log_writer import Done, LogWriter
from broker_core.storage.records import changes, transaction_changes
from broker_core.storage.records.block import EMPTY, Block, EntryRun
from broker_core.storage.records.catalog import LedgerInfo, ManagedLedgerInfo
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.position import LATEST, Position
from broker_core.storage.records.transactions import LogTransactions, TransactionInfo
from broker_core.tasks import waited_out


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
        self._journal = services.journal
        self.info = info
        self._ledgers = ledgers  # in use, by id: all of them
        self.ledgers = LedgerList(info.ledgers)
        self._writer = LogWriter(services, info, ledgers, self.ledgers)
        self._reader = LogReader(ledgers, self.ledgers, services.cache, services.reader, services.clock)
        self.message_index = MessageIndex(info, ledgers, self.ledgers, services.cache, services.reader)
        self.arrival_times = ArrivalTimes(ledgers, services.reader)
        self.copies = LedgerCopies(services, info, ledgers)
        weights = Weights(ledgers, services.cache, services.reader.read_span)
        self._compacted = CompactedStore(services, info, self._writer.register)
        self._cursors = CursorList(services, info, self.ledgers, weights, self._writer.register)
        # Bound here, so that the hot path makes one call.
        self.append: Callable[[EntryRun, Done], Position] = self._writer.append
        self.transactions: LogTransactions | None = services.catalog.transactions.logs.get(info.id)
        if info.terminated is not None:
            self._writer.refusal = Terminated(f"{info.name} is terminated at {info.terminated}")

    async def load(self) -> None:
        """Opens the cursors, and looks for files of offloaded ledgers. Call it once, before anything else."""
        await self.copies.load()
        await self._cursors.load()

    @property
    def on_disk(self) -> "ManagedLedger":
        return self

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def properties(self) -> dict[str, str]:
        return self.info.properties

    # ---- the way in: `append` is the writer's

    @property
    def last_confirmed(self) -> Position:
        """The last entry that is on disk."""
        return self._writer.last_confirmed

    @property
    def visible_end(self) -> Position:
        """The last position that anyone may see: no entry after it was stored before an open transaction ends."""
        transactions = self.transactions
        last = self._writer.last_confirmed
        return last if transactions is None else transactions.visible_end(last)

    def append_in(self, transaction: TransactionInfo, run: EntryRun, done: Done) -> Position:
        """As `append`, in a transaction: until it ends, no one sees these entries and those after them."""
        ledger_id, first = self._writer.next_first()
        last = first + len(run.starts) - 1
        self._journal.write(transaction_changes.write(transaction, self.info.id, ledger_id, first, last), _ignore)
        self.transactions = self._services.catalog.transactions.wrote(transaction, self.info.id, ledger_id, first, last)
        return self.append(run, done)

    @property
    def on_confirmed(self) -> Callable[[], None] | None:
        """Called after each group that made entries of this log readable."""
        return self._writer.on_confirmed

    @on_confirmed.setter
    def on_confirmed(self, call: Callable[[], None] | None) -> None:
        self._writer.on_confirmed = call

    @property
    def fenced_reason(self) -> str | None:
        return self._writer.fenced_reason

    def fence_if_owner(self, path: Path, reason: StorageError) -> None:
        """Fence, if `path` is one of this managed ledger's files."""
        self._writer.fence_if_owner(path, reason)

    def unfence(self) -> None:
        """Takes appends again, in a new ledger; the failed one is sealed at what was confirmed.

        Raises DirectoryGone: then no append can succeed.
        """
        self._writer.unfence()

    async def roll(self) -> None:
        """Seal the open ledger, if it holds entries; durable on return."""
        await self._writer.roll()

    async def open_above(self, ledger_id: int) -> None:
        """The next entry, and all after it, will be in ledgers with greater IDs; durable on return."""
        await self._writer.open_above(ledger_id)

    # ---- ledgers

    async def trim(self, limits: Retention, now_ms: int) -> list[int]:
        """Deletes the ledgers that are no longer needed (`retention.removable`); returns their IDs."""
        current = self._writer.current
        if current is not None and current.entries and retention.roll_is_due(self._view(), limits, now_ms):
            await self.roll()
        async with self.copies.changing:
            self._check_open()  # without the cursors, nothing would hold back what they have not acknowledged
            ids = retention.removable(self._view(), limits, now_ms)
            if ids:
                await self._remove(ids)
            return ids

    def next_trim_due(self, limits: Retention, now_ms: int) -> int | None:
        """Wall time (ms) at which `trim` will have something to do if nothing else changes; None: never."""
        return retention.next_due(self._view(), limits, now_ms)

    def _view(self) -> retention.LogView:
        current = self._writer.current
        open_id = None if current is None else current.id
        first = None if self.transactions is None else self.transactions.first_open
        kept_from = LATEST if first is None else Position(first.ledger_id, first.entry_id - 1)
        return self.ledgers.view(open_id, min(kept_from, self._cursors.slowest()))

    async def _remove(self, ledger_ids: list[int]) -> None:
        """Makes the removal durable; then, in one step, takes the ledgers from the catalog and has their files deleted.

        A caller that is canceled leaves when that has happened: the record is on its way to the disk.
        """

        def done(error: Exception | None) -> None:
            if error is None:
                self._services.catalog.remove_ledgers(self.info, ledger_ids)
                self.forget(ledger_ids)

        await waited_out(self._journal.synced(changes.change("trim", self.info.id, ids=ledger_ids), done))

    def forget(self, ledger_ids: list[int]) -> None:
        """Forgets ledgers that have left the catalog."""
        self.ledgers.refresh()
        self.copies.trimmed(ledger_ids)
        for ledger_id in ledger_ids:
            ledger = self._ledgers.pop(ledger_id, None)
            if ledger is not None:
                last = Position(ledger_id, ledger.info.entries - 1)
                self.ledgers.trimmed_to = max(self.ledgers.trimmed_to, last)
                self._services.ledger_removed(ledger)

    async def terminate(self) -> Position:
        """Terminates the managed ledger; returns the last position, also when called again. Durable on return.

        Raises StorageError: nothing has changed. A caller that is canceled may leave it in force, because the record is
        on its way to the disk.
        """
        self._check_open()
        if self.info.terminated is not None:
            return self.info.terminated
        self._writer.register()
        self._writer.refusal = end = Terminated(f"{self.name} is terminated")
        try:
            await self._services.synced()  # what was appended before is confirmed, or has failed
        except BaseException as error:
            self._writer.take_back(end, error)
            raise
        return await self._end_at(self.last_confirmed, end)

    async def _end_at(self, last: Position, end: Terminated) -> Position:
        def done(error: Exception | None) -> None:
            if error is None:
                self.info.terminated = last
                self._services.catalog.changed.add(self.info.id)
            else:
                self._writer.take_back(end, error)

        await self._journal.synced(changes.change("terminate", self.info.id, at=list(last)), done)
        return last

    @property
    def terminated(self) -> Position | None:
        return self.info.terminated

    def note_properties(self, changed: Mapping[str, str]) -> None:
        """As `store_properties`, without a wait: they are in the journal before every later entry."""
        self.info.properties = {**self.info.properties, **changed}
        self._writer.register()
        self._services.catalog.changed.add(self.info.id)
        self._journal.write(changes.change("properties", self.info.id, properties=self.info.properties), _ignore)

    async def store_properties(self, changed: Mapping[str, str]) -> None:
        """Adds them, or replaces those of the same names; durable on return. Raises StorageError: nothing has changed.

        A caller that is canceled leaves them in force, because the record is on its way to the disk.
        """
        self._check_open()
        before = self.info.properties
        self.info.properties = {**before, **changed}
        self._writer.register()
        self._services.catalog.changed.add(self.info.id)
        try:
            await self._journal.synced(changes.change("properties", self.info.id, properties=self.info.properties))
        except Exception:
            now = self.info.properties
            mine = {name for name, value in changed.items() if now.get(name) == value}
            others = {name: value for name, value in now.items() if name not in mine}
            self.info.properties = others | {name: before[name] for name in mine & before.keys()}
            raise

    # ---- read

    has_trimmed = False  # see `dispatch.dispatcher.Source`

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        """Entries from `start` on out of memory; None when they are not there. An empty block: nothing to read yet.

        Up to the visible end. What a transaction aborted counts 0 messages.
        """
        if start > self._writer.last_confirmed:
            return EMPTY
        block = self._reader.read_cached(start, max_entries, max_bytes)
        if self.transactions is None or block is None:
            return block
        return self.transactions.shown(block, self._writer.last_confirmed)

    @property
    def stored_reads(self) -> Rate | None:
        """The entries that were read from files or tiered storage; None before the first."""
        return self._reader.stored

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        """As `read_all`, up to the visible end. What a transaction aborted counts 0 messages."""
        block = await self.read_all(start, max_entries, max_bytes)
        if self.transactions is None:
            return block
        return self.transactions.shown(block, self._writer.last_confirmed)

    async def read_all(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        """Entries of one ledger from the first one at or after `start`, whatever transactions did; empty at the end.

        Raises Damaged when the first of them is lost; then it is on record. What is accepted as lost, or skipped by
        configuration (`autoSkipNonRecoverableData`), counts as acknowledged by all, and is passed over.
        """
        while True:
            try:
                return await self._reader.read(start, max_entries, max_bytes)
            except Damaged as damage:
                if not self._services.record_damage(self.name, damage) or damage.lost is None:
                    raise
                start = self._pass_over(damage.lost)

    def _pass_over(self, lost: Lost) -> Position:
        """Acknowledges the loss for every cursor, so that trimming goes on (Pulsar's skipNonRecoverableLedger)."""
        for cursor in self.cursors.values():
            cursor.acknowledge(lost.ledger_id, range(lost.first, lost.last + 1))
        return Position(lost.ledger_id, lost.last + 1)

    @property
    def lost(self) -> list[Lost]:
        """Entries that are known to be lost, of the ledgers that there are."""
        return [lost for ledger_id in self.ledgers.ids for lost in self._services.damage.lost_in(ledger_id)]

    async def find_by_time(self, publish_time_ms: int, start: Position | None = None) -> Position:
        """The first entry, from `start` on, that was published at or after the time, or the next to be written."""
        return await self._reader.find_by_time(publish_time_ms, start) or self.next_position

    async def publish_time(self, position: Position) -> int | None:
        """Publish time (ms) of the first entry at or after `position` that can be read; None at the end."""
        while True:
            try:
                block = await self.read_all(position, 1, 1)
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
        """The position after the last entry."""
        return self.ledgers.next_valid(LATEST) if self.ledgers.ids else self.ledgers.trimmed_to.next

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
        self._check_open()
        await self._cursors.deleted(name)
        self._check_open()
        return await self._cursors.open(name, initial, properties, durable=durable)

    async def set_cursor_properties(self, name: str, properties: dict[str, str]) -> None:
        """Replaces them; durable on return, together with the mark-delete position as it is now."""
        self._check_open()
        await self._cursors.set_properties(name, properties)

    async def move_cursor(
        self, cursor: ManagedCursor, mark_delete: Position, properties: dict[str, str], moved: Callable[[], None]
    ) -> None:
        """Mark-delete and properties as one step, see `CursorList.move`."""
        self._check_open()
        await self._cursors.move(cursor, mark_delete, properties, moved)

    async def delete_cursor(self, name: str) -> None:
        cursor = self.cursors.get(name)
        if cursor is None or cursor.durable:
            self._check_open()
        await self._cursors.delete(name)

    @property
    def cursors(self) -> dict[str, ManagedCursor]:
        return self._cursors.by_name

    # ---- compaction

    async def create_compacted(self) -> CompactedWriter:
        """A new compacted ledger, to be filled and sealed. Leftovers of a compaction that was killed are removed."""
        return await self._compacted.create()

    async def open_compacted(self, ledger_id: int) -> CompactedLedger | None:
        """Returns None if it is lost, and the loss is accepted. Raises Damaged or OSError."""
        return await self._compacted.open(ledger_id)

    async def delete_compacted(self, compacted: CompactedLedger) -> None:
        """Deletes the old result, after a cursor property names the new one durably."""
        await self._compacted.delete(compacted)

    async def discard_compacted(self, compacted: CompactedLedger) -> None:
        """Deletes a new result after `move_cursor` to it has failed."""
        await self._compacted.discard(compacted)

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
        """Waits for earlier appends and acknowledgments; the managed ledger refuses everything afterwards."""
        if self.is_open:
            self._refuse_all("closed")
            await self._write_out()

    def _refuse_all(self, state: str) -> None:
        self._writer.refusal = Closed(f"{self.name} is {state}")
        self.copies.close()

    async def _write_out(self) -> None:
        await self.copies.ended()
        self._writer.seal_for_good()
        async for cursor in sliced(list(self.cursors.values())):
            cursor.write_acks()
        ledgers = list(self._ledgers.values())
        try:
            await self._services.write_out(ledgers)
        finally:
            self._closed(self)
            self._cursors.close()
        self._services.release(ledgers)

    async def delete(self) -> None:
        """Deletes entries and cursors; durable on return. Writes only that record, and removes the files.

        Raises StorageError: it is still there, and closed. A canceled caller leaves when the deletion has ended.
        """
        self._check_open()
        if self.info.id not in self._services.catalog.infos:
            await self.close()  # never used: nothing is on disk
            return
        self._refuse_all("deleted")
        await waited_out(self._delete())

    async def _delete(self) -> None:
        compacted = list(self.info.compacted)
        try:
            await self.copies.ended()
            await self._cursors.forget_acks()
            record = changes.change("delete", self.info.id)
            await self._journal.synced(record, self._deleted)
        except Exception:
            await self._write_out()
            raise
        for ledger_id in compacted:
            remove = partial(self._services.disk.remove, self._services.compacted_path(ledger_id))
            await self._services.read_thread(remove)

    def _deleted(self, error: Exception | None) -> None:
        """Handles the answer for the record: earlier appends are confirmed by now, as the journal answers in order."""
        if error is None:
            ids = list(self.info.ledgers)
            self._services.catalog.remove(self.info)
            self.forget(ids)
            self._closed(self)
            self._cursors.close()

    def _check_open(self) -> None:
        if isinstance(self._writer.refusal, Closed):
            raise self._writer.refusal

    @property
    def is_open(self) -> bool:
        return not isinstance(self._writer.refusal, Closed)


def _ignore(error: Exception | None) -> None:
    """Does nothing: the entries that follow get the failure."""
