"""The key by which Key_Shared dispatches an entry, and its hash (docs/reference/protocol.md "Message keys").

A batch has its own key in the entry's metadata; clients that batch by key give all its messages that key.
"""

import base64
import binascii
import re

from google.protobuf.message import DecodeError
from mmh3 import hash as murmur3_32

from broker_core.wire.message import BROKER_METADATA_MAGIC, HEADER, MAGIC, SIZE
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.varint import VARINT

NONE_KEY = b"NONE_KEY"
"""The key of an entry without one, and of one that cannot be parsed."""

HASH_MASK = 0x7FFFFFFF

HEADER_SIZE = HEADER.size
metadata_size = SIZE.unpack_from

plain_key = re.compile(rb"\x10(?:%b)\x18(?:%b)\x32([\x00-\x7f])" % (VARINT, VARINT)).match
"""What follows the producer name: sequence ID, publish time, and a partition key of less than 128 bytes."""

not_plain = re.compile(rb"\x88\x01|\x92\x01|\x32").search
"""Tags after the key that can change it: Base64 flag, ordering key, another partition key; or bytes like them."""


def key_hash(key: bytes) -> int:
    """Murmur3 (x86, 32 bits, seed 0) without the sign bit, as in all clients and brokers."""
    return murmur3_32(key, 0, False) & HASH_MASK


def sticky_key(data: bytes, start: int, end: int) -> bytes:
    """The key of the entry `data[start:end]`.

    Known clients write the fields of metadata in order, so the key follows the publish time. Other metadata is parsed
    completely, which takes twice as long.
    """
    if not data.startswith(MAGIC, start):
        return _key_behind_other_headers(data[start:end])
    first = start + HEADER_SIZE
    if first + 1 < end and data[first] == 0x0A and data[first + 1] < 0x80:
        match = plain_key(data, first + 2 + data[first + 1], end)
        if match is not None:
            at = match.end()
            key_end = at + data[at - 1]
            last = first + metadata_size(data, first - SIZE.size)[0]
            if key_end <= last <= end and not_plain(data, key_end, last) is None:
                return data[at:key_end]
    if first > end:
        return NONE_KEY
    return _parsed_key(data[first : first + metadata_size(data, first - SIZE.size)[0]])


def _key_behind_other_headers(entry: bytes) -> bytes:
    """The key of an entry with broker metadata, or without a checksum (very old clients)."""
    if entry.startswith(BROKER_METADATA_MAGIC) and len(entry) >= 6:
        start = 6 + SIZE.unpack_from(entry, 2)[0]
        return sticky_key(entry, start, len(entry))
    if len(entry) < SIZE.size:
        return NONE_KEY
    return _parsed_key(entry[SIZE.size : SIZE.size + SIZE.unpack_from(entry)[0]])


def _parsed_key(encoded: bytes) -> bytes:
    try:
        metadata = MessageMetadata.FromString(encoded)
    except DecodeError:
        return NONE_KEY
    return key_of(metadata)


def key_of(metadata: MessageMetadata) -> bytes:
    """The key that parsed metadata gives its entry."""
    if metadata.HasField("ordering_key"):
        return metadata.ordering_key
    if metadata.HasField("partition_key"):
        key = _raw(metadata.partition_key)
        return _decoded(key) if metadata.partition_key_b64_encoded else key
    if metadata.HasField("producer_name") and metadata.HasField("sequence_id"):
        return f"{metadata.producer_name}-{metadata.sequence_id}".encode()
    return NONE_KEY


def _raw(text: str | bytes) -> bytes:
    """Protobuf returns text that is not UTF-8 as bytes; they make a key like any other."""
    return text if isinstance(text, bytes) else text.encode()


def _decoded(key: bytes) -> bytes:
    """Invalid Base64 is used as it is: the entry still needs a consumer."""
    try:
        return base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return key
