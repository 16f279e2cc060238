"""Entries of one client for the tests of rows: usual ones, and some with what columns do not hold."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.compression import compress
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, KeyValue, MessageMetadata, SingleMessageMetadata
from pulsarctl.tables.columns import COLUMNS
from pulsarctl.tables.entry_run import EntryRun

TOPIC, LEDGER, FIRST = "persistent://public/default/t-partition-3", 7, 90
SCHEMA = pa.schema([(column.name, column.arrow_type) for column in COLUMNS])
ENTRIES = 20
TEXTS = ("", "k", "ключ", "x" * 130, "x" * 17_000)
PAYLOADS = (b"", b"v", bytes(700), b"\0\0\0\x04\x18\x05", b"\0\0\0\x02\x18\x00" * 3, b"v" * 300)
METADATA = MessageMetadata(producer_name="p", sequence_id=1, publish_time=2)
COMPRESSIONS = (CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD)


class Chance:
    """Entries of one client. `odd` is how often something is in them that columns do not hold."""

    def __init__(self, seed: int, odd: float) -> None:
        self._random = random.Random(seed)
        self._odd = odd
        self._fields = {name: self._random.random() for name in ("key", "time", "order", "id", "properties", "null")}

    def has(self, field: str) -> bool:
        """Fields that all messages have, that none has, and that some have."""
        return self._random.random() < self._fields[field] * 1.5 - 0.25

    def is_odd(self) -> bool:
        return self._random.random() < self._odd

    def number(self) -> int:
        return self._random.choice((1 << 57, (1 << 64) - 1) if self.is_odd() else (0, 127, 128, 70_000, 1 << 55))

    def text(self) -> str:
        return self._random.choice(TEXTS)

    def payload(self) -> bytes:
        return self._random.choice(PAYLOADS)

    def own(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if self.has("properties"):
            names = "aa" if self.is_odd() else "ab"
            fields["properties"] = [KeyValue(key=name, value=self.text()) for name in names]
        if self.has("key"):
            fields |= {"partition_key": self.text(), "partition_key_b64_encoded": self.has("order")}
            fields |= {"null_partition_key": True} if self.has("null") else {}
        if self.has("time"):
            fields["event_time"] = self.number()
        if self.has("order"):
            fields["ordering_key"] = self.payload()
        if self.has("null"):
            fields["null_value"] = self._random.random() < 0.3
        return fields

    def entry(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"producer_name": self.text(), "sequence_id": self.number()}
        fields |= {"publish_time": self.number(), "compression": self._random.choice(COMPRESSIONS)}
        if self.has("order"):
            fields |= {"schema_version": self.payload(), "replicated_from": self.text(), "highest_sequence_id": 5}
        if self.has("time"):
            fields["deliver_at_time"] = -1 if self.is_odd() else 1_700_000_000_000
        if self.is_odd():
            fields |= self._random.choice(({"num_chunks_from_msg": 1}, {"marker_type": 4}, {"txnid_least_bits": 1}))
        return fields

    def single(self) -> bytes:
        metadata, payload = MessageMetadata(**self.entry(), **self.own()), self.payload()
        metadata.uncompressed_size = len(payload)
        return build_entry(metadata, compress(metadata.compression, payload))

    def batch(self) -> bytes:
        return build_batch(MessageMetadata(**self.entry()), [self.message() for _ in range(self._random.randint(1, 5))])

    def message(self) -> BatchMessage:
        if self.is_odd():
            return BatchMessage(SingleMessageMetadata(compacted_out=True), b"")
        own = SingleMessageMetadata(**self.own())
        if self.has("id"):
            own.sequence_id = self.number()
        return BatchMessage(own, b"" if own.null_value else self.payload())

    def entries(self, kind: str) -> list[bytes]:
        return [self.batch() if kind == "batch" else self.single() for _ in range(ENTRIES)]


def run_of(entries: Sequence[bytes]) -> EntryRun:
    ends = np.cumsum([len(entry) for entry in entries])
    starts = ends - [len(entry) for entry in entries]
    entry_ids = np.arange(FIRST, FIRST + len(entries))
    return EntryRun(TOPIC, LEDGER, entry_ids, b"".join(entries), starts, ends, verify=True)
