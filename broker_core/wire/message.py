"""An entry: the headers and payload of one SEND, as stored and as delivered.

    offset 0  broker entry metadata   optional: 0e 02, u32 size, BrokerEntryMetadata; on disk and to clients that ask
              magic                   0e 01      (absent from very old clients, and then no checksum either)
              checksum                u32        CRC32C (Castagnoli) of everything that follows
              metadata size           u32
              metadata                MessageMetadata
              payload                 to the end: one message, or a batch (batch.py); compressed, then encrypted

The broker stores and forwards an entry unchanged (docs/reference/protocol.md "Entries"); only compaction writes a new
one.
"""

import struct
from typing import NamedTuple

from crc32c import crc32c
from google.protobuf.message import DecodeError

from broker_core.wire.batch_and_chunk import batch_and_chunk
from broker_core.wire.errors import ChecksumMismatch, MalformedEntry
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata, MessageMetadata
from broker_core.wire.send_metadata import metadata_or_none
from broker_core.wire.texts import with_readable_texts

MAGIC = b"\x0e\x01"
BROKER_METADATA_MAGIC = b"\x0e\x02"
HEADER = struct.Struct(">2sII")
SIZE = struct.Struct(">I")


class Entry(NamedTuple):
    """A parsed entry; `payload` is still compressed and encrypted as `metadata` says."""

    metadata: MessageMetadata
    payload: bytes
    broker_metadata: BrokerEntryMetadata | None = None


def checksum(data: bytes) -> int:
    """CRC32C of `data`; of b"123456789" it is 0xe3069283."""
    return crc32c(data)


def parse_entry(entry: bytes, *, verify: bool = True) -> Entry:
    """Parses an entry.

    Raises `ChecksumMismatch` (unless `verify` is false: storage has checked it) and `MalformedEntry`.
    """
    broker_metadata, start = _broker_metadata(entry)
    start = _after_checksum(entry, start, verify)
    metadata_end = _metadata_end(entry, start)
    metadata = metadata_or_none(entry[start + 4 : metadata_end])
    if metadata is None:
        raise MalformedEntry("the message metadata cannot be parsed")
    return Entry(metadata, entry[metadata_end:], broker_metadata)


def parse_metadata(entry: bytes) -> MessageMetadata:
    """The metadata alone, its texts readable, without checking checksum and payload. Raises `MalformedEntry`."""
    metadata = metadata_or_none(_encoded_metadata(entry))
    if metadata is None:
        raise MalformedEntry("the message metadata cannot be parsed")
    return with_readable_texts(metadata)


def messages_in_batch(entry: bytes) -> int:
    """The number of messages of a batch; 0 if the entry is not a batch, or malformed, as older versions stored it."""
    try:
        metadata = batch_and_chunk(_encoded_metadata(entry))
    except MalformedEntry:
        return 0
    if metadata is None or not metadata.HasField("num_messages_in_batch"):
        return 0
    return max(0, int(metadata.num_messages_in_batch))


def _encoded_metadata(entry: bytes) -> bytes:
    """Raises `MalformedEntry`."""
    start = _after_checksum(entry, _broker_metadata_end(entry), False)
    return entry[start + 4 : _metadata_end(entry, start)]


def entry_parts(entry: bytes) -> tuple[bytes, bytes]:
    """The encoded metadata and the payload, as stored. Raises `MalformedEntry`."""
    start = _after_checksum(entry, _broker_metadata_end(entry), False)
    end = _metadata_end(entry, start)
    return entry[start + 4 : end], entry[end:]


def checksum_of(entry: bytes) -> bytes:
    """The checksum in an entry, four bytes; the entry must have one."""
    return entry[len(MAGIC) : len(MAGIC) + SIZE.size]


def check_entry(entry: bytes) -> tuple[bool, MessageMetadata | None]:
    """Return whether the checksum is right (or absent), and the metadata, None if it cannot be parsed."""
    try:
        return True, parse_entry(entry).metadata
    except ChecksumMismatch:
        pass
    except MalformedEntry:
        return True, None
    try:
        return False, parse_metadata(entry)
    except MalformedEntry:
        return False, None


def build_entry(metadata: MessageMetadata, payload: bytes) -> bytes:
    """An entry with a new checksum; the payload must already be compressed as the metadata says."""
    encoded = metadata.SerializeToString()
    return add_checksum(SIZE.pack(len(encoded)) + encoded + payload)


def add_checksum(metadata_and_payload: bytes) -> bytes:
    """Adds magic and checksum to an entry without them (the Go client refuses such entries)."""
    return MAGIC + SIZE.pack(crc32c(metadata_and_payload)) + metadata_and_payload


def _broker_metadata(entry: bytes) -> tuple[BrokerEntryMetadata | None, int]:
    end = _broker_metadata_end(entry)
    if not end:
        return None, 0
    try:
        return BrokerEntryMetadata.FromString(entry[6:end]), end
    except DecodeError as error:
        raise MalformedEntry("the broker entry metadata cannot be parsed") from error


def _broker_metadata_end(entry: bytes) -> int:
    if not entry.startswith(BROKER_METADATA_MAGIC):
        return 0
    end = 6 + SIZE.unpack_from(entry, 2)[0] if len(entry) >= 6 else 6
    if end > len(entry):
        raise MalformedEntry("the broker entry metadata is truncated")
    return int(end)


def _after_checksum(entry: bytes, start: int, verify: bool) -> int:
    """The offset of the metadata size."""
    if not entry.startswith(MAGIC, start):
        return start
    if len(entry) < start + 10:
        raise MalformedEntry("the entry is truncated")
    _, expected, _ = HEADER.unpack_from(entry, start)
    if verify and crc32c(entry[start + 6 :]) != expected:
        raise ChecksumMismatch(f"the checksum of the entry is not {expected:08x}")
    return start + 6


def _metadata_end(entry: bytes, start: int) -> int:
    end = start + 4 + SIZE.unpack_from(entry, start)[0] if len(entry) >= start + 4 else start + 4
    if end > len(entry):
        raise MalformedEntry("the message metadata is truncated")
    return int(end)
