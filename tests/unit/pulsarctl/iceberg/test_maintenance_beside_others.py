"""Maintenance while others read the table, commit to it, and maintain it, too."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable, Table

from pulsarctl.errors import CliError, Conflict
from pulsarctl.iceberg import maintenance
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.layout import create_table
from pulsarctl.iceberg.maintenance import maintain

NAME = "public_default.sales"
TYPE = pa.timestamp("us", "UTC")
DAY_US = 86_400_000_000
LARGE = 128 << 20
PROPERTIES = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}


@pytest.fixture
def place(tmp_path: Path) -> LakePlace:
    return LakePlace.of(str(tmp_path / "lake"), "")


@pytest.fixture
def table(place: LakePlace, tmp_path: Path) -> Table:
    """Two files."""
    schema = pa.schema({"publish_time": TYPE})
    table = create_table(place.open(), NAME, schema, PROPERTIES, place.of_table(NAME))
    for _ in range(2):
        add(table, [0])
    return table


def add(table: Table, times: list[int | None]) -> None:
    path = Path(table.location().removeprefix("file://")) / "data" / f"{len(table.refresh().snapshots()):032x}" / "x"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"publish_time": pa.array(times, TYPE)}), path)
    table.add_files([f"file://{path}"])


def before_commit(monkeypatch: pytest.MonkeyPatch, table: Table, change: Callable[[], object]) -> None:
    """Others make `change` while the next commit of the table is on its way."""
    changes, update = [change], table.catalog._update_and_stage_table  # type: ignore[attr-defined]

    def updated(*given: Any) -> Any:
        staged = update(*given)
        while changes:
            changes.pop()()
        return staged

    monkeypatch.setattr(table.catalog, "_update_and_stage_table", updated)


def test_a_version_that_was_current_until_now_is_kept_for_its_readers(table: Table, place: LakePlace) -> None:
    path = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text())
    for snapshot in metadata["snapshots"]:
        snapshot["timestamp-ms"] -= 30 * 86_400_000
    path.write_text(json.dumps(metadata))
    current = table.refresh().metadata.current_snapshot_id
    assert maintain(table, LARGE, timedelta(days=7)).merged == 2
    assert place.open().load_table(NAME).scan(snapshot_id=current).to_arrow().num_rows == 2
    assert maintain(table, LARGE, timedelta(0)).snapshots > 0
    assert len(table.snapshots()) == 1


def test_expiry_goes_on_when_another_run_commits(
    table: Table, place: LakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = place.open().load_table(NAME)
    before_commit(monkeypatch, table, lambda: add(other, [0]))
    assert maintain(table, 0, timedelta(0)).snapshots == 1
    assert table.scan().count() == 3


def test_expiry_goes_on_when_another_maintenance_expires_the_same(
    table: Table, place: LakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = place.open().load_table(NAME)
    before_commit(monkeypatch, table, lambda: maintain(other, 0, timedelta(0)))
    assert maintain(table, 0, timedelta(0)).snapshots == 1
    assert (len(table.snapshots()), table.scan().count()) == (1, 2)


def test_a_merge_of_files_that_another_maintenance_merges_is_a_conflict(
    table: Table, place: LakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = place.open().load_table(NAME)
    before_commit(monkeypatch, table, lambda: maintain(other, LARGE, timedelta(days=7)))
    with pytest.raises(Conflict, match="another run has changed them"):
        maintain(table, LARGE, timedelta(days=7))
    assert table.refresh().scan().count() == 2


def test_a_merge_of_rows_that_were_deleted_meanwhile_is_a_conflict() -> None:
    task = SimpleNamespace(file=SimpleNamespace(file_path="a"), delete_files={"of a"})
    table: Any = SimpleNamespace(scan=lambda: SimpleNamespace(plan_files=lambda: [task]))
    with pytest.raises(Conflict):
        maintenance._replace({"a"}, [], table, table)


def test_a_merge_is_one_snapshot_and_adds_nothing_for_readers_of_what_is_new(table: Table) -> None:
    before = len(table.snapshots())
    maintain(table, LARGE, timedelta(days=7))
    new = table.snapshots()[before:]
    assert [snapshot.summary.operation.value for snapshot in new if snapshot.summary] == ["overwrite"]


def test_files_with_column_ids_of_another_program_are_merged(place: LakePlace) -> None:
    rows = pa.table({"publish_time": pa.array([0], TYPE)})
    catalog = place.open()
    catalog.create_namespace("public_default")
    table = catalog.create_table(NAME, rows.schema, place.of_table(NAME))
    for _ in range(2):
        table.append(rows)
    assert maintain(table, LARGE, timedelta(days=7)).files == 1
    assert table.scan().to_arrow() == pa.concat_tables([rows, rows]).combine_chunks()


def test_rows_without_a_time_survive_a_merge(table: Table) -> None:
    for _ in range(2):
        add(table, [None])
    assert maintain(table, LARGE, timedelta(days=7)).files == 2
    assert table.scan().to_arrow()["publish_time"].null_count == 2


def test_who_reads_the_folder_finds_the_table_after_a_maintenance_was_killed(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(1, 5):
        for _ in range(2):
            add(table, [day * DAY_US])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(maintenance, "_expire", killed)
    with pytest.raises(KeyboardInterrupt):
        maintain(table, LARGE, timedelta(days=7))
    assert StaticTable.from_metadata(table.location()).scan().count() == 10


def test_versions_may_be_kept_for_longer_than_the_calendar_goes_back(table: Table) -> None:
    assert maintain(table, 0, timedelta(days=999_999_999)).snapshots == 0


def test_files_outside_of_the_table_that_came_after_the_check_are_kept(
    table: Table, place: LakePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim.parquet"
    pq.write_table(pa.table({"publish_time": pa.array([0], TYPE)}), victim)
    other = place.open().load_table(NAME)

    def attack() -> None:
        other.add_files([f"file://{victim}"])
        other.delete()

    checked = maintenance._groups

    def groups(*given: Any) -> Any:
        attack()
        table.refresh()
        return checked(*given)

    monkeypatch.setattr(maintenance, "_groups", groups)
    with pytest.raises(CliError, match=r"victim\.parquet"):
        maintain(table, 0, timedelta(0))
    assert victim.exists()
