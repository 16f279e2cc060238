"""The delayed entries of one subscription, and when its dispatcher gets them (Pulsar's DelayedDeliveryTracker).

Strict: an entry is due at its delivery time. Otherwise it is due up to a tick earlier (Pulsar docs, "Delayed message
delivery"), so that entries with close delivery times go together. The dispatcher calls `hold_back` for each block with
delivery times, and `take_due` when it can send. An alarm wakes it when an entry becomes due that it has not asked for.
Without delayed entries no code here runs.

Entries after the dispatcher's read position can be held back, too. If such an entry becomes due before the reader
reaches it, the tracker forgets it, because the reader will find it due: so no entry is dispatched twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from broker_core.dispatch.delayed.time_index import Row, TimeIndex
from broker_core.dispatch.delayed.waiting import WaitingEntries
from broker_core.storage.records.position import EARLIEST, Position

if TYPE_CHECKING:
    from broker_core.dispatch.delayed.alarms import Alarm
    from broker_core.dispatch.delayed.services import DelayedServices
    from broker_core.metadata.policies.in_force import PoliciesInForce
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block

STRICT_PAUSE_MS = 5  # at a message per millisecond, five of them cost one wake
_ALWAYS = (1 << 63) - 1  # no delivery time is later
_LOOKS_PER_ENTRY = 8  # rows that may be invalid, in one time slice of the event loop


class DelayedTracker:
    def __init__(
        self, services: DelayedServices, in_force: PoliciesInForce, cursor: ManagedCursor, wake: Callable[[], None]
    ) -> None:
        """`wake` is called when entries of the cursor's subscription become due, or when reading may continue."""
        self._wake = wake
        self._cursor = cursor
        self._in_force = in_force
        self._clock = services.clock
        self._alarms = services.alarms
        self._strict = services.config.strict
        self._lookahead = services.config.lookahead
        self._waiting = WaitingEntries()
        self._index = TimeIndex(
            services.files,
            services.spawn,
            bucket_rows=services.config.bucket_rows,
            chunk_rows=services.config.chunk_rows,
            on_ready=self._ready,
        )
        self._alarm: Alarm | None = None
        self._next_ring_ms = 0  # no alarm rings earlier
        self._paused = False  # whether the dispatcher was told to pause
        self._fixed_delay = True  # whether each entry so far was due after those before it
        self._latest_ms = 0
        self._frontier = EARLIEST  # the last entry that was held back

    @property
    def count(self) -> int:
        """The number of delayed entries."""
        return self._waiting.count

    @property
    def memory(self) -> int:
        """Bytes."""
        return self._waiting.memory + self._index.memory

    # Called by the dispatcher

    def pauses_reading(self) -> bool:
        """Whether to read nothing new now; the dispatcher is woken when that ends.

        Either enough entries are held back and each was due after those before it, so that later ones are most likely
        not due either (Pulsar's fixed delay detection), or the disk is too slow for the index.
        """
        self._paused = self._index.is_behind or (
            0 < self._lookahead <= self._waiting.count
            and self._fixed_delay
            and self._in_force.current.delayed_delivery.active
            and self._cursor.read_position > self._frontier
        )
        return self._paused

    def hold_back(self, block: Block, first: int, last: int) -> list[tuple[int, int]]:
        """Takes those of entries `first` to `last - 1` that are not due; returns index ranges [a, b) of the others.

        May be called again for the same entries.
        """
        cutoff, times, waiting = self._cutoff_ms(), block.delivery_times, self._waiting
        if waiting.count:
            self._reached(block, [index for index in range(first, last) if 0 < times[index] <= cutoff])
        early = [index for index in range(first, last) if times[index] > cutoff]
        ledger_id, entry_id = block.ledger_id, block.first_entry_id
        held = [(times[i], ledger_id, entry_id + i) for i in early if waiting.add(ledger_id, entry_id + i)]
        if held:
            self._hold(held, self._in_force.current.delayed_delivery.tick_ms)
        return ranges_without(first, last, early)

    @property
    def has_due(self) -> bool:
        earliest = self._index.earliest() if self._waiting.count else None
        return earliest is not None and earliest <= self._cutoff_ms()

    def take_due(self, limit: int) -> list[tuple[int, int]]:
        """At most `limit` due entries, earliest first; from now on they belong to the dispatcher."""
        cutoff = self._cutoff_ms()
        due: list[tuple[int, int]] = []
        for _ in range(_LOOKS_PER_ENTRY * limit):
            row = self._index.take(cutoff)
            if row is None:
                break
            _, ledger_id, entry_id = row
            if self._waiting.remove(ledger_id, entry_id) and not self._is_ahead(ledger_id, entry_id):
                due.append((ledger_id, entry_id))
                if len(due) == limit:
                    break
        self._next_ring_ms = self._clock.wall_ms() + STRICT_PAUSE_MS
        self._entries_removed()
        return due

    # Acknowledged entries

    def discard(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Forgets entries that were acknowledged."""
        if self._waiting.count:
            self._waiting.remove_all(ledger_id, entry_ids)
            self._entries_removed()

    def discard_up_to(self, position: Position) -> None:
        """Forgets everything up to the position: it expired, was skipped, or was cleared."""
        if self._waiting.count:
            self._waiting.remove_up_to(*position)
            self._entries_removed()

    def close(self) -> None:
        """Forgets everything, without waking the dispatcher."""
        self._waiting.clear()
        self._entries_removed()

    # Time

    def _cutoff_ms(self) -> int:
        """The latest delivery time that is due now; all are while delayed delivery is off."""
        policy = self._in_force.current.delayed_delivery
        if not policy.active:
            return _ALWAYS
        now = self._clock.wall_ms()
        return now if self._strict else now + int(policy.tick_ms)

    def _is_ahead(self, ledger_id: int, entry_id: int) -> bool:
        """Whether the reader has still to reach the entry."""
        return (ledger_id, entry_id) >= self._cursor.read_position

    def _reached(self, block: Block, due: list[int]) -> None:
        """Forgets entries that the reader has reached and that are due now."""
        before = self._waiting.count
        self._waiting.remove_all(block.ledger_id, [block.first_entry_id + index for index in due])
        if self._waiting.count < before:
            self._entries_removed()

    def _hold(self, rows: list[Row], tick_ms: float) -> None:
        if self._fixed_delay:
            for time, _, _ in rows:
                if time < self._latest_ms - tick_ms:
                    self._fixed_delay = False
                self._latest_ms = max(self._latest_ms, time)
        self._frontier = max(self._frontier, Position(*rows[-1][1:]))
        self._index.add(rows)
        self._set_alarm()

    def _entries_removed(self) -> None:
        """Updates the state after entries were removed."""
        if not self._waiting.count:
            self._index.clear()
            self._fixed_delay, self._latest_ms, self._frontier = True, 0, EARLIEST
        self._set_alarm()
        self._go_on_reading()

    def _set_alarm(self) -> None:
        """Rings when the first row becomes due. The dispatcher takes the rows that it leaves when it can."""
        earliest = self._index.earliest() if self._waiting.count else None
        at_ms = None if earliest is None else max(earliest, self._pause_until_ms())
        if self._alarm is not None:
            if self._alarm.at_ms == at_ms:
                return
            self._alarms.cancel(self._alarm)
        self._alarm = None if at_ms is None else self._alarms.set(at_ms, self._ring)

    def _pause_until_ms(self) -> int:
        """A clock that was set back since the last delivery does not extend the pause after it."""
        return min(self._next_ring_ms, self._clock.wall_ms() + STRICT_PAUSE_MS)

    def _ring(self) -> None:
        self._alarm = None
        self._wake()

    def _go_on_reading(self) -> None:
        if self._paused and not self.pauses_reading():
            self._wake()

    def _ready(self) -> None:
        """Rows have come from the disk, or were written."""
        self._set_alarm()
        self._go_on_reading()


def ranges_without(first: int, last: int, left_out: Sequence[int]) -> list[tuple[int, int]]:
    """The numbers of [first, last) that are not in `left_out`, which ascends, as ranges [a, b)."""
    bounds = [first - 1, *left_out, last]
    return [(a + 1, b) for a, b in pairwise(bounds) if a + 1 < b]
