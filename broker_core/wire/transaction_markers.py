"""The entry that ends a transaction in a topic (PIP-31). No client gets it."""

from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.pulsar_markers_pb2 import TXN_ABORT, TXN_COMMIT
from broker_core.wire.transaction_id import TransactionId

PRODUCER = "pulsar.txn.marker"
NO_SEQUENCE_ID = (1 << 64) - 1  # -1


def transaction_marker(transaction: TransactionId, now_ms: int, *, commit: bool) -> bytes:
    metadata = MessageMetadata(
        producer_name=PRODUCER,
        sequence_id=NO_SEQUENCE_ID,
        publish_time=now_ms,
        marker_type=TXN_COMMIT if commit else TXN_ABORT,
        txnid_most_bits=transaction.most,
        txnid_least_bits=transaction.least,
    )
    return build_entry(metadata, b"")
