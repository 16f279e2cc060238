"""Which stored entries go to another cluster, and what their copies look like. Pure.

An entry travels whole: batches, compression, encryption, and chunks stay as they are, and the payload is never opened.
The copy's metadata is that of the entry with fields appended, so unknown fields survive, too: in protobuf, a later
value of a field replaces an earlier one, and a repeated field grows (docs/how-to/geo-replication.md "What is
replicated").
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from broker_core.publishing.replication import MARKER_MESSAGES, MARKER_TYPES, SOURCE_POSITION
from broker_core.wire import client_commands
from broker_core.wire.message import MAGIC, entry_parts
from broker_core.wire.pulsar_api_pb2 import KeyValue, MessageMetadata

if TYPE_CHECKING:
    from broker_core.storage.records.position import Position

_SIZE = struct.Struct(">I")


class Copy(NamedTuple):
    """`frame` is the whole SEND, `size` that of its headers and payload, `messages` how many it has, 0 if a marker."""

    position: Position
    sequence_id: int
    frame: bytes
    messages: int
    size: int


def stays_here(metadata: MessageMetadata, cluster: str) -> bool:
    """Whether an entry is not for that cluster: it is a copy or of a transaction, or its producer chose others."""
    if metadata.HasField("replicated_from") or (is_marker(metadata) and metadata.marker_type not in MARKER_TYPES):
        return True
    return bool(metadata.replicate_to) and cluster not in metadata.replicate_to


def is_marker(metadata: MessageMetadata) -> bool:
    return metadata.HasField("marker_type")


def _without_transaction(metadata: MessageMetadata) -> bytes:
    """A copy is a plain message: another cluster does not know the transaction."""
    plain = MessageMetadata()
    plain.CopyFrom(metadata)
    plain.ClearField("txnid_most_bits")
    plain.ClearField("txnid_least_bits")
    return plain.SerializePartialToString()


def copy_of(
    entry: bytes,
    metadata: MessageMetadata,
    position: Position,
    *,
    source: str,
    producer_id: int,
    names_position: bool,
    schema_version: bytes | None = None,
) -> Copy:
    """The SEND of an entry from the cluster `source`.

    `names_position`: the other cluster tells copies apart by their positions here. `schema_version`: that of the other
    cluster; None if the entry has none.
    """
    encoded, payload = entry_parts(entry)
    if metadata.HasField("txnid_most_bits") or metadata.HasField("txnid_least_bits"):
        encoded = _without_transaction(metadata)
    added = MessageMetadata(replicated_from=source)
    if names_position:
        where = f"{position.ledger_id}:{position.entry_id}"
        added.properties.append(KeyValue(key=SOURCE_POSITION, value=where))
    if schema_version is not None:
        added.schema_version = schema_version
    encoded += added.SerializePartialToString()
    head = _SIZE.pack(len(encoded)) + encoded
    checksum = _SIZE.pack(crc32c(payload, crc32c(head)))
    copied = b"".join((MAGIC, checksum, head, payload))
    messages = MARKER_MESSAGES if is_marker(metadata) else max(1, metadata.num_messages_in_batch)
    frame = client_commands.send(
        producer_id,
        metadata.sequence_id,
        copied,
        messages=max(1, messages),
        is_chunk=metadata.total_chunk_msg_size > 1,
        is_marker=is_marker(metadata),
    )
    return Copy(position, metadata.sequence_id, frame, messages, len(copied))
