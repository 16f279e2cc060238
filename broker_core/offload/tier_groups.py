"""The row groups of a tier file (`tier_file`), decoded and verified."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from broker_core.offload.tier_file import Group, checksum
from broker_core.offload.tier_footer import TierFooter
from broker_core.offload.tier_pages import check_pages
from broker_core.storage.records.block import Block

_COLUMNS = ("messages", "publish_time", "deliver_at", "entry")


class GroupEntries(NamedTuple):
    """Entry `first` + i is `data[offsets[i]:offsets[i + 1]]`, in memory of Arrow."""

    first: int
    data: memoryview
    offsets: array[int]
    counts: array[int]
    publish_times: array[int]
    delivery_times: array[int]


class GroupReader:
    """Decodes the row groups of one file, in one thread. What was read of the file is shown to it."""

    def __init__(self, footer: TierFooter) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._footer = footer
        self._index = footer.index
        self._window = _Window(footer.end)
        self._unreadable = (pa.ArrowException, OSError)
        self._file = pq.ParquetFile(pa.PythonFile(self._window, mode="r"), metadata=footer.metadata, pre_buffer=False)

    def block(self, group: int, offset: int, data: bytes | memoryview) -> Block:
        """Return the same as `entries`, for storage: in bytes of their own that Arrow does not use."""
        first, entries, offsets, counts, times, delivery = self.entries(range(group, group + 1), offset, data)
        starts, ends = array("I", offsets[:-1].tobytes()), array("I", offsets[1:].tobytes())  # none is negative
        no_delivery = delivery.tobytes() == bytes(len(delivery) * delivery.itemsize)
        columns = (counts, times, () if no_delivery else delivery)
        return Block(self._index.ledger_id, first, bytes(entries), starts, ends, *columns)

    def entries(self, groups: range, offset: int, data: bytes | memoryview) -> GroupEntries:
        """The entries of some row groups, of which `data` was read at `offset`. Raises ValueError if it was altered.

        The checksum of a row group covers all that is read here, so those of the pages are left to other readers.
        """
        self._window.show(offset, data)
        for group in groups:
            for chunk in self._footer.chunks(group, _COLUMNS):
                start = chunk.data_page_offset - offset
                pages = memoryview(data)[max(start, 0) : start + chunk.total_compressed_size]
                check_pages(pages, chunk.num_values, chunk.total_uncompressed_size)
        try:
            table = self._file.read_row_groups(groups, columns=_COLUMNS, use_threads=False)
        except self._unreadable as error:
            raise ValueError(str(error)) from error
        expected = self._index.groups[groups.start : groups.stop]
        entries = _entries(expected[0].first, table)
        _check(entries, expected)
        return entries


def _check(entries: GroupEntries, expected: Sequence[Group]) -> None:
    """Raises ValueError."""
    if len(entries.counts) != sum(group.entries for group in expected):
        raise ValueError(f"it has {len(entries.counts)} entries from {entries.first} on")
    start = 0
    for group in expected:
        rows = slice(start, start + group.entries)
        start += group.entries
        offsets = _shifted(entries.offsets[rows.start : rows.stop + 1])
        data = entries.data[entries.offsets[rows.start] : entries.offsets[rows.stop]]
        columns = (entries.counts[rows], entries.publish_times[rows], entries.delivery_times[rows])
        if checksum(data, offsets[1:], *columns) != group.crc:
            raise ValueError(f"the checksum of entries {group.first} and following does not match")


def _entries(first: int, table: Any) -> GroupEntries:
    columns = [_whole(table.column(name)) for name in _COLUMNS]
    counts, times, delivery = (_values(kind, column) for kind, column in zip("IQQ", columns[:3], strict=True))
    offsets = _values("i", columns[3], extra=1)
    buffer = columns[3].buffers()[2] or b""
    data = memoryview(buffer)[offsets[0] : offsets[-1]] if offsets else memoryview(b"")
    return GroupEntries(first, data, _shifted(offsets), counts, times, delivery)


def _shifted(offsets: array[int]) -> array[int]:
    """Return the offsets from zero on."""
    base = offsets[0] if offsets else 0
    return array("i", [offset - base for offset in offsets]) if base else offsets


def _whole(column: Any) -> Any:
    """A column as one array. Arrow would copy one that is whole."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _values(kind: str, column: Any, *, extra: int = 0) -> array[int]:
    """A column without nulls as Python's array; `extra` for the offsets of a binary column."""
    values: array[int] = array(kind)
    if len(column):
        buffer = column.buffers()[1]
        values.frombytes(
            memoryview(buffer)[column.offset * values.itemsize :][: (len(column) + extra) * values.itemsize]
        )
    return values


class _Window:
    """A part of a file as Parquet's reader wants it: offsets of the whole file, bytes of the part that is shown."""

    closed = False

    def __init__(self, size: int) -> None:
        self._size = size
        self._at = 0
        self.show(0, b"")

    def show(self, offset: int, data: bytes | memoryview) -> None:
        self._offset = offset
        self._data = data

    def seek(self, position: int, whence: int = 0) -> int:
        if whence == 1:
            position += self._at
        elif whence == 2:
            position += self._size
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
