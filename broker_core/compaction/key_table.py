"""The last message of each key, which compaction keeps. No I/O.

Rules (Pulsar docs, "Topic compaction"): an empty payload is a tombstone, which deletes its key. A message without a key
is dropped, unless `retain_null_key`. In a batch each message is judged separately, and dropped ones keep their slot,
marked `compacted_out`. Entries that cannot be read (an encrypted batch, a malformed entry) are kept whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from broker_core.wire.batch import BatchMessage, compact_batch, is_batch, is_encrypted, plain_payload, split_batch
from broker_core.wire.errors import EntryError
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

if TYPE_CHECKING:
    from broker_core.storage.block import Block

MessagePosition = tuple[int, int, int]  # ledger ID, entry ID, batch index (0 outside of batches)


class Slot(NamedTuple):
    """The fields of a message that compaction needs; `batch_index` is its place in the batch."""

    batch_index: int
    key: str | None
    is_tombstone: bool


class OpenedEntry(NamedTuple):
    metadata: MessageMetadata
    batch: list[BatchMessage] | None
    slots: list[Slot]


class KeyTable:
    def __init__(self, *, retain_null_key: bool) -> None:
        self._retain_null_key = retain_null_key
        self._latest: dict[str, MessagePosition] = {}
        self.removed = 0  # messages that `survivors` has dropped so far

    def note(self, block: Block) -> None:
        """First pass: remembers the last place of each key; a tombstone forgets the key."""
        for row in range(len(block)):
            opened = open_entry(block.entry(row))
            if opened is not None:
                self._note_slots(opened.slots, block.ledger_id, block.first_entry_id + row)

    def _note_slots(self, slots: list[Slot], ledger_id: int, entry_id: int) -> None:
        for index, key, is_tombstone in slots:
            if key is None:
                continue
            if is_tombstone:
                self._latest.pop(key, None)
            else:
                self._latest[key] = (ledger_id, entry_id, index)

    def survivors(self, block: Block) -> Iterator[tuple[int, bytes]]:
        """Second pass: yields the row of the block, and the entry for the compacted ledger."""
        for row in range(len(block)):
            entry = block.entry(row)
            opened = open_entry(entry)
            kept = entry if opened is None else self._keep(entry, opened, block.ledger_id, block.first_entry_id + row)
            if kept is not None:
                yield row, kept

    def _keep(self, entry: bytes, opened: OpenedEntry, ledger_id: int, entry_id: int) -> bytes | None:
        kept = [slot.batch_index for slot in opened.slots if self._survives(slot, ledger_id, entry_id)]
        self.removed += len(opened.slots) - len(kept)
        if not kept:
            return None
        if opened.batch is None or len(kept) == len(opened.batch):
            return entry
        return compact_batch(opened.metadata, opened.batch, kept)

    def _survives(self, slot: Slot, ledger_id: int, entry_id: int) -> bool:
        if slot.key is None:
            return self._retain_null_key
        return self._latest.get(slot.key) == (ledger_id, entry_id, slot.batch_index)


def open_entry(entry: bytes) -> OpenedEntry | None:
    """The messages of an entry; None if it cannot be read and must be kept."""
    try:
        metadata, payload, _ = parse_entry(entry, verify=False)
        if not is_batch(metadata):
            return OpenedEntry(metadata, None, [_single_slot(metadata, payload)])
        if is_encrypted(metadata):
            return None
        batch = split_batch(plain_payload(metadata, payload), metadata.num_messages_in_batch)
    except EntryError:
        return None
    slots = [_batch_slot(index, message) for index, message in enumerate(batch)]
    return OpenedEntry(metadata, batch, [slot for slot in slots if slot is not None])


def _single_slot(metadata: MessageMetadata, payload: bytes) -> Slot:
    compressed_to_nothing = metadata.compression and metadata.uncompressed_size == 0
    is_tombstone = metadata.null_value or not payload or bool(compressed_to_nothing)
    return Slot(0, metadata.partition_key if metadata.HasField("partition_key") else None, is_tombstone)


def _batch_slot(index: int, message: BatchMessage) -> Slot | None:
    """None for a slot that an earlier compaction emptied."""
    metadata = message.metadata
    if metadata.compacted_out:
        return None
    key = metadata.partition_key if metadata.HasField("partition_key") else None
    return Slot(index, key, metadata.null_value or not message.payload)
