"""The tier file: one sealed ledger as Parquet, a row for each entry, with the raw bytes of the entry.

Anyone can read it with any Parquet library. What the broker relies on is checked at every read:

    the size of the object, and the CRC-32C of its tail (the footer), are in the broker's catalog
    the footer has an index in its key-value metadata: entries, totals, and a CRC-32C for each row group
    each page has a checksum of its own

Row groups hold about 1 MiB of entries: Parquet libraries read whole column chunks, so a row group is the unit of
reading.
"""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from crc32c import crc32c

from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.spans import Spans

INDEX_KEY = b"pulsarctl.tier"
INDEX_VERSION = 1


class Group(NamedTuple):
    """One row group. `crc` covers the entries one after the other, then their columns (`checksum`)."""

    first: int
    entries: int
    messages: int
    size: int
    newest_ms: int
    crc: int


@dataclass(frozen=True, slots=True)
class TierIndex:
    """The ledger as the footer describes it, as JSON in the key-value metadata."""

    ledger_id: int
    uuid: str
    groups: list[Group] = field(default_factory=list)

    def encode(self) -> bytes:
        values = {"version": INDEX_VERSION, "ledger": self.ledger_id, "uuid": self.uuid, "groups": self.groups}
        return json.dumps(values, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, text: bytes) -> TierIndex:
        """Raises ValueError, KeyError, TypeError."""
        values = json_of(text)
        if values["version"] > INDEX_VERSION:
            raise ValueError(f"index version {values['version']} is newer than this release")
        return cls(values["ledger"], values["uuid"], [Group(*group) for group in values["groups"]])

    def check_is_of(self, uuid: str, ledger: LedgerInfo) -> None:
        """Raises ValueError for the index of another copy, or of a ledger that was altered."""
        known = uuid, ledger.id, ledger.entries, ledger.messages, ledger.size
        if known != (self.uuid, self.ledger_id, self.entries, self.messages, self.size):
            raise ValueError("its index is not that of the ledger")

    @property
    def entries(self) -> int:
        return sum(group.entries for group in self.groups)

    @property
    def messages(self) -> int:
        return sum(group.messages for group in self.groups)

    @property
    def size(self) -> int:
        return sum(group.size for group in self.groups)

    def spans(self) -> Spans:
        """One point for each row group."""
        spans, messages, size, newest = Spans(), 0, 0, 0
        for group in self.groups:
            newest = max(newest, group.newest_ms)
            for column, value in zip(
                (spans.first, spans.offset, spans.messages_before, spans.bytes_before, spans.newest),
                (group.first, size, messages, size, newest),
                strict=True,
            ):
                column.append(value)
            messages, size = messages + group.messages, size + group.size
        return spans


def json_of(text: bytes) -> Any:
    """Raises ValueError, also for text that is nested too deeply for the parser."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def checksum(
    data: bytes | memoryview, ends: array[int], counts: array[int], times: array[int], delivery: array[int]
) -> int:
    """CRC-32C of the entries and of the columns that go with them."""
    crc = crc32c(data)
    for column in (ends, counts, times, delivery):
        crc = crc32c(column, crc)
    return crc


def schema() -> Any:
    import pyarrow as pa  # optional, and slow to import

    return pa.schema(
        [
            pa.field("ledger_id", pa.int64(), nullable=False),
            pa.field("entry_id", pa.int64(), nullable=False),
            pa.field("messages", pa.int32(), nullable=False),
            pa.field("publish_time", pa.timestamp("ms", "UTC"), nullable=False),
            pa.field("deliver_at", pa.timestamp("ms", "UTC"), nullable=False),
            pa.field("crc32c", pa.uint32(), nullable=False),
            pa.field("entry", pa.binary(), nullable=False),
        ]
    )
