"""The messages of an entry as compaction sees them: a slot for each, with its key, and whether it deletes the key."""

from __future__ import annotations

from typing import NamedTuple

from broker_core.wire.batch import BatchMessage, is_batch, is_encrypted, plain_payload, split_batch
from broker_core.wire.errors import EntryError
from broker_core.wire.message import Entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata


class Slot(NamedTuple):
    """The fields of a message that compaction needs; `batch_index` is its index in the batch."""

    batch_index: int
    key: str | None
    is_tombstone: bool


class OpenedEntry(NamedTuple):
    metadata: MessageMetadata
    batch: list[BatchMessage] | None
    slots: list[Slot]


def open_entry(entry: bytes) -> OpenedEntry | None:
    """The messages of an entry; None if it cannot be read (an encrypted batch, a malformed entry) and must be kept."""
    try:
        return opened(parse_entry(entry, verify=False))
    except EntryError:
        return None


def opened(entry: Entry) -> OpenedEntry | None:
    """Return the same for a parsed entry."""
    metadata, payload, _ = entry
    if not is_batch(metadata):
        return OpenedEntry(metadata, None, [_single_slot(metadata, payload)])
    if is_encrypted(metadata):
        return None
    try:
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
    """Return the slot; None for one that an earlier compaction emptied."""
    metadata = message.metadata
    if metadata.compacted_out:
        return None
    key = metadata.partition_key if metadata.HasField("partition_key") else None
    return Slot(index, key, metadata.null_value or not message.payload)
