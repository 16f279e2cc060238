"""Entries as the broker stores them, and the messages inside.

An entry is what one SEND brought: one message, a chunk of one, or a whole batch. `Entry` keeps its metadata as it came
and its payload still compressed; `records()` undoes compression and batching and gives one `Record` per message.
What an encrypted entry holds only the owner of its key can tell: it is one record with the encrypted bytes.
docs/protocol.md "Entries" and "Batches" state the rules.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.wire import batch
from broker_core.wire.errors import EntryError
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import (
    BrokerEntryMetadata,
    CompressionType,
    KeyValue,
    MessageMetadata,
    SingleMessageMetadata,
)
from pulsarctl.errors import CliError


class MessageId(NamedTuple):
    """Where a message is. `partition` and `batch_index` are -1 where there is none. Ordered within one partition."""

    ledger_id: int
    entry_id: int
    partition: int = -1
    batch_index: int = -1

    def __str__(self) -> str:
        """`ledger:entry:partition`, and `:batch_index` in a batch, as Pulsar's clients print ids."""
        batch_index = f":{self.batch_index}" if self.batch_index >= 0 else ""
        return f"{self.ledger_id}:{self.entry_id}:{self.partition}{batch_index}"

    @property
    def position(self) -> tuple[int, int]:
        return self.ledger_id, self.entry_id


class DamagedEntry(CliError):
    """An entry whose checksum, metadata, compression or batch is broken; the message names its id."""

    code = "damaged-entry"


class Record(NamedTuple):
    """One message. Times are ms since the epoch.

    key              as in the metadata: base64 text if `key_is_base64`; `key_bytes` is the key itself. None: no key
    value            None is Pulsar's null value (a tombstone for compaction); encrypted bytes if `encrypted`
    event_time_ms    None when the producer set none;   deliver_at_ms   None when not delayed
    sequence_id      the message's own, also inside a batch
    chunk            (uuid, index, count) of a chunk of a large message, else None; `value` is then that piece alone
    broker_index     index of the message in its partition, where the broker keeps one, else None
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
        return base64.b64decode(self.key) if self.key_is_base64 else self.key.encode()


class Entry:
    """One stored entry of `topic` (a partition's full name, for a partitioned topic).

    `metadata` and `broker_metadata` are the protocol's own messages; `payload` is compressed and encrypted as the
    metadata says; `stored_bytes` is the size of headers and payload on the wire and on disk. `first_index` is where
    in its batch the reader was asked to start.
    """

    __slots__ = (
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
        """`data` is everything behind the MESSAGE command. Raises `DamagedEntry`."""
        self.topic = topic
        self.ledger_id = ledger_id
        self.entry_id = entry_id
        self.partition = partition
        self.redelivery_count = redelivery_count
        self.ack_set = ack_set
        self.first_index = first_index
        self.stored_bytes = len(data)
        try:
            self.metadata, self.payload, self.broker_metadata = parse_entry(data)
        except EntryError as error:
            raise self._damaged(error) from error

    def __repr__(self) -> str:
        return f"Entry({self.topic}, {self.id}, messages={self.message_count}, bytes={self.stored_bytes})"

    @property
    def id(self) -> MessageId:
        return MessageId(self.ledger_id, self.entry_id, self.partition)

    @property
    def is_batch(self) -> bool:
        """Presence of the field decides, even when it is 1."""
        return batch.is_batch(self.metadata)

    @property
    def message_count(self) -> int:
        """Messages in the entry, those compacted away or acknowledged alone included."""
        return self.metadata.num_messages_in_batch

    @property
    def is_encrypted(self) -> bool:
        return batch.is_encrypted(self.metadata)

    def pending(self, batch_index: int) -> bool:
        """Whether that message is wanted: set bits of `ack_set` are, and without one all from `first_index` on."""
        if batch_index < self.first_index:
            return False
        if not self.ack_set:
            return True
        word = batch_index >> 6
        return word < len(self.ack_set) and bool(self.ack_set[word] >> (batch_index & 63) & 1)

    def value(self) -> bytes:
        """The payload decompressed; as it is when encrypted or a chunk. Raises `DamagedEntry`."""
        try:
            return batch.plain_payload(self.metadata, self.payload)
        except EntryError as error:
            raise self._damaged(error) from error

    def records(self) -> Iterator[Record]:
        """The messages in the entry that are wanted and not compacted away. Raises `DamagedEntry`."""
        if not self.is_batch or self.is_encrypted:
            yield self.as_record(self.value())
            return
        try:
            messages = batch.split_batch(self.value(), self.message_count)
        except EntryError as error:
            raise self._damaged(error) from error
        sequence_id = self.metadata.sequence_id
        for index, (single, value) in enumerate(messages):
            if not single.compacted_out and self.pending(index):
                number = single.sequence_id if single.HasField("sequence_id") else sequence_id + index
                yield self._record(single, index, number, self._broker_index(index), value)

    def as_record(self, value: bytes | None) -> Record:
        """The entry as one record with that value, which for a batch means what its metadata says of the whole."""
        return self._record(self.metadata, -1, self.metadata.sequence_id, self._broker_index(0), value)

    def _record(
        self,
        own: MessageMetadata | SingleMessageMetadata,
        batch_index: int,
        sequence_id: int,
        broker_index: int | None,
        value: bytes | None,
    ) -> Record:
        """`own` has what the message says of itself; the rest is the entry's."""
        metadata, stamp = self.metadata, self.broker_metadata
        return Record(
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
        """The broker numbers messages, and an entry carries the number of its last one."""
        if self.broker_metadata is None or not self.broker_metadata.HasField("index"):
            return None
        return self.broker_metadata.index - self.message_count + 1 + batch_index

    def _chunk(self) -> tuple[str, int, int] | None:
        metadata = self.metadata
        if metadata.num_chunks_from_msg <= 1:
            return None
        return metadata.uuid, metadata.chunk_id, metadata.num_chunks_from_msg

    def _damaged(self, error: EntryError) -> DamagedEntry:
        return DamagedEntry(f"entry {self.ledger_id}:{self.entry_id} of {self.topic} cannot be read: {error}")


def as_dict(pairs: Sequence[KeyValue]) -> dict[str, str]:
    """Properties as a dictionary; of a name given twice the last counts, as in Pulsar's clients."""
    return {pair.key: pair.value for pair in pairs}
