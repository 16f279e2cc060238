"""The directory that is given for a lake, however it is spelled."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.layout import create_table
from pulsarctl.iceberg.maintenance import maintain
from pulsarctl.iceberg.own_files import check_folder

ROWS = pa.table({"publish_time": pa.array([0], pa.timestamp("us", "UTC"))})


@pytest.mark.parametrize(
    "given", ["../lake", "./lake/../../lake", "file://{parent}/here/../lake", "file://localhost{parent}/lake"]
)
def test_every_spelling_of_a_directory_is_that_directory(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    place = LakePlace.of(given.format(parent=tmp_path), "")
    assert place.location == f"file://{tmp_path}/lake"
    table = create_table(place.open(), "public_default.sales", ROWS.schema, {}, place.of_table("public_default.sales"))
    folder = tmp_path / "lake" / "public_default" / "sales" / "data" / ("0" * 32)
    folder.mkdir(parents=True)
    pq.write_table(ROWS, folder / "rows.parquet")
    table.add_files([f"{table.location()}/data/{folder.name}/rows.parquet"])
    check_folder(table, place.location)
    assert maintain(table, 1 << 20, timedelta(0)).removed == 0
    assert list((tmp_path / "here").iterdir()) == []


def test_a_link_stays_as_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert LakePlace.of(str(tmp_path / "link"), "").location == f"file://{tmp_path}/link"
