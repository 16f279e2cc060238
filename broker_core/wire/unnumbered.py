"""Entries that no producer sent, such as those of REST requests: their sequence IDs number nothing.

Deduplication does not compare them, also when a start reads them again. Their metadata says so in a field that
Pulsar's MessageMetadata does not have: like every protobuf reader, clients skip it.
"""

from google.protobuf.unknown_fields import UnknownFieldSet

from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.varint import encode_varint

FIELD = 50_000
_MARK = encode_varint(FIELD << 3) + b"\x01"


def mark_unnumbered(metadata: MessageMetadata) -> None:
    metadata.MergeFromString(_MARK)


def is_unnumbered(metadata: MessageMetadata) -> bool:
    fields = UnknownFieldSet(metadata)
    return any(fields[index].field_number == FIELD for index in range(len(fields)))
