"""Publishes messages to one partition in a transaction, in batches as Pulsar's clients make them.

No message is visible before the commit, so a batch ends only by its size, and never by time.
docs/reference/protocol.md "Batches" states the rules.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.compression import compress
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata, SingleMessageMetadata
from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import CliError
from pulsarctl.raw.entry_sender import EntrySender
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import Transaction
from pulsarctl.raw.wire_schema import wire_schema
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


class TransactionProducer:
    """One producer on a topic without partitions, or on one partition. `lookup()` opens a lookup of its own.

    A lost connection is an error, because the broker would store a repeated message twice.
    """

    def __init__(
        self, lookup: Callable[[], TopicLookup], topic: str, transaction: Transaction, settings: ProducerSettings
    ) -> None:
        """Raises what connecting raises, `NotOpen`, or the broker's refusal of the producer."""
        self.topic = topic
        self._lookup = lookup
        self._transaction = transaction
        self._settings = settings
        self._compression = CompressionType.Value(settings.compression.upper())
        self._batch: list[BatchMessage] = []
        self._batch_bytes = 0
        self._open()
        transaction.add_partition(topic)

    def send(
        self,
        value: bytes | None,
        *,
        partition_key: str | None = None,
        ordering_key: str | None = None,
        properties: Mapping[str, str] | None = None,
        event_timestamp: int | None = None,
        deliver_at: int | None = None,
    ) -> None:
        """None is a tombstone. Times are in milliseconds. Raises `TooLarge`, or what the broker refuses."""
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
        message = BatchMessage(single, payload)
        if self._settings.batching and not deliver_at:
            self._add(message)
        else:
            self._send_batch()
            self._send_alone(message, deliver_at)

    def flush(self) -> None:
        """Returns when the broker has stored everything. Raises as `send` does."""
        self._send_batch()
        self._sender.flush()

    def close(self) -> None:
        self._own_lookup.close()

    def _open(self) -> None:
        self._own_lookup = self._lookup()
        schema = None if self._settings.schema is None else wire_schema(self._settings.schema)
        try:
            self._sender = EntrySender(self._own_lookup, self.topic, self._settings.name, schema, self._transaction.id)
        except BaseException:
            self._own_lookup.close()
            raise
        self._used = time.monotonic()

    def _add(self, message: BatchMessage) -> None:
        size = 16 + message.metadata.ByteSize() + len(message.payload)  # with a length and the sequence ID
        most = min(BATCH_BYTES_MAX, self._sender.entry_bytes_max)
        if self._batch_bytes + size > most:
            self._send_batch()
        self._batch.append(message)
        self._batch_bytes += size
        if len(self._batch) == BATCH_MESSAGES_MAX or self._batch_bytes >= most:
            self._send_batch()

    def _send_batch(self) -> None:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch:
            return
        self._refresh()
        metadata = self._metadata(batch[0])
        for sequence_id, message in enumerate(batch, metadata.sequence_id):
            message.metadata.sequence_id = sequence_id
        metadata.highest_sequence_id = metadata.sequence_id + len(batch) - 1
        self._publish(metadata, build_batch(metadata, batch), len(batch[0].payload))

    def _send_alone(self, message: BatchMessage, deliver_at: int | None) -> None:
        self._refresh()
        single, payload = message
        metadata = self._metadata(message)
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
        self._publish(metadata, build_entry(metadata, payload), len(message.payload))

    def _metadata(self, first: BatchMessage) -> MessageMetadata:
        """What an entry says of its messages. A batch has the keys of its first message, as in Pulsar's clients."""
        metadata = MessageMetadata(
            producer_name=self._settings.name,
            sequence_id=self._sender.sequence_id,
            publish_time=now_ms(),
            compression=self._compression or None,
            schema_version=self._sender.schema_version or None,
            txnid_most_bits=self._transaction.id.most,
            txnid_least_bits=self._transaction.id.least,
        )
        if first.metadata.HasField("partition_key"):
            metadata.partition_key = first.metadata.partition_key
        if first.metadata.HasField("ordering_key"):
            metadata.ordering_key = first.metadata.ordering_key
        if self._settings.disable_replication:
            metadata.replicate_to.append(LOCAL_ONLY)
        return metadata

    def _publish(self, metadata: MessageMetadata, entry: bytes, value_bytes: int) -> None:
        if len(entry) > self._sender.entry_bytes_max + metadata.ByteSize() + 14:  # the limit is that of the payload
            raise TooLarge(value_bytes)
        self._sender.send(metadata, entry)
        self._used = time.monotonic()

    def _refresh(self) -> None:
        """Opens a new connection if this one was idle for long, because the broker may have closed it."""
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._sender.flush()
            self.close()
            self._open()
