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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from crc32c import crc32c

from broker_core.storage import ledger_file
from broker_core.storage.block import DELAYED, ENTRIES, HEADER, Block, Columns
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged
from broker_core.storage.spans import Spans

INDEX_KEY = b"pulsarctl.tier"
INDEX_VERSION = 1
GROUP_BYTES = 1 << 20
GROUP_ENTRIES = 1 << 16
_TRAILER = 8  # length of the footer, and Parquet's magic


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
    """What the footer says about the ledger; as JSON in the key-value metadata."""

    ledger_id: int
    uuid: str
    groups: list[Group] = field(default_factory=list)

    def encode(self) -> bytes:
        values = {"version": INDEX_VERSION, "ledger": self.ledger_id, "uuid": self.uuid, "groups": self.groups}
        return json.dumps(values, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, text: bytes) -> TierIndex:
        """Raises ValueError, KeyError, TypeError."""
        values = json.loads(text)
        if values["version"] > INDEX_VERSION:
            raise ValueError(f"index version {values['version']} is newer than this release")
        return cls(values["ledger"], values["uuid"], [Group(*group) for group in values["groups"]])

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


def checksum(data: bytes, ends: array[int], counts: array[int], times: array[int], delivery: array[int]) -> int:
    """CRC-32C of the entries and of the columns that go with them."""
    crc = crc32c(data)
    for column in (ends, counts, times, delivery):
        crc = crc32c(column.tobytes(), crc)
    return crc


class _Gathered:
    """Entries on their way into one row group, without the bytes between them."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.parts: list[bytes] = []
        self.size = 0
        self.ends: array[int] = array("i")
        self.counts: array[int] = array("I")
        self.times: array[int] = array("Q")
        self.delivery: array[int] = array("Q")
        self.crcs: array[int] = array("I")

    def __len__(self) -> int:
        return len(self.ends)

    def add(self, block: Block) -> None:
        view = memoryview(block.data)
        for start, end in zip(block.starts, block.ends, strict=True):
            entry = view[start:end]
            self.parts.append(entry.tobytes())
            self.crcs.append(crc32c(entry))
            self.size += end - start
            self.ends.append(self.size)
        self.counts.extend(block.counts)
        self.times.extend(block.publish_times)
        self.delivery.extend(block.delivery_times or [0] * len(block))

    @property
    def is_full(self) -> bool:
        return self.size >= GROUP_BYTES or len(self) >= GROUP_ENTRIES


def blocks_of_file(disk: Disk, path: Path, ledger_id: int, entries: int, end: int) -> Iterator[Block]:
    """The records of a sealed ledger file, each as a block. Raises Damaged, also where entries are missing."""
    fd = disk.open(path)
    try:
        expected = 0
        for at, data, inside in ledger_file.scan(disk, fd, path, ledger_file.DATA_START, end):
            _, length, kind, flags, _, n, owner, first, base, _ = HEADER.unpack_from(data, inside)
            if kind != ENTRIES or owner != ledger_id or first != expected:
                raise Damaged(path, at, f"entry {expected} of ledger {ledger_id} is missing")
            columns = Columns()
            if flags & DELAYED:
                columns.add_delivery_times(data, inside + length, n)
            columns.add(data, inside, n, base)
            yield columns.block(ledger_id, first, data)
            expected += n
        if expected != entries:
            raise Damaged(path, end, f"the file has {expected} of {entries} entries")
    finally:
        disk.close(fd)


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


class TierFileWriter:
    """Writes a local file; `close` makes it complete. What is not closed is not to be uploaded."""

    def __init__(self, path: Path, ledger_id: int, uuid: str) -> None:
        import pyarrow.parquet as pq

        self.index = TierIndex(ledger_id, uuid)
        self._schema = schema()
        self._gathered = _Gathered(0)
        self._writer = pq.ParquetWriter(
            str(path),
            self._schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=False,
            write_statistics=["ledger_id", "entry_id", "publish_time"],
            write_page_checksum=True,
        )

    def add(self, block: Block) -> None:
        self._gathered.add(block)
        if self._gathered.is_full:
            self._end_group()

    def _end_group(self) -> None:
        import pyarrow as pa

        rows, n = self._gathered, len(self._gathered)
        data = b"".join(rows.parts)
        crc = checksum(data, rows.ends, rows.counts, rows.times, rows.delivery)
        newest = max(rows.times)
        self.index.groups.append(Group(rows.first, n, sum(rows.counts), rows.size, newest, crc))
        ledger_ids = array("q", [self.index.ledger_id]) * n
        columns = [
            ledger_ids,
            array("q", range(rows.first, rows.first + n)),
            rows.counts,
            rows.times,
            rows.delivery,
            rows.crcs,
        ]
        arrays = [
            pa.Array.from_buffers(kind, n, [None, pa.py_buffer(column)])
            for kind, column in zip(self._schema.types, columns, strict=False)
        ]
        offsets = array("i", [0]) + rows.ends
        arrays.append(pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(data)]))
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=n)
        self._gathered = _Gathered(rows.first + n)

    def close(self) -> None:
        if len(self._gathered):
            self._end_group()
        self._writer.add_key_value_metadata({INDEX_KEY: self.index.encode()})
        self._writer.close()


def tail_length(data: bytes) -> int:
    """The length of the footer of a Parquet file with its trailer; `data` ends with the last bytes of the file."""
    return int.from_bytes(data[-_TRAILER:-4], "little") + _TRAILER


class TierFooter:
    """The parsed tail of a tier file. Raises ValueError when it is not one."""

    def __init__(self, tail: bytes) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self.metadata = pq.read_metadata(pa.BufferReader(tail))
            self.index = TierIndex.decode((self.metadata.metadata or {})[INDEX_KEY])
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"the footer is not that of a tier file: {error}") from error

    def extent(self, group: int) -> tuple[int, int]:
        """Offset and length of the bytes of a row group."""
        row_group = self.metadata.row_group(group)
        chunks = [row_group.column(i) for i in range(row_group.num_columns)]
        starts = [chunk.data_page_offset for chunk in chunks]
        ends = [chunk.data_page_offset + chunk.total_compressed_size for chunk in chunks]
        return min(starts), max(ends) - min(starts)

    def block(self, group: int, offset: int, data: bytes | memoryview) -> Block:
        """The entries of a row group, of which `data` was read at `offset`. Raises ValueError if it was altered.

        The checksum of the row group covers all that is read here, so those of the pages are left to other readers.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(
                pa.PythonFile(_Window(offset, data), mode="r"),
                metadata=self.metadata,
                pre_buffer=False,
            )
            columns = ["messages", "publish_time", "deliver_at", "entry"]
            table = file.read_row_group(group, columns=columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(str(error)) from error
        return self._checked(self.index.groups[group], table)

    def _checked(self, expected: Group, table: Any) -> Block:
        columns = [table.column(i).combine_chunks() for i in range(4)]
        counts, times, delivery = (_values(kind, column) for kind, column in zip("IQQ", columns[:3], strict=True))
        offsets = _values("i", columns[3], extra=1)
        entries = columns[3].buffers()[2]
        data = b"" if entries is None else entries.slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes()
        starts, ends = _shifted(offsets)
        if len(counts) != expected.entries or checksum(data, ends, counts, times, delivery) != expected.crc:
            raise ValueError(f"the checksum of entries {expected.first} and following does not match")
        return Block(
            self.index.ledger_id,
            expected.first,
            data,
            _unsigned(starts),
            _unsigned(ends),
            counts,
            times,
            () if delivery.tobytes() == bytes(len(delivery) * delivery.itemsize) else delivery,
        )


def _values(kind: str, column: Any, *, extra: int = 0) -> array[int]:
    """A column without nulls as Python's array; `extra` for the offsets of a binary column."""
    values: array[int] = array(kind)
    if len(column):
        buffer = column.buffers()[1]
        values.frombytes(
            memoryview(buffer)[column.offset * values.itemsize :][: (len(column) + extra) * values.itemsize]
        )
    return values


def _shifted(offsets: array[int]) -> tuple[array[int], array[int]]:
    base = offsets[0] if offsets else 0
    if base:
        offsets = array("i", [offset - base for offset in offsets])
    return offsets[:-1], offsets[1:]


def _unsigned(values: array[int]) -> array[int]:
    """Offsets are not negative, so their bytes stay the same."""
    return array("I", values.tobytes())


class _Window:
    """A part of a file as Parquet's reader wants it: offsets of the whole file, bytes of the part."""

    closed = False

    def __init__(self, offset: int, data: bytes | memoryview) -> None:
        self._offset = offset
        self._data = data
        self._at = 0

    def seek(self, position: int, whence: int = 0) -> int:
        if whence == 1:
            position += self._at
        elif whence == 2:
            position += self._offset + len(self._data)
        self._at = position
        return position

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes | memoryview:
        start = self._at - self._offset
        if start < 0:
            raise OSError("read outside the row group")
        data = self._data[start:] if size < 0 else self._data[start : start + size]
        self._at += len(data)
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        pass
