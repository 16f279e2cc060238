"""Single entries of a log, and the bytes after a position, for tools that read without consuming."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from broker_core.storage.records.position import Position

if TYPE_CHECKING:
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic_log import TopicLog

READ_ENTRIES = 1000
READ_BYTES = 1 << 20

Peeked = tuple[Position, bytes]


async def entry_at(log: TopicLog, position: Position) -> Peeked | None:
    """The entry at exactly that position; None if there is none."""
    if position > log.last_confirmed:
        return None
    block = await log.read_all(position, 1, 1)
    if not len(block) or (block.ledger_id, block.first_entry_id) != position:
        return None
    return position, block.entry(0)


async def nth_unacknowledged(log: TopicLog, cursor: ManagedCursor, number: int) -> Peeked | None:
    """The `number`th entry that the subscription of the cursor would get next, from 1; None after the last."""
    position, left = cursor.oldest_unacknowledged(), number
    while position is not None and position <= log.last_confirmed:
        block = await log.read_all(position, READ_ENTRIES, READ_BYTES)
        if not len(block):
            return None
        for first, last in cursor.unacknowledged(block):
            if left <= last - first:
                row = first + left - 1
                return Position(block.ledger_id, block.first_entry_id + row), block.entry(row)
            left -= last - first
        position = Position(block.ledger_id, block.first_entry_id + len(block))
    return None


async def nth_entry(log: TopicLog, number: int, *, from_end: bool) -> Peeked | None:
    """The `number`th entry of the topic, from 1, or its last one if there are fewer; None for an empty topic."""
    ledgers = [info for info in log.ledger_infos() if info.entries]
    total = sum(info.entries for info in ledgers)
    if not total:
        return None
    index = min(max(number, 1), total) - 1
    left = total - 1 - index if from_end else index
    for info in ledgers:
        if left < info.entries:
            return await entry_at(log, Position(info.id, left))
        left -= info.entries
    return None


async def bytes_after(log: TopicLog, position: Position) -> int:
    """The exact bytes of the entries after a position; may read from disk."""
    name = f"bytes-after-{secrets.token_hex(8)}"
    cursor = await log.open_cursor(name, initial=position.next, durable=False)
    try:
        await cursor.measure()
        return cursor.backlog_bytes
    finally:
        await log.delete_cursor(name)
