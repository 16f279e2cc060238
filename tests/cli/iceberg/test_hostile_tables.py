"""Tables whose metadata an attacker has written: nothing outside of the lake is read, written, or deleted."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from broker_core.offload.errors import OffloadFailed
from broker_core.offload.orders import Removal
from broker_core.offload.stores import open_store
from pulsarctl.errors import CliError
from pulsarctl.iceberg.kinds import KIND, LAKE, THROUGH, TOPIC
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.layout import create_table
from pulsarctl.iceberg.maintenance import maintain
from pulsarctl.iceberg.offloaded_tables import OffloadedTables
from pulsarctl.iceberg.own_files import check_folder
from pulsarctl.iceberg.progress import through_of
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


def test_metadata_that_is_no_text_is_refused(place: LakePlace, table: Table) -> None:
    Path(table.metadata_location.removeprefix("file://")).write_bytes(b"\xff\xfe")
    with pytest.raises(CliError, match="its metadata is not valid"):
        TopicLake(place).table("sales")


@pytest.mark.parametrize("name", ["write.metadata.path", "write.data.path"])
def test_a_property_that_sends_files_elsewhere_is_refused(place: LakePlace, table: Table, name: str) -> None:
    altered(table, properties=table.properties | {name: "file:///etc"})
    with pytest.raises(CliError, match="names file:///etc, outside of"):
        TopicLake(place).table("sales")


def test_a_property_that_names_code_is_refused(place: LakePlace, table: Table) -> None:
    altered(table, properties=table.properties | {"write.py-location-provider.impl": "os.system"})
    with pytest.raises(CliError, match=r"its property write\.py-location-provider\.impl names code"):
        TopicLake(place).table("sales")


@pytest.mark.parametrize("text", ["{bad", "[]", "5", '{"sales": 5}', '{"sales": ["a", "b"]}', "[" * 100_000])
def test_progress_that_is_not_valid_is_refused_with_one_sentence(table: Table, text: str) -> None:
    altered(table, properties=table.properties | {THROUGH: text})
    with pytest.raises(CliError) as caught:
        through_of(table.refresh(), table.properties[TOPIC])
    assert caught.value.message == f"cannot use the table {NAME}: its property {THROUGH} is not valid"


@pytest.mark.parametrize("name", ["metadata-log", "location"])
def test_an_offload_refuses_metadata_that_names_other_files(
    place: LakePlace, table: Table, tmp_path: Path, name: str
) -> None:
    log = [{"timestamp-ms": 1, "metadata-file": "file:///etc/passwd"}]
    altered(table, **{"metadata-log": log} | ({"location": "file:///etc"} if name == "location" else {}))
    place.open()
    record = {"catalog": place.catalog, "name": NAME, "folder": "i-tables/public_default/sales"}
    removal = Removal(1, "u", "filesystem", {"fileSystemURI": place.location}, record)
    store = open_store(removal.driver, removal.settings, removal.limits)
    with pytest.raises(OffloadFailed) as caught:
        OffloadedTables().remove(removal, store)
    assert caught.value.detail is not None
    assert "/etc" in caught.value.detail


def test_maintenance_deletes_nothing_through_a_link(place: LakePlace, table: Table, tmp_path: Path) -> None:
    victim = tmp_path / "home" / "letter"
    victim.parent.mkdir()
    pq.write_table(ROWS, victim)
    os.utime(victim, (0, 0))
    data = Path(table.location().removeprefix("file://")) / "data"
    data.mkdir()
    (data / ("0" * 32)).symlink_to(victim.parent)
    assert maintain(table, 128 << 20, timedelta(0)).removed == 0
    table.add_files([f"{table.location()}/data/{'0' * 32}/letter"])
    with pytest.raises(CliError, match="outside of"):
        maintain(table, 128 << 20, timedelta(0))
    assert victim.exists()


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
