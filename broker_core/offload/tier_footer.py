"""The footer of a tier file (`tier_file`): where each row group is. `tier_groups` reads the row groups."""

from __future__ import annotations

from broker_core.offload.tier_file import INDEX_KEY, TierIndex

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

    @property
    def end(self) -> int:
        """Where the last row group ends."""
        return sum(self.extent(self.metadata.num_row_groups - 1)) if self.metadata.num_row_groups else 0
