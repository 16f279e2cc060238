"""The only field that storage needs from an entry's metadata: the publish time. Everything else is verified here, once,
when the entry is published, so that no later reader finds metadata that it cannot parse.
"""

import re

from google.protobuf.message import DecodeError

from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.varint import decode_varint

PUBLISH_TIME_SIZE = 6
"""Bytes of a publish time between 2^35 and 2^42 ms: 1971 to 2109."""

PUBLISH_TIME_MAX = (1 << 63) - 1
"""The maximum publish time; later ones are lowered to it, so that they fit a signed 64-bit field."""

_VARINT_63 = rb"[\x80-\xff]{0,8}[\x00-\x7f]"  # the tenth byte of a longer varint may be invalid
SEQUENCE_AND_TIME = re.compile(rb"\x10%b\x18(%b)" % (_VARINT_63, _VARINT_63))
is_publish_time = re.compile(rb"[\x80-\xff]{%d}[\x00-\x7f]" % (PUBLISH_TIME_SIZE - 1)).fullmatch

PROPERTIES, ENCRYPTION_KEYS, DELIVER_AT_TIME = 0x22, 0x6A, 0x98
"""The first bytes of the tags that need more than the parser: properties and keys have required fields themselves."""

LONG_PROPERTIES, LONG_ENCRYPTION_KEYS = PROPERTIES | 0x80, ENCRYPTION_KEYS | 0x80
"""The same in tags of more bytes than necessary, which parsers accept."""

_REQUIRED = b"\x0a\x00\x10\x00\x18\x00"
"""The fields before the tail."""


def plain_publish_time(data: bytes, start: int, end: int) -> int | None:
    """Publish time in ms of the metadata in `data[start:end]`; None if the message is delayed or the metadata invalid.

    Every known client begins with producer name, sequence ID, and publish time; other metadata is parsed completely.
    """
    if start + 2 <= end and data[start] == 0x0A and data[start + 1] < 0x80:
        match = SEQUENCE_AND_TIME.match(data, start + 2 + data[start + 1], end)
        if match is not None:
            return min(decode_varint(match[1]), PUBLISH_TIME_MAX) if is_plain_tail(data[match.end() : end]) else None
    metadata = metadata_or_none(data[start:end])
    if metadata is None or metadata.HasField("deliver_at_time"):
        return None
    return min(metadata.publish_time, PUBLISH_TIME_MAX)


def is_plain_tail(tail: bytes) -> bool:
    """Whether all fields after the publish time are valid, and none of them is a delivery time."""
    if (
        PROPERTIES in tail
        or ENCRYPTION_KEYS in tail
        or DELIVER_AT_TIME in tail
        or LONG_PROPERTIES in tail
        or LONG_ENCRYPTION_KEYS in tail
    ):
        metadata = metadata_or_none(_REQUIRED + tail)
        return metadata is not None and not metadata.HasField("deliver_at_time")
    try:
        MessageMetadata.FromString(tail)
    except DecodeError:
        return False
    return True


def metadata_or_none(encoded: bytes) -> MessageMetadata | None:
    """The metadata, or None if the bytes are not metadata or a required field is missing."""
    try:
        metadata = MessageMetadata.FromString(encoded)
    except DecodeError:
        return None
    return metadata if metadata.IsInitialized() else None
