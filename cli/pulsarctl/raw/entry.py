"""Entries as the broker stores them, and the messages in them.

An entry holds what one SEND carried: a message, a chunk of one, or a batch. `Entry` keeps its metadata and its
compressed payload as they are; `messages()` decompresses and splits it. An encrypted entry yields one message with the
encrypted bytes, because only the owner of the key can tell what it holds.
docs/reference/protocol.md "Entries" and "Batches" state the rules.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.wire import batch
from broker_core.wire.errors import EntryError
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import (
    BrokerEntryMetadata,
    CompressionType,
    KeyValue,
    MessageMetadata,
    SingleMessageMetadata,
)
from pulsarctl.errors import CliError
from pulsarctl.values.message_ids import MessageId
from pulsarctl.values.message_keys import from_base64


class DamagedEntry(CliError):
    """An entry whose checksum, metadata, compression or batch is broken; the message names its id."""

    code = "damaged-entry"


class StoredMessage(NamedTuple):
    """One message. Times are milliseconds since the epoch.

    key              as in the metadata: base64 text if `key_is_base64`. None: no key. `key_bytes` is the key itself
    value            None is Pulsar's null value (a tombstone for compaction); encrypted bytes if `encrypted`
    event_time_ms    None if the producer set none;   deliver_at_ms   None if not delayed
    sequence_id      the message's own, in a batch as well
    chunk            (uuid, index, count) of a chunk of a large message, or None; `value` is then that chunk only
    broker_index     index of the message in its partition, or None if the broker keeps none
    """

    topic: str
    id: MessageId
    batch_size: int
    key: str | None
    key_is_base64: bool
    ordering_key: bytes | None
    properties: dict[str, str]
    publish_time_ms: int
    event_time_ms: int | None
    deliver_at_ms: int | None
    producer: str
    sequence_id: int
    schema_version: bytes | None
    compression: str
    encrypted: bool
    chunk: tuple[str, int, int] | None
    replicated_from: str | None
    broker_index: int | None
    broker_time_ms: int | None
    redelivery_count: int
    value: bytes | None

    @property
    def key_bytes(self) -> bytes | None:
        if self.key is None:
            return None
        return from_base64(self.key.encode()) if self.key_is_base64 else self.key.encode()


class Entry:
    """One stored entry of `topic` (a partition's full name, for a partitioned topic).

    `metadata` and `broker_metadata` are messages of the protocol. `payload` is compressed and encrypted as the metadata
    says. `stored_bytes` is the size of headers and payload on the wire and on disk. `first_index` is the batch index at
    which the reader starts.
    """

    __slots__ = (
        "_unsealed",
        "ack_set",
        "broker_metadata",
        "entry_id",
        "first_index",
        "ledger_id",
        "metadata",
        "partition",
        "payload",
        "redelivery_count",
        "stored_bytes",
        "topic",
    )

    topic: str
    ledger_id: int
    entry_id: int
    partition: int
    redelivery_count: int
    ack_set: Sequence[int]
    first_index: int
    metadata: MessageMetadata
    payload: bytes
    broker_metadata: BrokerEntryMetadata | None
    stored_bytes: int

    def __init__(
        self,
        topic: str,
        ledger_id: int,
        entry_id: int,
        data: bytes,
        *,
        partition: int = -1,
        redelivery_count: int = 0,
        ack_set: Sequence[int] = (),
        first_index: int = 0,
    ) -> None:
        """`data` is everything after the MESSAGE command. Raises `DamagedEntry`."""
        self.topic = topic
        self.ledger_id = ledger_id
        self.entry_id = entry_id
        self.partition = partition
        self.redelivery_count = redelivery_count
        self.ack_set = ack_set
        self.first_index = first_index
        self.stored_bytes = len(data)
        self._unsealed: tuple[str, ...] = ()
        try:
            self.metadata, self.payload, self.broker_metadata = parse_entry(data)
        except EntryError as error:
            raise self._damaged(error) from error

    def __repr__(self) -> str:
        return f"Entry({self.topic}, {self.id}, messages={self.message_count}, bytes={self.stored_bytes})"

    def stored(self) -> bytes:
        """The headers and the payload as a producer sends them, without what the broker has added."""
        return build_entry(self.metadata, self.payload)

    @property
    def id(self) -> MessageId:
        return MessageId(self.ledger_id, self.entry_id, self.partition)

    @property
    def is_batch(self) -> bool:
        """Whether the field is present, even if it is 1."""
        return batch.is_batch(self.metadata)

    @property
    def is_chunk(self) -> bool:
        return batch.is_chunk(self.metadata)

    @property
    def message_count(self) -> int:
        """Messages in the entry, including those compacted away or acknowledged individually."""
        return self.metadata.num_messages_in_batch

    @property
    def is_encrypted(self) -> bool:
        return batch.is_encrypted(self.metadata)

    @property
    def encryption_keys(self) -> tuple[str, ...]:
        """The names of the keys that the payload is, or was, encrypted for."""
        return self._unsealed or tuple(key.key for key in self.metadata.encryption_keys)

    def unseal(self, payload: bytes) -> None:
        """Replaces the encrypted payload by the decrypted one."""
        self._unsealed = self.encryption_keys
        self.metadata.ClearField("encryption_keys")
        self.payload = payload

    def pending(self, batch_index: int) -> bool:
        """Whether that message is to be read: its bit in `ack_set` is set, and it is not before `first_index`."""
        if batch_index < self.first_index:
            return False
        if not self.ack_set:
            return True
        word = batch_index >> 6
        return word < len(self.ack_set) and bool(self.ack_set[word] >> (batch_index & 63) & 1)

    def value(self) -> bytes:
        """The decompressed payload, or the payload as it is if encrypted or a chunk. Raises `DamagedEntry`."""
        try:
            return batch.plain_payload(self.metadata, self.payload)
        except EntryError as error:
            raise self._damaged(error) from error

    def messages(self) -> Iterator[StoredMessage]:
        """The messages of the entry that are to be read and not compacted away. Raises `DamagedEntry`."""
        if not self.is_batch or self.is_encrypted:
            yield self.as_message(self.value())
            return
        try:
            parts = batch.split_batch(self.value(), self.message_count)
        except EntryError as error:
            raise self._damaged(error) from error
        sequence_id = self.metadata.sequence_id
        for index, (single, value) in enumerate(parts):
            if not single.compacted_out and self.pending(index):
                number = single.sequence_id if single.HasField("sequence_id") else sequence_id + index
                yield self._message(single, index, number, self._broker_index(index), value)

    def as_message(self, value: bytes | None) -> StoredMessage:
        """The whole entry as one message with that value. For a batch, its fields are those of the batch."""
        return self._message(self.metadata, -1, self.metadata.sequence_id, self._broker_index(0), value)

    def _message(
        self,
        own: MessageMetadata | SingleMessageMetadata,
        batch_index: int,
        sequence_id: int,
        broker_index: int | None,
        value: bytes | None,
    ) -> StoredMessage:
        """`own` has the message's own fields; the other fields are the entry's."""
        metadata, stamp = self.metadata, self.broker_metadata
        return StoredMessage(
            topic=self.topic,
            id=MessageId(self.ledger_id, self.entry_id, self.partition, batch_index),
            batch_size=self.message_count,
            key=own.partition_key if own.HasField("partition_key") and not own.null_partition_key else None,
            key_is_base64=own.partition_key_b64_encoded,
            ordering_key=own.ordering_key if own.HasField("ordering_key") else None,
            properties=as_dict(own.properties),
            publish_time_ms=metadata.publish_time,
            event_time_ms=own.event_time or None,
            deliver_at_ms=metadata.deliver_at_time if metadata.HasField("deliver_at_time") else None,
            producer=metadata.producer_name,
            sequence_id=sequence_id,
            schema_version=metadata.schema_version if metadata.HasField("schema_version") else None,
            compression=CompressionType.Name(metadata.compression),
            encrypted=self.is_encrypted,
            chunk=self._chunk(),
            replicated_from=metadata.replicated_from or None,
            broker_index=broker_index,
            broker_time_ms=stamp.broker_timestamp if stamp and stamp.HasField("broker_timestamp") else None,
            redelivery_count=self.redelivery_count,
            value=None if own.null_value else value,
        )

    def _broker_index(self, batch_index: int) -> int | None:
        """The broker numbers messages, and an entry carries the number of its last message."""
        if self.broker_metadata is None or not self.broker_metadata.HasField("index"):
            return None
        return self.broker_metadata.index - self.message_count + 1 + batch_index

    def _chunk(self) -> tuple[str, int, int] | None:
        metadata = self.metadata
        if not self.is_chunk:
            return None
        return metadata.uuid, metadata.chunk_id, metadata.num_chunks_from_msg

    def _damaged(self, error: EntryError) -> DamagedEntry:
        return DamagedEntry(f"cannot read entry {self.ledger_id}:{self.entry_id} of {self.topic}: {error}")


def as_dict(pairs: Sequence[KeyValue]) -> dict[str, str]:
    """Properties as a dictionary. The last value of a repeated name wins, as in Pulsar's clients."""
    return {pair.key: pair.value for pair in pairs}
