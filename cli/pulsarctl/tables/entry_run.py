"""What readers hand to the decoder: consecutive entries of one ledger, as they are stored.

Usual entries are read as columns (`headers`), and others one by one (`entries`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from crc32c import crc32c

from broker_core.wire.errors import EntryError
from broker_core.wire.message import HEADER, MAGIC, Entry, parse_entry
from broker_core.wire.received import Received
from broker_core.wire.send_metadata import metadata_or_none
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.protobuf_columns import Array, Field, Parsed, Unusual, Words, parse

COLUMNS_ENTRIES_MIN = 8  # fewer small entries are faster one by one
COLUMNS_BYTES_MIN = 32 << 10
ENTRY_FIELDS = (
    Field("producer_name", 1, is_bytes=True),
    Field("sequence_id", 2),
    Field("publish_time", 3),
    Field("properties", 4, is_bytes=True, repeats=True),
    Field("replicated_from", 5, is_bytes=True),
    Field("partition_key", 6, is_bytes=True),
    Field("compression", 8),
    Field("uncompressed_size", 9),
    Field("num_messages_in_batch", 11),
    Field("event_time", 12),
    Field("schema_version", 16, is_bytes=True),
    Field("partition_key_b64_encoded", 17),
    Field("ordering_key", 18, is_bytes=True),
    Field("deliver_at_time", 19),
    Field("highest_sequence_id", 24),
    Field("null_value", 25),
    Field("null_partition_key", 30),
)
"""Fields of MessageMetadata, except those of unusual entries: chunks, encryption, markers, transactions."""

_REQUIRED = ("producer_name", "sequence_id", "publish_time")
_OF_32_BITS = ("compression", "uncompressed_size", "num_messages_in_batch")
_MAGIC = np.uint64(int.from_bytes(MAGIC, "little"))


class Headers(NamedTuple):
    """The metadata of entries, and where their payloads start and end."""

    metadata: Parsed
    payload: Array
    end: Array


class EntryRun:
    """Entry `entry_ids[i]` is `data[starts[i]:ends[i]]`. `verify` is false where storage has checked the bytes."""

    def __init__(
        self,
        topic: str,
        ledger_id: int,
        entry_ids: Array,
        data: Received | memoryview,
        starts: Array,
        ends: Array,
        *,
        verify: bool,
    ) -> None:
        self.topic = topic
        self.ledger_id = ledger_id
        self.entry_ids = entry_ids
        self.data = data
        self.starts = starts
        self.ends = ends
        self._verify = verify

    def __len__(self) -> int:
        return len(self.entry_ids)

    @property
    def sizes(self) -> Array:
        """The stored bytes of headers and payload."""
        return self.ends - self.starts

    def cut(self, places: Iterable[int]) -> Iterator["EntryRun"]:
        """The same entries in several runs: a new one starts at each of these indexes."""
        for begin, end in pairwise([0, *places, len(self)]):
            rows = slice(begin, end)
            columns = (self.entry_ids[rows], self.data, self.starts[rows], self.ends[rows])
            yield EntryRun(self.topic, self.ledger_id, *columns, verify=self._verify)

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """Parsed one by one, and still compressed. Raises `DamagedEntry`."""
        places = zip(self.entry_ids.tolist(), self.starts.tolist(), self.ends.tolist(), strict=True)
        data = memoryview(self.data)
        return [self._parsed(entry_id, bytes(data[start:end])) for entry_id, start, end in places]

    @cached_property
    def headers(self) -> Headers | None:
        """None if the entries are few, or if one of them is unusual or damaged."""
        if len(self) < COLUMNS_ENTRIES_MIN and int(self.sizes.sum()) < COLUMNS_BYTES_MIN:
            return None
        try:
            return self._read_headers()
        except Unusual:
            return None

    @property
    def messages(self) -> int:
        """The number of messages of the entries. Raises `DamagedEntry`."""
        if self.headers is None:
            return sum([entry.metadata.num_messages_in_batch for entry in self.entries])
        return int(self.headers.metadata.numbers("num_messages_in_batch", 1).sum())

    def _read_headers(self) -> Headers:
        words = Words(self.data)
        if (self.sizes < HEADER.size).any() or (words.at(self.starts) & np.uint64(0xFFFF) != _MAGIC).any():
            raise Unusual
        first = self.starts + HEADER.size
        payload = first + words.sizes(self.starts + 6)
        if (payload > self.ends).any() or not self._are_intact(words):
            raise Unusual
        metadata = parse(words, first, payload, ENTRY_FIELDS)
        if not metadata.sound.all() or not all(map(metadata.everywhere, _REQUIRED)):
            raise Unusual
        if any((metadata.numbers(name) >> np.uint64(31)).any() for name in _OF_32_BITS if name in metadata):
            raise Unusual
        return Headers(metadata, payload, self.ends)

    def _are_intact(self, words: Words) -> bool:
        if not self._verify:
            return True
        data = memoryview(self.data)
        places = zip((self.starts + 6).tolist(), self.ends.tolist(), strict=True)
        checksums = [crc32c(data[start:end]) for start, end in places]
        return bool(checksums == words.sizes(self.starts + 2).tolist())

    def _parsed(self, entry_id: int, data: bytes) -> Entry:
        """An entry with the usual headers is parsed here, without the calls of `parse_entry`."""
        if data.startswith(MAGIC) and len(data) >= HEADER.size:
            _, expected, size = HEADER.unpack_from(data)
            end = HEADER.size + size
            if end <= len(data) and (not self._verify or crc32c(data[6:]) == expected):
                metadata = metadata_or_none(data[HEADER.size : end])
                if metadata is not None:
                    return Entry(metadata, data[end:], None)
        try:
            return parse_entry(data, verify=self._verify)
        except EntryError as error:
            raise damaged(self.topic, self.ledger_id, entry_id, error) from error


def damaged(topic: str, ledger_id: int, entry_id: int, error: EntryError) -> DamagedEntry:
    return DamagedEntry(f"cannot read entry {ledger_id}:{entry_id} of {topic}: {error}")
