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
OPEN_MAX = 100  # files; a process has 1024 or fewer
NO_DAY = "none"  # rows of other programs may lack the time


class DayFiles:
    """A file for each day of the rows; `close` completes them. Without it, a file is not a Parquet file.

    At most `OPEN_MAX` files are open, so a day has several if others came in between. Clocks of producers may be wrong.
    """

    def __init__(self, directory: Path, schema: pa.Schema) -> None:
        self._directory = directory
        self._schema = schema
        self._open: dict[str, pq.ParquetWriter] = {}  # the one that was used last is the last one
        self._paths: list[Path] = []
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        for day, rows in _by_day(batch):
            self._open[day] = self._open.pop(day, None) or self._opened(day)
            self._open[day].write_table(rows, row_group_size=ROW_GROUP)
        self.rows += len(batch)

    def _opened(self, day: str) -> pq.ParquetWriter:
        if len(self._open) == OPEN_MAX:
            self._open.pop(next(iter(self._open))).close()
        path = self._directory / f"{day}.parquet"
        if path in self._paths:
            path = path.with_name(f"{day}-{len(self._paths)}.parquet")
        self._paths.append(path)
        return pq.ParquetWriter(path, self._schema, compression="zstd")

    def close(self) -> list[Path]:
        """The complete files."""
        for writer in self._open.values():
            writer.close()
        return self._paths


def _by_day(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Table]]:
    days = pc.fill_null(pc.strftime(batch.column(TIME), format="%Y-%m-%d"), NO_DAY)
    table = pa.Table.from_batches([batch])
    unique_days: Iterable[str] = pc.unique(days).to_pylist()
    for day in unique_days:
        yield day, table.filter(pc.equal(days, day))
