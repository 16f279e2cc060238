"""Files of rows, one for each day if possible."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pulsarctl.iceberg import day_files
from pulsarctl.iceberg.day_files import DayFiles

DAY_US = 86_400_000_000
TYPE = pa.timestamp("us", "UTC")


def batch(*days: int) -> pa.RecordBatch:
    return pa.record_batch({"publish_time": pa.array([day * DAY_US for day in days], TYPE)})


def test_rows_of_more_days_than_a_process_can_open_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(day_files, "OPEN_MAX", 2)
    files = DayFiles(tmp_path, batch().schema)
    for days in ((0, 1), (0,), (2,), (0, 1)):  # day 1 is the one that was used longest ago
        files.write(batch(*days))
    found = {path.name: pq.read_table(path).num_rows for path in files.close()}
    assert found == {
        "1970-01-01.parquet": 3,
        "1970-01-02.parquet": 1,
        "1970-01-03.parquet": 1,
        "1970-01-02-3.parquet": 1,
    }
    assert files.rows == 6
