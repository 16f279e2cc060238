"""Entries as Pulsar's clients make them: one message each, or a batch of messages.

docs/reference/protocol.md "Batches" states the rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.compression import compress
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata, SingleMessageMetadata
from broker_core.wire.transaction_id import TransactionId
from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import CliError
from pulsarctl.values.clock import now_ms

BATCH_MESSAGES_MAX = 1000
BATCH_BYTES_MAX = 128 * 1024
IDLE_SECONDS = 20.0  # brokers close a connection that is silent for a minute
LOCAL_ONLY = "__local__"  # for `replicate_to`: no other cluster


class TooLarge(CliError):
    """`size` is that of the value, which exceeds the broker's limit."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a message of {size} bytes exceeds the broker's limit")
        self.size = size


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """`schema` is that of values that are already encoded."""

    name: str
    schema: SchemaInfo | None = None
    compression: str = "none"
    batching: bool = True
    disable_replication: bool = False


def message_of(
    value: bytes | None,
    partition_key: str | None = None,
    ordering_key: str | None = None,
    properties: Mapping[str, str] | None = None,
    event_timestamp: int | None = None,
) -> BatchMessage:
    """None is a tombstone. The time is in milliseconds."""
    payload = value or b""
    single = SingleMessageMetadata(
        payload_size=len(payload),
        partition_key=partition_key,
        ordering_key=None if ordering_key is None else ordering_key.encode("utf-8", "surrogateescape"),
        event_time=event_timestamp,
        null_value=value is None or None,
    )
    for key, text in (properties or {}).items():
        single.properties.add(key=key, value=text)
    return BatchMessage(single, payload)


def bytes_in_batch(message: BatchMessage) -> int:
    """With a length and the sequence ID."""
    return 16 + message.metadata.ByteSize() + len(message.payload)


class EntryBuilder:
    """The entries of one producer. Those in a transaction name it."""

    def __init__(
        self, settings: ProducerSettings, schema_version: bytes, transaction: TransactionId | None = None
    ) -> None:
        self._settings = settings
        self._schema_version = schema_version or None
        self._transaction = transaction
        self._compression = CompressionType.Value(settings.compression.upper())

    def batch(
        self, messages: Sequence[BatchMessage], sequence_id: int, hashes: Sequence[int] = ()
    ) -> tuple[MessageMetadata, bytes]:
        """`sequence_id` is that of the first message. `hashes` are those of keys, for the buckets of a segment."""
        metadata = self._metadata(messages[0], sequence_id, hashes)
        for number, message in enumerate(messages, sequence_id):
            message.metadata.sequence_id = number
        metadata.highest_sequence_id = sequence_id + len(messages) - 1
        return metadata, build_batch(metadata, messages)

    def alone(
        self, message: BatchMessage, sequence_id: int, deliver_at: int | None, hashes: Sequence[int] = ()
    ) -> tuple[MessageMetadata, bytes]:
        """`deliver_at` is in milliseconds since the epoch."""
        single, payload = message
        metadata = self._metadata(message, sequence_id, hashes)
        metadata.properties.extend(single.properties)
        if single.HasField("event_time"):
            metadata.event_time = single.event_time
        if single.null_value:
            metadata.null_value = True
        if deliver_at:
            metadata.deliver_at_time = deliver_at
        if self._compression:
            metadata.uncompressed_size = len(payload)
            payload = compress(self._compression, payload)
        return metadata, build_entry(metadata, payload)

    def _metadata(self, first: BatchMessage, sequence_id: int, hashes: Sequence[int]) -> MessageMetadata:
        """What an entry says of its messages. A batch has the keys of its first message, as in Pulsar's clients."""
        metadata = MessageMetadata(
            producer_name=self._settings.name,
            sequence_id=sequence_id,
            publish_time=now_ms(),
            compression=self._compression or None,
            schema_version=self._schema_version,
        )
        if self._transaction is not None:
            metadata.txnid_most_bits, metadata.txnid_least_bits = self._transaction
        if hashes:
            metadata.entry_hash_min, metadata.entry_hash_max = min(hashes), max(hashes)
        if first.metadata.HasField("partition_key"):
            metadata.partition_key = first.metadata.partition_key
        if first.metadata.HasField("ordering_key"):
            metadata.ordering_key = first.metadata.ordering_key
        if self._settings.disable_replication:
            metadata.replicate_to.append(LOCAL_ONLY)
        return metadata


def is_too_large(metadata: MessageMetadata, entry: bytes, payload_bytes_max: int) -> bool:
    return len(entry) > payload_bytes_max + metadata.ByteSize() + 14  # the limit is that of the payload
