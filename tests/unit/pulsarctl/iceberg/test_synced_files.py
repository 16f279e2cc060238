"""What a power cut may take: nothing that the catalog names. And what the metadata of a table may not name: code."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from pulsarctl.iceberg.catalogs import write_hint
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.layout import create_table
from pulsarctl.iceberg.rewriting import _uploaded

NAME = "public_default.sales"
ROWS = pa.table({"publish_time": pa.array([0], pa.timestamp("us", "UTC"))})


@pytest.fixture
def place(tmp_path: Path) -> LakePlace:
    return LakePlace.of(str(tmp_path / "lake"), "")


def created(place: LakePlace) -> Table:
    return create_table(place.open(), NAME, ROWS.schema, {}, place.of_table(NAME))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_files_and_folders_are_synced_before_the_catalog_names_them(
    place: LakePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = created(place)
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    synced: set[Path] = set()
    sync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        sync(descriptor)

    before = set((tmp_path / "lake").rglob("*"))
    monkeypatch.setattr(os, "fsync", noted)
    table.add_files([_uploaded(table, tmp_path / "rows.parquet")])
    new = set((tmp_path / "lake").rglob("*")) - before
    assert {path.suffix for path in new} == {"", ".parquet", ".avro", ".json"}
    assert {path.parent for path in new} | {path for path in new if path.is_file()} <= synced
    write_hint(table)
    assert any(path.name.startswith("version-hint.text.") for path in synced)


def test_a_new_file_does_not_replace_another_one(place: LakePlace) -> None:
    output = created(place).io.new_output(f"{place.location}/file")
    for overwrite in (False, True):
        with output.create(overwrite=overwrite) as file:
            file.write(b"a")
    with pytest.raises(FileExistsError):
        output.create()


def test_metadata_of_a_table_runs_no_code(place: LakePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(shutil, "rmtree", called.append)
    path = Path(created(place).metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text())
    path.write_text(json.dumps(metadata | {"properties": {"py-io-impl": "shutil.rmtree"}}))
    table = place.open().load_table(NAME)
    assert (called, table.io is not None) == ([], True)
