"""What one subscription holds back, and when its dispatcher gets it back (Pulsar's DelayedDeliveryTracker).

Strict: an entry is due at its delivery time. Otherwise it is due up to a tick before (Pulsar docs, "Delayed message
delivery"), which lets entries that are close in time go together. The dispatcher asks: `hold_back` for each block with
delivery times, `take_due` when it could send something. An alarm wakes it when something falls due that nobody has
asked for; nothing here ever runs while nothing is held back.

Entries are held back ahead of the dispatcher's read position as well. When such a one falls due before the reader has
come by, it is forgotten here, since the reader will find it due: so no entry can be given out twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from broker_core.delayed.time_index import Row, TimeIndex
from broker_core.delayed.waiting import WaitingEntries
from broker_core.storage.position import EARLIEST, Position

if TYPE_CHECKING:
    from broker_core.delayed.alarms import Alarm
    from broker_core.delayed.services import DelayedServices
    from broker_core.policies.in_force import PoliciesInForce
    from broker_core.storage.block import Block
    from broker_core.storage.cursor import ManagedCursor

STRICT_PAUSE_MS = 5  # at a message a millisecond, five of them cost one wake
_LOOKS_PER_ENTRY = 8  # rows that may mean nothing any more, before the event loop gets its turn


class DelayedTracker:
    def __init__(
        self, services: DelayedServices, in_force: PoliciesInForce, cursor: ManagedCursor, wake: Callable[[], None]
    ) -> None:
        """`wake` is called when entries of the cursor's subscription fall due, or reading may go on."""
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
        self._next_ring_ms = 0  # no alarm rings before
        self._paused = False  # the dispatcher was told so
        self._fixed_delay = True  # so far each entry was due after those before it
        self._latest_ms = 0
        self._frontier = EARLIEST  # the last entry that was held back

    @property
    def count(self) -> int:
        """Entries that are held back."""
        return self._waiting.count

    @property
    def memory(self) -> int:
        """Bytes."""
        return self._waiting.memory + self._index.memory

    # ---- asked by the dispatcher

    def pauses_reading(self) -> bool:
        """Nothing new should be read now; the dispatcher is woken when that ends.

        Either enough is held back and each entry was due after those before it, so that what lies behind it most
        likely is not due either (Pulsar's fixed delay detection); or the disk is behind with the index.
        """
        self._paused = self._index.is_behind or (
            0 < self._lookahead <= self._waiting.count
            and self._fixed_delay
            and self._cursor.read_position > self._frontier
        )
        return self._paused

    def hold_back(self, block: Block, first: int, last: int) -> list[tuple[int, int]]:
        """Takes those of entries `first` to `last - 1` that are not due; index ranges [a, b) of the others.

        May be asked again about the same entries.
        """
        policy = self._in_force.current.delayed_delivery
        if not policy.active:
            return [(first, last)]
        cutoff, times, waiting = self._cutoff_ms(), block.delivery_times, self._waiting
        if waiting.count:
            self._reached(block, [index for index in range(first, last) if 0 < times[index] <= cutoff])
        early = [index for index in range(first, last) if times[index] > cutoff]
        ledger_id, entry_id = block.ledger_id, block.first_entry_id
        held = [(times[i], ledger_id, entry_id + i) for i in early if waiting.add(ledger_id, entry_id + i)]
        if held:
            self._hold(held, policy.tick_ms)
        return ranges_without(first, last, early)

    @property
    def has_due(self) -> bool:
        earliest = self._index.earliest() if self._waiting.count else None
        return earliest is not None and earliest <= self._cutoff_ms()

    def take_due(self, limit: int) -> list[tuple[int, int]]:
        """At most `limit` entries that are due, earliest first; they are the dispatcher's from now on."""
        cutoff = self._cutoff_ms()
        found: list[tuple[int, int]] = []
        for _ in range(_LOOKS_PER_ENTRY * limit):
            row = self._index.take(cutoff)
            if row is None:
                break
            _, ledger_id, entry_id = row
            if self._waiting.remove(ledger_id, entry_id) and not self._is_ahead(ledger_id, entry_id):
                found.append((ledger_id, entry_id))
                if len(found) == limit:
                    break
        self._next_ring_ms = self._clock.wall_ms() + STRICT_PAUSE_MS
        self._settle()
        return found

    # ---- no longer wanted

    def discard(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """They were acknowledged."""
        if self._waiting.count:
            self._waiting.remove_all(ledger_id, entry_ids)
            self._settle()

    def discard_up_to(self, position: Position) -> None:
        """Everything up to the position was acknowledged at once: expired, skipped, cleared."""
        if self._waiting.count:
            self._waiting.remove_up_to(*position)
            self._settle()

    def close(self) -> None:
        """Nothing is held back any more, and nobody woken."""
        self._waiting.clear()
        self._settle()

    # ---- time

    def _cutoff_ms(self) -> int:
        """The last delivery time that is due now."""
        now = self._clock.wall_ms()
        return now if self._strict else now + int(self._in_force.current.delayed_delivery.tick_ms)

    def _is_ahead(self, ledger_id: int, entry_id: int) -> bool:
        """The reader will come to it."""
        return (ledger_id, entry_id) >= self._cursor.read_position

    def _reached(self, block: Block, due: list[int]) -> None:
        """The reader has come to entries that may have been held back before, and are due now."""
        before = self._waiting.count
        self._waiting.remove_all(block.ledger_id, [block.first_entry_id + index for index in due])
        if self._waiting.count < before:
            self._settle()

    def _hold(self, rows: list[Row], tick_ms: float) -> None:
        if self._fixed_delay:
            for time, _, _ in rows:
                if time < self._latest_ms - tick_ms:
                    self._fixed_delay = False
                self._latest_ms = max(self._latest_ms, time)
        self._frontier = max(self._frontier, Position(*rows[-1][1:]))
        self._index.add(rows)
        self._set_alarm()

    def _settle(self) -> None:
        """Something is not held back any more."""
        if not self._waiting.count:
            self._index.clear()
            self._fixed_delay, self._latest_ms, self._frontier = True, 0, EARLIEST
        self._set_alarm()
        self._go_on_reading()

    def _set_alarm(self) -> None:
        """Rings when the first row falls due. What the dispatcher does not take then it takes when it can."""
        earliest = self._index.earliest() if self._waiting.count else None
        at_ms = None if earliest is None else max(earliest, self._pause_until_ms())
        if self._alarm is not None:
            if self._alarm.at_ms == at_ms:
                return
            self._alarms.cancel(self._alarm)
        self._alarm = None if at_ms is None else self._alarms.set(at_ms, self._ring)

    def _pause_until_ms(self) -> int:
        """When the clock was set back since the last delivery, the pause after it is over."""
        return min(self._next_ring_ms, self._clock.wall_ms() + STRICT_PAUSE_MS)

    def _ring(self) -> None:
        self._alarm = None
        self._wake()

    def _go_on_reading(self) -> None:
        if self._paused and not self.pauses_reading():
            self._wake()

    def _ready(self) -> None:
        """Rows came from the disk, or went there."""
        self._set_alarm()
        self._go_on_reading()


def ranges_without(first: int, last: int, left_out: Sequence[int]) -> list[tuple[int, int]]:
    """What remains of [first, last) without those numbers, which ascend; as ranges [a, b)."""
    bounds = [first - 1, *left_out, last]
    return [(a + 1, b) for a, b in pairwise(bounds) if a + 1 < b]
