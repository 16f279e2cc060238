"""The only field that storage needs from an entry's metadata: the publish time."""

import re

from google.protobuf.message import DecodeError

from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.varint import VARINT, decode_varint

PUBLISH_TIME_SIZE = 6
"""Bytes of a publish time between 2^35 and 2^42 ms: 1971 to 2109."""

DELIVER_AT_TIME = b"\x98\x01"
"""Tag of field 19, a varint."""

PUBLISH_TIME_MAX = (1 << 63) - 1
"""The maximum publish time; later ones are lowered to it, so that they fit a signed 64-bit field."""

SEQUENCE_AND_TIME = re.compile(rb"\x10(?:%b)\x18(%b)" % (VARINT, VARINT))
is_publish_time = re.compile(rb"[\x80-\xff]{%d}[\x00-\x7f]" % (PUBLISH_TIME_SIZE - 1)).fullmatch


def publish_time(data: bytes, start: int, end: int) -> int | None:
    """Publish time in ms of the metadata in `data[start:end]`; None if the bytes are not metadata.

    Every known client begins with producer name, sequence ID, and publish time; other metadata is parsed completely.
    """
    if start + 2 <= end and data[start] == 0x0A and data[start + 1] < 0x80:
        match = SEQUENCE_AND_TIME.match(data, start + 2 + data[start + 1], end)
        if match is not None:
            return min(decode_varint(match[1]), PUBLISH_TIME_MAX)
    metadata = metadata_or_none(data[start:end])
    return None if metadata is None else min(metadata.publish_time, PUBLISH_TIME_MAX)


def metadata_or_none(encoded: bytes) -> MessageMetadata | None:
    """The metadata, or None if the bytes are not metadata or a required field is missing."""
    try:
        metadata = MessageMetadata.FromString(encoded)
    except DecodeError:
        return None
    return metadata if metadata.IsInitialized() else None


def may_be_delayed(data: bytes, start: int, end: int) -> bool:
    """Whether these bytes of the metadata hold the tag of `deliver_at_time`; they can also be part of another field."""
    return data.find(DELIVER_AT_TIME, start, end) >= 0


def is_delayed(encoded: bytes) -> bool:
    metadata = metadata_or_none(encoded)
    return metadata is not None and metadata.HasField("deliver_at_time")
