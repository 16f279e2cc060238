"""Entries with broker entry metadata (PIP-70), as a broker of a cluster may send them."""

from broker_core.wire.message import BROKER_METADATA_MAGIC, SIZE
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata


def add_broker_metadata(entry: bytes, broker_metadata: BrokerEntryMetadata) -> bytes:
    encoded = broker_metadata.SerializeToString()
    return BROKER_METADATA_MAGIC + SIZE.pack(len(encoded)) + encoded + entry
