"""The messages in a batch, and the payload of any entry.

A decompressed batch (docs/reference/protocol.md "Batches") repeats per message:

    metadata size  u32 big-endian
    metadata       SingleMessageMetadata
    payload        `payload_size` bytes, as the metadata says

A compacted batch keeps the slots of the messages it has lost (`compacted_out`), so that batch indexes stay the same. An
encrypted entry cannot be read here: only clients with its key can read it.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from google.protobuf.message import DecodeError

from broker_core.wire.compression import UNCOMPRESSED_SIZE_MAX, compress, decompress
from broker_core.wire.errors import MalformedEntry
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata, SingleMessageMetadata

SIZE = struct.Struct(">I")


class BatchMessage(NamedTuple):
    """One message of a batch."""

    metadata: SingleMessageMetadata
    payload: bytes


def is_batch(metadata: MessageMetadata) -> bool:
    return metadata.HasField("num_messages_in_batch")


def is_encrypted(metadata: MessageMetadata) -> bool:
    return len(metadata.encryption_keys) > 0


def is_chunk(metadata: MessageMetadata) -> bool:
    return metadata.num_chunks_from_msg > 1


def plain_payload(metadata: MessageMetadata, payload: bytes, limit: int = UNCOMPRESSED_SIZE_MAX) -> bytes:
    """The decompressed payload of an entry; an encrypted payload, or a chunk of a message, is returned unchanged.

    Raises `DecompressionFailed`.
    """
    if is_encrypted(metadata) or is_chunk(metadata):
        return payload
    return decompress(metadata.compression, payload, metadata.uncompressed_size, limit)


def check_count(metadata: MessageMetadata, payload: bytes) -> None:
    """Raises `MalformedEntry` for more messages than the payload has bytes for, which need not be decompressed."""
    announced = min(metadata.uncompressed_size, UNCOMPRESSED_SIZE_MAX)
    _check_count(metadata.num_messages_in_batch, announced if metadata.compression else len(payload))


def _check_count(count: int, size: int) -> None:
    if not 0 <= count <= size // SIZE.size:
        raise MalformedEntry(f"a batch of {count} messages in {size} bytes")


def split_batch(payload: bytes, count: int) -> list[BatchMessage]:
    """The `count` messages of a decompressed batch payload. Raises `MalformedEntry`."""
    _check_count(count, len(payload))
    messages = []
    position = 0
    for index in range(count):
        message, position = _read_message(payload, position, index)
        messages.append(message)
    if position != len(payload):
        raise MalformedEntry(f"{len(payload) - position} bytes after the last message of the batch")
    return messages


def head_of_batch(payload: bytes, count: int, most: int) -> list[BatchMessage]:
    """The first `most` of the `count` messages, for pages that show no more. Raises `MalformedEntry`."""
    messages: list[BatchMessage] = []
    position = 0
    for index in range(min(count, most)):
        message, position = _read_message(payload, position, index)
        messages.append(message)
    return messages


def split_batch_columns(payload: bytes, count: int) -> tuple[list[SingleMessageMetadata], list[bytes]]:
    """Return the same as `split_batch` in two columns, for readers of many messages."""
    parse, size_at, size = SingleMessageMetadata.FromString, SIZE.unpack_from, len(payload)
    singles: list[SingleMessageMetadata] = []
    payloads: list[bytes] = []
    position = 0
    try:
        for _ in range(count):
            start = position + 4
            end = start + size_at(payload, position)[0]
            single = parse(payload[start:end])
            position = end + single.payload_size
            if not end <= position <= size:
                break
            singles.append(single)
            payloads.append(payload[end:position])
    except (struct.error, DecodeError):
        position = -1
    if position != size or len(singles) != count:
        split_batch(payload, count)  # says what is wrong
        raise MalformedEntry(f"a batch of {count} messages in {size} bytes")
    return singles, payloads


def _read_message(payload: bytes, position: int, index: int) -> tuple[BatchMessage, int]:
    start = position + 4
    end = start + SIZE.unpack_from(payload, position)[0] if start <= len(payload) else start
    if end > len(payload):
        raise MalformedEntry(f"message {index} of the batch is cut short")
    try:
        metadata = SingleMessageMetadata.FromString(payload[start:end])
    except DecodeError as error:
        raise MalformedEntry(f"the metadata of message {index} of the batch cannot be parsed") from error
    if not metadata.HasField("payload_size") or not 0 <= metadata.payload_size <= len(payload) - end:
        raise MalformedEntry(f"message {index} of the batch has an invalid size")
    last = end + metadata.payload_size
    return BatchMessage(metadata, payload[end:last]), last


def join_batch(messages: Iterable[BatchMessage]) -> bytes:
    """The uncompressed payload of a batch; sets each message's `payload_size`."""
    parts: list[bytes] = []
    for metadata, payload in messages:
        metadata.payload_size = len(payload)
        encoded = metadata.SerializeToString()
        parts += (SIZE.pack(len(encoded)), encoded, payload)
    return b"".join(parts)


def build_batch(metadata: MessageMetadata, messages: Sequence[BatchMessage]) -> bytes:
    """An entry of these messages, compressed with the codec in `metadata`; sets the sizes and the count in it."""
    payload = join_batch(messages)
    metadata.num_messages_in_batch = len(messages)
    if metadata.compression != CompressionType.NONE:
        metadata.uncompressed_size = len(payload)
        payload = compress(metadata.compression, payload)
    return build_entry(metadata, payload)


def compact_batch(metadata: MessageMetadata, messages: Sequence[BatchMessage], kept: Iterable[int]) -> bytes:
    """The batch with only the messages at the indexes `kept`; each other keeps an empty slot.

    `metadata` is that of the original entry and is not changed. See docs/reference/protocol.md "Compaction".
    """
    survivors = sorted(set(kept))
    slots = [BatchMessage(SingleMessageMetadata(compacted_out=True), b"")] * len(messages)
    for index in survivors:
        slots[index] = messages[index]
    compacted = MessageMetadata()
    compacted.CopyFrom(metadata)
    del compacted.compacted_batch_indexes[:]
    compacted.compacted_batch_indexes.extend(survivors)
    return build_batch(compacted, slots)
