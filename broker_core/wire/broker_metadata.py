"""Broker entry metadata: what the broker puts in front of an entry for clients that ask (PIP-70, PIP-90)."""

from broker_core.wire.message import BROKER_METADATA_MAGIC, SIZE
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata


def broker_metadata(index: int | None, arrived_ms: int) -> bytes:
    """`index` is that of the last message of the entry, or None; `arrived_ms` is when the broker got it, or 0."""
    metadata = BrokerEntryMetadata()
    if arrived_ms:
        metadata.broker_timestamp = arrived_ms
    if index is not None:
        metadata.index = index
    fields = metadata.SerializeToString()
    return BROKER_METADATA_MAGIC + SIZE.pack(len(fields)) + fields if fields else b""
