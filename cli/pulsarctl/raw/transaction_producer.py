"""Publishes messages to one partition in a transaction, in batches as Pulsar's clients make them.

No message is visible before the commit, so a batch ends only by its size, and never by time.
"""

import time
from collections.abc import Callable, Mapping

from broker_core.wire.batch import BatchMessage
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from pulsarctl.raw.entry_sender import EntrySender
from pulsarctl.raw.outgoing_entry import (
    BATCH_BYTES_MAX,
    BATCH_MESSAGES_MAX,
    IDLE_SECONDS,
    EntryBuilder,
    ProducerSettings,
    TooLarge,
    bytes_in_batch,
    is_too_large,
    message_of,
)
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import Transaction
from pulsarctl.raw.wire_schema import wire_schema


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
        self._batch: list[BatchMessage] = []
        self._batch_bytes = 0
        self._open()
        try:
            transaction.add_partition(topic)
        except BaseException:
            self.close()
            raise

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
        message = message_of(value, partition_key, ordering_key, properties, event_timestamp)
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
        transaction = self._transaction.id
        try:
            self._sender = EntrySender(self._own_lookup, self.topic, self._settings.name, schema, transaction)
        except BaseException:
            self._own_lookup.close()
            raise
        self._entries = EntryBuilder(self._settings, self._sender.schema_version, transaction)
        self._used = time.monotonic()

    def _add(self, message: BatchMessage) -> None:
        size = bytes_in_batch(message)
        most = min(BATCH_BYTES_MAX, self._sender.entry_bytes_max)
        if self._batch_bytes + size > most:
            self._send_batch()
        self._batch.append(message)
        self._batch_bytes += size
        if len(self._batch) == BATCH_MESSAGES_MAX or self._batch_bytes >= most:
            self._send_batch()

    def _send_batch(self) -> None:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if batch:
            self._refresh()
            metadata, entry = self._entries.batch(batch, self._sender.sequence_id)
            self._publish(metadata, entry, len(batch[0].payload))

    def _send_alone(self, message: BatchMessage, deliver_at: int | None) -> None:
        self._refresh()
        metadata, entry = self._entries.alone(message, self._sender.sequence_id, deliver_at)
        self._publish(metadata, entry, len(message.payload))

    def _publish(self, metadata: MessageMetadata, entry: bytes, value_bytes: int) -> None:
        if is_too_large(metadata, entry, self._sender.entry_bytes_max):
            raise TooLarge(value_bytes)
        self._sender.send(metadata, entry)
        self._used = time.monotonic()

    def _refresh(self) -> None:
        """Opens a new connection if this one was idle for long, because the broker may have closed it."""
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._sender.flush()
            self.close()
            self._open()
