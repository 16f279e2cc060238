"""Parquet files of rows, cut at UTC midnight of the publish time: Iceberg partitions a table by that day.

Statistics on the publish time are required: without them, Iceberg cannot tell the partition of a file.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TIME = "publish_time"
ROW_GROUP = 100_000
NO_DAY = "none"  # rows of other programs may lack the time


class DayFiles:
    """One open file for each day of the rows; `close` completes them. Without it, a file is not a Parquet file."""

    def __init__(self, directory: Path, schema: pa.Schema) -> None:
        self._directory = directory
        self._schema = schema
        self._writers: dict[str, pq.ParquetWriter] = {}
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        for day, rows in _by_day(batch):
            writer = self._writers.get(day)
            if writer is None:
                writer = self._writers[day] = pq.ParquetWriter(self._path(day), self._schema, compression="zstd")
            writer.write_table(rows, row_group_size=ROW_GROUP)
        self.rows += len(batch)

    def _path(self, day: str) -> Path:
        return self._directory / f"{day}.parquet"

    def close(self) -> list[Path]:
        """The complete files."""
        for writer in self._writers.values():
            writer.close()
        return [self._path(day) for day in self._writers]


def _by_day(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Table]]:
    days = pc.fill_null(pc.strftime(batch.column(TIME), format="%Y-%m-%d"), NO_DAY)
    table = pa.Table.from_batches([batch])
    unique_days: Iterable[str] = pc.unique(days).to_pylist()
    for day in unique_days:
        yield day, table.filter(pc.equal(days, day))
