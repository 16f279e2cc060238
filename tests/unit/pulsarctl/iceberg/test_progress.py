"""Runs of one lake at the same time, and their progress."""

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pulsarctl.iceberg.commits import committed
from pulsarctl.iceberg.kinds import KIND, LAKE, NO_RETRIES, TOPIC
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.layout import create_table
from pulsarctl.iceberg.progress import Overtaken, append, through_of

NAME = "public_default.sales"
SALES = "persistent://public/default/sales"
ROWS = pa.table({"publish_time": pa.array([0], pa.timestamp("us", "UTC"))})


def test_a_run_without_rows_that_is_overtaken_does_not_set_the_progress_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has found entries without messages, and another run commits messages at the same moment."""
    place = LakePlace.of(str(tmp_path), "")
    properties = {KIND: LAKE, TOPIC: SALES, NO_RETRIES: "0"}
    slow = create_table(place.open(), NAME, ROWS.schema, properties, place.of_table(NAME))
    quick = place.open().load_table(NAME)
    file = tmp_path / "rows.parquet"
    pq.write_table(ROWS, file)
    commit = slow.catalog.commit_table

    def overtaken(*given: Any) -> Any:
        if through_of(quick, SALES) == {}:
            run(quick, {SALES: (1, 9)}, [f"file://{file}"])
        return commit(*given)

    monkeypatch.setattr(slow.catalog, "commit_table", overtaken)
    with pytest.raises(Overtaken):
        run(slow, {SALES: (1, 4)}, [])
    assert through_of(slow.refresh(), SALES) == {SALES: (1, 9)}


def run(table: Any, through: dict[str, tuple[int, int]], files: list[str]) -> None:
    committed(table, partial(append, SALES, {}, through, {}, set(), files, "run"))
