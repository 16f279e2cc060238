"""Adds broker metadata to entries, for consumers that ask (exposingBrokerEntryMetadataToClientEnabled).

It is not stored with an entry. The source looks up the index and the time of arrival of what it reads, and each
consumer puts them in front of the entries that it sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from broker_core.dispatch.stamped_block import StampedBlock
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import Position
from broker_core.wire.broker_metadata import broker_metadata

if TYPE_CHECKING:
    from broker_core.config.features import EntryMetadataConfig
    from broker_core.dispatch.reader import Source
    from broker_core.storage.log.arrival_times import ArrivalTimes
    from broker_core.storage.log.message_index import MessageIndex
    from broker_core.storage.records.block import Block
    from broker_core.topic_log import TopicLog


def stamped(source: Source, log: TopicLog, config: EntryMetadataConfig) -> Source:
    """The source itself, unless the broker is configured to expose its metadata of entries."""
    on_disk = log.on_disk
    if on_disk is None or not config.exposed:
        return source
    index = on_disk.message_index if config.index else None
    return StampedSource(source, index, on_disk.arrival_times if config.time else None)


class StampedSource:
    """A `Source`. Without `index` or `times`, entries do not say theirs."""

    def __init__(self, source: Source, index: MessageIndex | None, times: ArrivalTimes | None) -> None:
        self._source = source
        self._index = index
        self._times = times
        self._at: tuple[Position, int | None] | None = None  # where the last block ended, and the index there

    @property
    def visible_end(self) -> Position:
        return self._source.visible_end

    @property
    def has_trimmed(self) -> bool:
        return self._source.has_trimmed

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        """Entries from memory, or None, also if the broker metadata of the entries is not in memory."""
        block = self._source.read_cached(start, max_entries, max_bytes)
        if block is None or not len(block):
            return block
        position, stop = Position(block.ledger_id, block.first_entry_id), block.last_entry_id + 1
        if self._at is None or self._at[0] != position:
            return None
        times = self._times.cached(*position, stop) if self._times is not None else []
        return self._with_stamps(block, self._at[1], times) if times is not None else None

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        block = await self._source.read(start, max_entries, max_bytes)
        if not len(block):
            return block
        position, stop = Position(block.ledger_id, block.first_entry_id), block.last_entry_id + 1
        return self._with_stamps(block, await self._before(position), await self._arrived(position, stop))

    async def _arrived(self, position: Position, stop: int) -> Sequence[int]:
        if self._times is None:
            return []
        try:
            return await self._times.read(*position, stop)
        except (StorageError, OSError):  # the entries themselves were read, perhaps from elsewhere
            return []

    async def _before(self, position: Position) -> int | None:
        """The index of an entry's first message; None if it is not known, for a compacted entry that was trimmed."""
        if self._index is None:
            return None
        if self._at is not None and self._at[0] == position and self._at[1] is not None:
            return self._at[1]
        try:
            return await self._index.before(position)
        except (StorageError, OSError):  # entries before it are lost; it can be read
            return None

    def _with_stamps(self, block: Block, before: int | None, times: Sequence[int]) -> Block:
        counts = block.counts
        ends = None if before is None else list(accumulate(counts, initial=before))
        self._at = Position(block.ledger_id, block.last_entry_id + 1), None if ends is None else ends[-1]
        stamps = [
            broker_metadata(ends[row + 1] - 1 if ends is not None and counts[row] else None, times[row] if times else 0)
            for row in range(len(block))
        ]
        return StampedBlock.of(block, stamps)
