"""Keeps the sequence IDs of a topic over a restart: in a cursor with a snapshot, and the entries after it.

The snapshot is the properties of the cursor `pulsar.dedup`; its mark-delete is the last entry that it covers, and stays
before the chunks of messages that are not complete yet, because the properties do not have them. The cursor is durable,
so later entries are not trimmed, and a start reads the metadata of only those entries. It learns what the broker knew
before, and nothing from entries that were stored without a comparison.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import islice
from typing import TYPE_CHECKING

from broker_core.names import DEDUPLICATION_CURSOR
from broker_core.publishing.open_chunks import OpenChunks
from broker_core.publishing.replication import MARKER_MESSAGES, is_replicator, origin_by_name, origin_by_position
from broker_core.publishing.sequence_ids import NO_PRODUCER, SequenceIds
from broker_core.storage.records.position import Position
from broker_core.wire.errors import MalformedEntry
from broker_core.wire.message import checksum_of, parse_metadata
from broker_core.wire.send import Chunk

if TYPE_CHECKING:
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic_log import TopicLog

log = logging.getLogger(__name__)

CURSOR = DEDUPLICATION_CURSOR
READ_ENTRIES = 500  # between two yields to other work of the broker
READ_BYTES = 256 * 1024
HELD_BACK_ENTRIES_MAX = 20_000  # that open messages keep from being trimmed, and that a start reads again
HELD_BACK_BYTES_MAX = 1 << 30


class SequenceSnapshot:
    """Every method raises StorageError if the disk fails."""

    __slots__ = ("_cursor", "_ledger", "_max_producers")

    def __init__(self, ledger: TopicLog, max_producers: int) -> None:
        self._ledger = ledger
        self._max_producers = max_producers
        self._cursor: ManagedCursor | None = None

    @staticmethod
    def exists(ledger: TopicLog) -> bool:
        return CURSOR in ledger.cursors

    async def restore(self, ids: SequenceIds, chunks: OpenChunks) -> int:
        """Restores both up to the last entry; returns how many entries the snapshot did not cover."""
        cursor = self._ledger.cursors.get(CURSOR)
        if cursor is None:
            return 0
        for name, last in cursor.properties.items():
            ids.learn(name, int(last))
        entries, position = 0, cursor.mark_delete.next
        while len(block := await self._ledger.read_all(position, READ_ENTRIES, READ_BYTES)):
            for index in range(len(block)):
                if block.counts[index] != MARKER_MESSAGES:
                    self._learn(
                        ids, chunks, block.entry(index), Position(block.ledger_id, block.first_entry_id + index)
                    )
            entries += len(block)
            position = Position(block.ledger_id, block.last_entry_id + 1)
            await asyncio.sleep(0)
        return entries

    def _learn(self, ids: SequenceIds, chunks: OpenChunks, entry: bytes, position: Position) -> None:
        try:
            metadata = parse_metadata(entry)
        except MalformedEntry as error:
            log.warning("%s: deduplication skips an entry: %s", self._ledger.name, error)
            return
        copied = origin_by_position(metadata)
        origin = copied or origin_by_name(metadata)
        if origin.producer == NO_PRODUCER:
            return
        if copied is None and metadata.num_chunks_from_msg:
            chunk = Chunk(metadata.uuid, metadata.chunk_id, metadata.num_chunks_from_msg, checksum_of(entry))
            chunks.push(origin.producer, chunk)
            chunks.persist(origin.producer, chunk, position)
            if not chunk.ends_message:
                return
        elif copied is None:
            chunks.overtake(origin.producer)
        ids.learn(origin.producer, origin.highest)

    async def begin(self) -> None:
        """From now on, retains the entries that a start has to read."""
        self._cursor = await self._ledger.open_cursor(CURSOR)

    async def take(self, ids: SequenceIds, chunks: OpenChunks) -> None:
        """Stores the IDs on disk; on the loop they are always exactly those of the last confirmed entry."""
        cursor, on_disk = self._cursor, self._ledger.on_disk
        if cursor is not None and on_disk is not None:
            properties = {name: str(last) for name, last in self._kept(ids.persisted).items()}
            await on_disk.move_cursor(cursor, self._covered(cursor, chunks), properties, _nothing)

    def _covered(self, cursor: ManagedCursor, chunks: OpenChunks) -> Position:
        """The last entry that a start does not have to read, before the first chunk of every open message.

        Above a limit, it passes the open messages. A start no longer learns them, so they hold back nothing more.
        """
        first = chunks.first_stored_after(cursor.mark_delete)
        if first is None or _is_too_much(*cursor.backlog_entries_and_bytes()):
            return self._ledger.last_confirmed
        return Position(first.ledger_id, first.entry_id - 1)

    def _kept(self, ids: dict[str, int]) -> dict[str, int]:
        """The IDs that were used last, and those of every replicator: it may send again what it sent long ago."""
        surplus = len(ids) - self._max_producers
        if surplus <= 0:
            return ids
        dropped = set(islice((name for name in ids if not is_replicator(name)), surplus))
        return {name: last for name, last in ids.items() if name not in dropped}

    async def remove(self) -> None:
        self._cursor = None
        await self._ledger.delete_cursor(CURSOR)


def _is_too_much(entries: int, size: int) -> bool:
    return entries > HELD_BACK_ENTRIES_MAX or size > HELD_BACK_BYTES_MAX


def _nothing() -> None:
    """The snapshot has no other state to change with the cursor."""
