"""The footer of a tier file (`tier_file`): where each row group is. `tier_groups` reads the row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from broker_core.offload.tier_file import INDEX_KEY, TierIndex, schema

FOOTER_BYTES_MAX = 256 << 20  # far above the footer of a ledger of hundreds of gigabytes
GROUP_BYTES_MAX = 512 << 20  # bytes of entries; a row group has about 1 MiB, and at least one entry
_ENTRY_BYTES = 64  # bytes per entry of all other columns
_PAGES_BYTES = 64 << 10  # bytes of the headers of all pages
_SIZES = ("total_compressed_size", "total_uncompressed_size")
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
            self._check()
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"the footer is not that of a tier file: {error}") from error

    def _check(self) -> None:
        """Raises ValueError if the row groups need more memory than their entries, or are not those of the index."""
        if not self.metadata.schema.to_arrow_schema().equals(schema()):
            raise ValueError("it has other columns")
        if self.metadata.num_row_groups != len(self.index.groups):
            raise ValueError("its index has another number of row groups")
        first = 0
        for number, group in enumerate(self.index.groups):
            row_group = self.metadata.row_group(number)
            if (group.first, group.entries) != (first, row_group.num_rows) or not 0 <= group.size <= GROUP_BYTES_MAX:
                raise ValueError(f"row group {number} has other entries than the index says")
            first += group.entries
            _check_chunks(number, row_group, group.size + _ENTRY_BYTES * group.entries + _PAGES_BYTES)

    def chunks(self, group: int, columns: Sequence[str]) -> Iterator[Any]:
        """The column chunks of a row group, as the footer describes them."""
        row_group = self.metadata.row_group(group)
        for number in range(row_group.num_columns):
            chunk = row_group.column(number)
            if chunk.path_in_schema in columns:
                yield chunk

    def extent(self, group: int) -> tuple[int, int]:
        """Offset and length of the bytes of a row group."""
        row_group = self.metadata.row_group(group)
        chunks = [row_group.column(i) for i in range(row_group.num_columns)]
        starts = [chunk.data_page_offset for chunk in chunks]
        ends = [chunk.data_page_offset + chunk.total_compressed_size for chunk in chunks]
        return min(starts), max(ends) - min(starts)

    @property
    def end(self) -> int:
        """The end of the last row group."""
        return sum(self.extent(self.metadata.num_row_groups - 1)) if self.metadata.num_row_groups else 0


def _check_chunks(number: int, row_group: Any, most: int) -> None:
    """Raises ValueError."""
    chunks = [row_group.column(column) for column in range(row_group.num_columns)]
    if any(chunk.has_dictionary_page or chunk.num_values != row_group.num_rows for chunk in chunks):
        raise ValueError(f"row group {number} is not one that an offload writes")
    starts = [chunk.data_page_offset for chunk in chunks]
    stored, whole = ([getattr(chunk, name) for chunk in chunks] for name in _SIZES)
    if min(*starts, *stored, *whole) < 0 or max(sum(stored), sum(whole), max(starts) - min(starts)) > 2 * most:
        raise ValueError(f"row group {number} is larger than its entries")
