"""Tables whose metadata an attacker has written: nothing outside of the lake is read, written, or deleted."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from pulsarctl.errors import CliError
from pulsarctl.iceberg.kinds import KIND, LAKE, TOPIC
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.layout import create_table
from pulsarctl.iceberg.maintenance import maintain
from pulsarctl.iceberg.own_files import check_folder
from pulsarctl.iceberg.topic_lake import TopicLake

NAME = "public_default.sales"
ROWS = pa.table({"publish_time": pa.array([0], pa.timestamp("us", "UTC"))})


@pytest.fixture
def place(tmp_path: Path) -> LakePlace:
    return LakePlace.of(str(tmp_path / "lake"), "")


@pytest.fixture
def table(place: LakePlace) -> Table:
    properties = {KIND: LAKE, TOPIC: "persistent://public/default/sales"}
    return create_table(place.open(), NAME, ROWS.schema, properties, place.of_table(NAME))


def altered(table: Table, **changes: Any) -> None:
    path = Path(table.metadata_location.removeprefix("file://"))
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_metadata_that_is_not_valid_is_refused_with_one_sentence(place: LakePlace, table: Table) -> None:
    path = Path(table.metadata_location.removeprefix("file://"))
    valid = json.loads(path.read_text())
    variants: dict[str, Any] = {"current-schema-id": 7, "table-uuid": "x", "format-version": 99, "schemas": []}
    for text in ("", "{bad", "null", "[" * 100_000, *(json.dumps(valid | {key: variants[key]}) for key in variants)):
        path.write_text(text)
        with pytest.raises(CliError) as caught:
            TopicLake(place).table("sales")
        assert caught.value.message == "cannot use the table public_default.sales: its metadata is not valid", text[:50]


@pytest.mark.parametrize("elsewhere", ["file:///etc", "../etc", "file://{lake}/../etc", "s3://bucket/etc"])
def test_a_table_outside_of_the_lake_is_refused(place: LakePlace, table: Table, elsewhere: str, tmp_path: Path) -> None:
    location = elsewhere.format(lake=tmp_path / "lake")
    altered(table, location=location)
    with pytest.raises(CliError, match=r"cannot use the table public_default\.sales: it is in ") as caught:
        TopicLake(place).table("sales")
    assert location in caught.value.message


def test_old_metadata_outside_of_the_table_is_refused(place: LakePlace, table: Table) -> None:
    """A commit deletes the oldest file of metadata."""
    victim = "file:///etc/passwd"
    altered(table, **{"metadata-log": [{"timestamp-ms": 1, "metadata-file": victim}]})
    with pytest.raises(CliError, match=f"names {victim}, outside of {table.location()}/"):
        TopicLake(place).table("sales")


def test_maintenance_refuses_files_outside_of_the_table_and_keeps_them(
    place: LakePlace, table: Table, tmp_path: Path
) -> None:
    victim = tmp_path / "victim.parquet"
    pq.write_table(ROWS, victim)
    for path in (f"file://{victim}", f"{table.location()}/../../../victim.parquet"):
        with table.transaction() as transaction:
            transaction.add_files([path], check_duplicate_files=False)
        found = TopicLake(place).table("sales")
        assert found is not None
        with pytest.raises(CliError, match="outside of") as caught:
            maintain(found, 128 << 20, timedelta(0))
        assert "victim.parquet" in caught.value.message
        table.delete()
    assert victim.exists()


@pytest.mark.parametrize(
    ("location", "lake"),
    [("file:/lake/t", "file:///lake"), ("file:///lake/t", "file:/lake"), ("s3a://bucket/t", "s3://bucket")],
)
def test_the_spellings_of_one_location_are_one_location(location: str, lake: str, table: Table) -> None:
    table.metadata = table.metadata.model_copy(update={"location": location, "metadata_log": []})
    check_folder(table, lake)
