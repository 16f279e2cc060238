"""The end of a log with markers as consumers see it: the last entry that holds a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.rates.time_slices import TimeSlices
from broker_core.storage.records.position import EARLIEST, Position

if TYPE_CHECKING:
    from broker_core.topic_log import TopicLog

READ_ENTRIES = 1000
READ_BYTES = 1 << 20


async def last_message(log: TopicLog) -> Position:
    """The position of the last visible message, or `EARLIEST`.

    Reads backward, first one entry, which mostly is that message, and then more at a time.
    """
    end, count, slices = log.visible_end, 1, TimeSlices()
    for info in reversed(log.ledger_infos()):
        if info.id > end.ledger_id:
            continue
        stop = info.entries if info.id < end.ledger_id else min(info.entries, end.entry_id + 1)
        while stop > 0:
            start = max(0, stop - count)
            position = await _last_within(log, Position(info.id, start), stop, slices)
            if position is not None:
                return position
            stop, count = start, min(4 * count, READ_ENTRIES)
    return EARLIEST


async def _last_within(log: TopicLog, start: Position, stop: int, slices: TimeSlices) -> Position | None:
    """The last message among the entries from `start` up to, but not including, entry `stop` of its ledger."""
    position = None
    while start.entry_id < stop:
        await slices.pause()
        block = await log.read(start, stop - start.entry_id, READ_BYTES)
        if not len(block) or block.ledger_id != start.ledger_id:
            break  # trimmed in the meantime
        for row in range(min(len(block), stop - block.first_entry_id)):
            if block.counts[row]:
                position = Position(block.ledger_id, block.first_entry_id + row)
        start = Position(block.ledger_id, block.first_entry_id + len(block))
    return position
