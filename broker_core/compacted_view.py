"""A topic as a compacted reader sees it: the compacted ledger up to the horizon, then the log. Read only.

Entries keep their original ids, so gaps appear; each block holds consecutive ids. What one disk read brings
is kept until it is used up, so that a sparse compacted ledger costs one read for many entries.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from broker_core.storage.position import EARLIEST, Position

if TYPE_CHECKING:
    from broker_core.compaction import Compaction
    from broker_core.storage.block import Block
    from broker_core.topics.topic_log import TopicLog


class CompactedView:
    def __init__(self, compaction: Compaction, ledger: TopicLog) -> None:
        self._compaction = compaction
        self._ledger = ledger
        self._found: deque[Block] = deque()  # what the compacted ledger holds from `_found_from` on, without gaps
        self._found_from = EARLIEST

    @property
    def last_confirmed(self) -> Position:
        """The last entry that such a reader gets: what compaction removed does not count (apache/pulsar#7796)."""
        compacted, last = self._compaction.compacted, self._ledger.last_confirmed
        return last if compacted is None or last > self._compaction.horizon else compacted.last_position

    @property
    def has_trimmed(self) -> bool:
        return self._compaction.compacted is not None

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        if start > self._compaction.horizon:
            return self._ledger.read_cached(start, max_entries, max_bytes)
        return self._take(start, max_entries)

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        compacted, horizon = self._compaction.compacted, self._compaction.horizon
        if compacted is not None and start <= horizon:
            self._found = deque(await compacted.read(start, max_entries, max_bytes))
            self._found_from = start
            block = self._take(start, max_entries)
            if block is not None:
                return block
        return await self._ledger.read(max(start, horizon.next), max_entries, max_bytes)

    def _take(self, start: Position, max_entries: int) -> Block | None:
        """What was found from `start` on; None when that is nothing, or `start` lies before what was asked for."""
        if start < self._found_from:
            self._found.clear()
        self._found_from = start
        while self._found:
            block = self._found[0]
            end = len(block)
            if Position(block.ledger_id, block.first_entry_id + end) > start:
                first = max(0, start.entry_id - block.first_entry_id) if block.ledger_id == start.ledger_id else 0
                return block.slice(first, min(first + max_entries, end))
            self._found.popleft()
        return None
