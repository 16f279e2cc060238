"""The way into a managed ledger: positions are given out, runs go to the journal, and its report makes them readable.

Belongs to the event loop; nothing here waits for a disk but `roll`. A ledger is created at the first append and again
whenever the last one is full, old, failed, or from an earlier run of the broker.
"""

from collections.abc import Callable
from pathlib import Path

from broker_core.storage.errors import DirectoryGone, DiskFull, StorageError, Terminated
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.writer import FLUSH_AT
from broker_core.storage.managed_ledger.ledger_services import LedgerServices
from broker_core.storage.pressure import RUN_COST
from broker_core.storage.records import changes
from broker_core.storage.records.block import (
    AGE_MAX,
    COPIED_BYTES,
    DELIVERY_SIZE,
    HEADER_SIZE,
    ROW_SIZE,
    Block,
    EntryRun,
    encode_one,
    encode_one_delayed,
    encode_run,
)
from broker_core.storage.records.catalog import LedgerInfo, ManagedLedgerInfo
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.position import Position
from broker_core.storage.records.tail import RECORD_COST

Done = Callable[[Position | None, StorageError | None], None]

# A run on its way to the journal: first position, ledger, length of the record, the record (or its header and table,
# then blob and block), entries, messages, entry bytes, newest publish time, done.
Appended = tuple[Position, Ledger, int, bytes, "bytes | memoryview | None", "Block | None", int, int, int, int, "Done"]

_ONE = HEADER_SIZE + ROW_SIZE  # of a record with one entry, before the entry
_new = tuple.__new__  # makes a Position in a third of the time that its own constructor takes


class LogWriter:
    """`refusal` says why appends fail. A full disk refuses them too, but heals by itself."""

    def __init__(
        self, services: LedgerServices, info: ManagedLedgerInfo, ledgers: dict[int, Ledger], order: LedgerList
    ) -> None:
        """`ledgers` are the ledgers in use, by id; both it and `order` get what is created here."""
        self._services = services
        self._times = services.times
        self._journal = services.journal
        self._cache = services.cache
        self._pressure = services.pressure
        self._clock = services.clock
        self._writer = services.writer
        self._space = services.space
        config = services.config
        self._max_entries = config.max_entries_per_ledger
        self._max_bytes = config.max_ledger_mb << 20
        self._max_age = config.max_rollover_minutes * 60
        self._min_age = min(self._max_age, config.min_rollover_minutes * 60)
        self._info = info
        self._wall_ms = services.clock.wall_ms
        self._ledgers = ledgers
        self._order = order
        catalog = services.catalog
        self._registered = info.name in catalog.names and info.id not in catalog.unregistered
        self._current: Ledger | None = None
        self._abandoned: list[Ledger] = []  # to be sealed at what was confirmed, before the next append
        self.refusal: StorageError | None = None
        self._fence: StorageError | None = None
        self.last_confirmed = order.last_confirmed
        self.on_confirmed: Callable[[], None] | None = None

    @property
    def fenced_reason(self) -> str | None:
        """Why a write failed, after which appends are refused until `unfence`; None if none did."""
        return None if self._fence is None else str(self._fence)

    @property
    def current(self) -> LedgerInfo | None:
        """The ledger that takes the next append, unless another one is due."""
        return None if self._current is None else self._current.info

    def append(self, run: EntryRun, done: Done) -> Position:
        """Gives the run its positions (consecutive, in one ledger) and sends it to the journal; returns the first.

        `done(first, None)` is called on the loop once it is durable, in the order of the appends; `done(None, error)`
        when it failed. Raises Fenced, Terminated, DiskFull or Closed at once.
        """
        if self.refusal is not None or self._space.full is not None:
            raise self.refusal or DiskFull(self._space.full)
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
        age = self._wall_ms() - ledger.before_ms
        if not 0 < age <= AGE_MAX:  # the clock was set, or the ledger is older than a field can say
            age = 0
        appended: Appended
        if n == 1 and run.ends[0] - run.starts[0] < COPIED_BYTES:
            if run.delivery_times:
                head = encode_one_delayed(run, first[0], entry_id, age)
                length = len(head)
                size = length - _ONE - DELIVERY_SIZE
            else:
                head = encode_one(run, first[0], entry_id, age)
                length = len(head)
                size = length - _ONE
            appended = (first, ledger, length, head, None, None, 1, run.counts[0], size, run.publish_times[0], done)
            self._journal.add(head, None, length, self, appended)
        else:
            head, blob, block = encode_run(run, first[0], entry_id, age)
            length = len(head) + len(blob)
            messages, newest_ms = sum(run.counts), max(run.publish_times)
            appended = (first, ledger, length, head, blob, block, n, messages, block.size, newest_ms, done)
            self._journal.add(head, blob, length, self, appended, n)
        ledger.next_entry = entry_id + n
        ledger.next_end += length
        self._pressure.bytes += length + RUN_COST
        return first

    def next_first(self) -> Position:
        """The position that the next `append` will give out. Raises as `append` does.

        The checks are written again, because `append` is on the hot path and makes no call for them.
        """
        if self.refusal is not None or self._space.full is not None:
            raise self.refusal or DiskFull(self._space.full)
        ledger = self._current
        if (
            ledger is None
            or ledger.next_entry >= self._max_entries
            or ledger.next_end >= self._max_bytes
            or self._times.now >= ledger.old_at
        ):
            ledger = self._roll_if_due()
        return Position(ledger.info.id, ledger.next_entry)

    def confirm(self, appended: Appended) -> None:
        """The journal has synced the run: it can be read now."""
        first, ledger, length, head, blob, block, n, messages, size, newest_ms, done = appended
        if not ledger.parts:
            self._writer.buffer(ledger)
            if not ledger.changed:
                self._services.ledger_changed(self._info.id, ledger)
        ledger.confirm(head, blob, length, n, messages, size, newest_ms)
        ledger.info.written_ms = self._times.wall_ms
        self.last_confirmed = first if n == 1 else _new(Position, (first[0], first[1] + n - 1))
        tail = ledger.tail
        if tail is None or not tail.fresh:
            tail = self._cache.tail_of(ledger)
        tail.add(first[1], head if block is None else block, length + RECORD_COST)
        if ledger.info.end - ledger.taken_end >= FLUSH_AT:
            self._writer.flush(ledger)
        done(first, None)

    def group_ended(self) -> None:
        if self.on_confirmed is not None:
            self.on_confirmed()

    def fail(self, appended: Appended, error: StorageError) -> None:
        """The run is not durable, or that is unknown: its ledger takes no more entries."""
        _, ledger, length, *_, done = appended
        self._pressure.release(length + RUN_COST)
        self._abandon(ledger)
        self._fence_after(error)
        done(None, error)

    def _fence_after(self, error: StorageError) -> None:
        if not isinstance(error, DiskFull) and self.refusal is None:
            self._fence = self.refusal = error

    def _abandon(self, ledger: Ledger) -> None:
        if ledger is self._current:
            self._current = None
            self._abandoned.append(ledger)
        ledger.next_entry, ledger.next_end = ledger.info.entries, ledger.info.end

    def fence_if_owner(self, path: Path, reason: StorageError) -> None:
        """Fence, if `path` is one of this managed ledger's files."""
        ledger = next((ledger for ledger in self._ledgers.values() if ledger.path == path), None)
        if ledger is not None and self.refusal is None:
            self._fence = self.refusal = reason

    def unfence(self) -> None:
        """Takes appends again, in a new ledger; the failed one is sealed at what was confirmed.

        Raises DirectoryGone: then no append can succeed.
        """
        if self._services.watch.gone:
            raise DirectoryGone(self._services.watch.gone)
        if self._fence is not None and self.refusal is self._fence:
            self.refusal = None
        self._fence = None

    def take_back(self, end: Terminated, error: BaseException) -> None:
        """The termination that set `refusal` to `end` failed with `error`, so appends go on."""
        if self.refusal is end and self._info.terminated is None:
            self.refusal = self._fence
            if isinstance(error, StorageError):
                self._fence_after(error)

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
        """Creates a ledger. Its records are in the journal before its first entries, so no wait is needed."""
        self.register()
        self.seal_current()
        catalog = self._services.catalog
        info = LedgerInfo(catalog.new_id(), self._clock.wall_ms())
        ledger = Ledger(info, self._services.ledger_path(info.id), new=True)
        ledger.opened = self._times.now = self._clock.monotonic()
        ledger.old_at = ledger.opened + self._max_age
        record = changes.change("ledger", self._info.id, id=info.id, at=info.created_ms)
        self._journal.write(record, _ignore)
        self._order.add(info)
        self._ledgers[info.id] = ledger
        catalog.ledger_changed(self._info.id, info)
        self._current = ledger
        return ledger

    def register(self) -> None:
        """Registers the managed ledger, which exists from its first append, cursor, or property on."""
        if not self._registered:
            self._registered = True
            self._services.catalog.add(self._info)
            self._services.catalog.unregistered.add(self._info.id)
            record = changes.change(
                "managed-ledger", self._info.id, name=self._info.name, properties=self._info.properties
            )
            self._journal.write(record, self._registration_written)

    def _registration_written(self, error: Exception | None) -> None:
        if error is None:
            self._services.catalog.unregistered.discard(self._info.id)
        else:
            self._registered = False  # without this record a replay would not know whose the ledgers are

    def seal_current(self) -> None:
        """Seals the open ledgers; in the journal this comes after their last entries."""
        if self._current is not None:
            self._abandoned.append(self._current)
            self._current = None
        for ledger in self._abandoned:
            self._seal(ledger)
        self._abandoned.clear()

    def _seal(self, ledger: Ledger) -> None:
        at = self._clock.wall_ms()
        record = changes.change("seal", self._info.id, id=ledger.info.id, entries=ledger.next_entry, at=at)

        def done(error: Exception | None) -> None:
            if error is None and ledger.info.id in self._ledgers:
                ledger.info.sealed_ms = at
                self._services.ledger_sealed(self._info.id, ledger)
            elif error is not None:
                self._abandoned.append(ledger)

        self._journal.write(record, done)

    def seal_for_good(self) -> None:
        """Before closing: seal the open ledger, if it was given entries."""
        if self._current is not None and self._current.next_entry:
            self.seal_current()

    async def roll(self) -> None:
        """Seal the open ledger, if it holds entries; durable on return."""
        if self._current is not None and self._current.next_entry:
            self.seal_current()
            await self._services.synced()

    async def open_above(self, ledger_id: int) -> None:
        """The next entry, and all after it, will be in ledgers with greater IDs; durable on return.

        Raises Fenced, Terminated, or Closed.
        """
        if self.refusal is not None:
            raise self.refusal
        # Those that follow have greater IDs still; the record of an abandoned ledger may be missing.
        if self._order.ids and self._order.ids[-1] > ledger_id and not self._abandoned:
            return
        catalog = self._services.catalog
        catalog.next_id = max(catalog.next_id, ledger_id + 1)
        ledger = self._open_next_ledger()  # its record, not the number alone, survives a restart

        def done(error: Exception | None) -> None:
            if error is not None:  # a replay would not know whose entries it has
                self._abandon(ledger)

        await self._journal.synced(changes.nothing(), done)


def _ignore(error: Exception | None) -> None:
    """Does nothing: the entries that follow in the same group get the failure."""
