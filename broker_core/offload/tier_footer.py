"""The footer of a tier file (`tier_file`): where each row group is, and the entries of one that was read, verified."""

from __future__ import annotations

from array import array
from typing import Any

from broker_core.offload.tier_file import INDEX_KEY, Group, TierIndex, checksum
from broker_core.storage.block import Block

_TRAILER = 8  # length of the footer, and Parquet's magic


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
        columns = [_whole(table.column(i)) for i in range(4)]
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
