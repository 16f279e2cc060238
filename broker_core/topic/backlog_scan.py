"""Counts what a subscription has not acknowledged by reading it, within bounds (Pulsar docs, "analyze-backlog")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from broker_core.storage.records.position import Position

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.topic_log import TopicLog

READ_ENTRIES = 1000
READ_BYTES = 1 << 20


@dataclass(slots=True, eq=False, repr=False)
class BacklogScan:
    """`aborted`: a bound was reached before the end. A batch is one entry of several messages.

    `first` and `last` are the positions of the first and the last entry that was counted. `markers` are entries
    without messages for consumers.
    """

    entries: int = 0
    messages: int = 0
    markers: int = 0
    aborted: bool = False
    first: Position | None = None
    last: Position | None = None

    def add(self, block: Block, first: int, last: int) -> None:
        """Counts the entries of the block from `first` up to `last`, exclusive."""
        self.entries += last - first
        counts = block.counts[first:last]
        self.messages += sum(counts)
        self.markers += sum(count == 0 for count in counts)
        self.first = self.first or Position(block.ledger_id, block.first_entry_id + first)
        self.last = Position(block.ledger_id, block.first_entry_id + last - 1)


class ScanBounds(NamedTuple):
    """Maximum number of entries, and of seconds."""

    entries: int
    seconds: float


async def scan(
    log: TopicLog, cursor: ManagedCursor, bounds: ScanBounds, clock: Clock, start: Position | None = None
) -> BacklogScan:
    """Reads from `start`, by default from the oldest unacknowledged message."""
    counted = BacklogScan()
    position, ends = cursor.oldest_unacknowledged(), clock.monotonic() + bounds.seconds
    if position is not None and start is not None:
        position = max(position, start)
    while position is not None and position <= log.last_confirmed:
        if counted.entries >= bounds.entries or clock.monotonic() >= ends:
            counted.aborted = True
            break
        block = await log.read_all(position, min(READ_ENTRIES, bounds.entries - counted.entries), READ_BYTES)
        if not len(block):
            break
        for first, last in cursor.unacknowledged(block):
            counted.add(block, first, last)
        position = Position(block.ledger_id, block.first_entry_id + len(block))
    return counted
