"""A topic as a compacted reader sees it: the compacted ledger up to the horizon, then the log. Read only.

Entries keep their original IDs, so there are gaps; each block holds consecutive IDs. The result of one disk read stays
cached until it is used up, so that a sparse compacted ledger costs one read for many entries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.storage.records.position import EARLIEST, Position

if TYPE_CHECKING:
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.log.compacted_ledger import CompactedLedger
    from broker_core.storage.records.block import Block
    from broker_core.topic_log import ReadableLog


@dataclass(slots=True, eq=False, repr=False)
class CompactedTopic:
    """The result of the last compaction.

    ledger    the last value of each key; None before the first compaction, and if it is lost or cannot be opened
    cursor    its mark-delete is the last compacted position; None before the first compaction
    unopened  opens the ledger that the cursor names, because it could not be opened so far; returns None if it is lost
    """

    ledger: CompactedLedger | None = None
    cursor: ManagedCursor | None = None
    unopened: Callable[[], Awaitable[CompactedLedger | None]] | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a compacted ledger, even one that cannot be opened now."""
        return self.ledger is not None or self.unopened is not None

    @property
    def horizon(self) -> Position:
        """The last entry that the compacted ledger covers; `EARLIEST` before the first compaction."""
        return self.cursor.mark_delete if self.cursor is not None and self.exists else EARLIEST

    async def open(self) -> None:
        """Opens the ledger if that failed before. Raises Damaged or OSError; then it is tried again the next time."""
        if self.unopened is None:
            return
        ledger = await self.unopened()
        if self.unopened is not None:  # nothing else has opened it in the meantime
            self.ledger, self.unopened = ledger, None


class CompactedView:
    def __init__(self, compacted: CompactedTopic, log: ReadableLog) -> None:
        self._compacted = compacted
        self._log = log
        self._found: deque[Block] = deque()  # all entries of the compacted ledger from `_found_from` on
        self._found_from = EARLIEST

    @property
    def visible_end(self) -> Position:
        """The last position that such a reader may get; removed messages do not count (apache/pulsar#7796)."""
        compacted, last = self._compacted.ledger, self._log.visible_end
        return last if compacted is None or last > self._compacted.horizon else compacted.last_position

    @property
    def has_trimmed(self) -> bool:
        return self._compacted.exists

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        if start > self._compacted.horizon:
            return self._log.read_cached(start, max_entries, max_bytes)
        return self._take(start, max_entries)

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        if start <= self._compacted.horizon:
            await self._compacted.open()
        compacted, horizon = self._compacted.ledger, self._compacted.horizon
        if compacted is not None and start <= horizon:
            self._found = deque(await compacted.read(start, max_entries, max_bytes))
            self._found_from = start
            block = self._take(start, max_entries)
            if block is not None:
                return block
        return await self._log.read(max(start, horizon.next), max_entries, max_bytes)

    def _take(self, start: Position, max_entries: int) -> Block | None:
        """The cached blocks from `start` on; None if there are none, or if `start` is before the cached range."""
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
