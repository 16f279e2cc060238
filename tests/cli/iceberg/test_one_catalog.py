"""One catalog for the tables of offloads and those of `ops lake`: both have the same name for a topic."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from pulsarctl.errors import UsageProblem
from pulsarctl.iceberg.kinds import KIND, OWNER, TOPIC
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.maintenance import maintain
from pulsarctl.iceberg.topic_lake import TopicLake
from tests.support.condition import wait_until
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def shared(directory: Path) -> Iterator[OffloadedTopic]:
    tables = {"table_format": "iceberg", "table_catalog": address(directory), "sweep_seconds": 0.1}
    with offloaded_topic(in_directory(directory / "store", **tables)) as one:
        yield one


@pytest.fixture
def one(shared: OffloadedTopic, request: pytest.FixtureRequest) -> OffloadedTopic:
    return topic(shared, request.node.originalname)


def topic(shared: OffloadedTopic, name: str) -> OffloadedTopic:
    full = f"persistent://public/default/{name}"
    shared.client.subscribe(full, "keeps").close()
    return OffloadedTopic(shared.broker, shared.client, full)


def address(directory: Path) -> str:
    return f"sqlite:///{directory / 'catalog.sqlite'}"


def lake_in(directory: Path) -> TopicLake:
    return TopicLake(LakePlace.of(str(directory / "lake"), address(directory)))


def source(one: OffloadedTopic) -> dict[str, str]:
    return {"service_url": one.broker.service_url, "admin_url": one.broker.http_url}


def table_of(directory: Path, name: str) -> Any:
    catalog = SqlCatalog("pulsarctl", uri=address(directory), warehouse=f"file://{directory}")
    return catalog.load_table(f"public_default.{name}")


def values_of(directory: Path, one: OffloadedTopic) -> list[bytes]:
    return sorted(table_of(directory, one.local_name).scan().to_arrow()["value"].to_pylist())


def without_marks(directory: Path, one: OffloadedTopic) -> None:
    """As before tables were marked."""
    table = table_of(directory, one.local_name)
    with table.transaction() as transaction:
        transaction.remove_properties(*(key for key in (KIND, OWNER) if key in table.properties))


@pytest.mark.parametrize("marked", [True, False])
def test_a_lake_refuses_the_table_of_an_offload(shared: OffloadedTopic, directory: Path, marked: bool) -> None:
    one = topic(shared, f"offloaded_{marked}")
    one.publish([b"a", b"b"])
    one.offload()
    if not marked:
        without_marks(directory, one)
    with pytest.raises(UsageProblem, match="the broker's offload writes it"):
        lake_in(directory).keep(one.name, source(one))
    with pytest.raises(UsageProblem, match="the broker's offload writes it"):
        lake_in(directory).table(one.name)  # as `ops lake-maintain`
    one.publish([b"c"])
    one.offload()
    assert values_of(directory, one) == [b"a", b"b", b"c"]
    assert table_of(directory, one.local_name).properties[KIND] == "offload"


@pytest.mark.parametrize("marked", [True, False])
def test_an_offload_refuses_the_table_of_a_lake(shared: OffloadedTopic, directory: Path, marked: bool) -> None:
    one = topic(shared, f"kept_{marked}")
    one.publish([b"a", b"b"])
    lake_in(directory).keep(one.name, source(one))
    if not marked:
        without_marks(directory, one)
    one.start()
    one.wait()
    assert "`pulsarctl ops lake` writes it; set offloadTableCatalog" in one.topic.offloading.last_error
    one.publish([b"c"])
    assert lake_in(directory).keep(one.name, source(one)).rows == 1
    assert values_of(directory, one) == [b"a", b"b", b"c"]
    assert table_of(directory, one.local_name).properties[KIND] == "lake"


def test_an_offload_refuses_the_table_of_another_clusters_offload(one: OffloadedTopic, directory: Path) -> None:
    one.publish([b"a"])
    one.offload()
    with table_of(directory, one.local_name).transaction() as transaction:
        transaction.set_properties({OWNER: "pulsarctl-another-tables"})
    one.publish([b"b"])
    one.start()
    one.wait()
    assert "the offload of another cluster writes it" in one.topic.offloading.last_error
    assert values_of(directory, one) == [b"a"]


def test_an_offload_refuses_the_table_of_another_topic(one: OffloadedTopic, directory: Path) -> None:
    one.publish([b"a"])
    one.offload()
    with table_of(directory, one.local_name).transaction() as transaction:
        transaction.set_properties({TOPIC: "persistent://another/default/taken"})
    one.publish([b"b"])
    one.start()
    one.wait()
    assert "it is that of persistent://another/default/taken" in one.topic.offloading.last_error
    assert values_of(directory, one) == [b"a"]


def test_an_offload_refuses_the_table_of_another_program(one: OffloadedTopic, directory: Path) -> None:
    catalog = SqlCatalog("pulsarctl", uri=address(directory), warehouse=f"file://{directory}")
    lake_in(directory)
    catalog.create_namespace_if_not_exists("public_default")
    one.publish([b"a"])
    one.offload()
    schema = table_of(directory, one.local_name).schema()
    catalog.drop_table(f"public_default.{one.local_name}")
    catalog.create_table(f"public_default.{one.local_name}", schema)
    one.publish([b"b"])
    one.start()
    one.wait()
    assert "another program writes it" in one.topic.offloading.last_error


def test_merged_files_keep_the_rows_of_other_ledgers_and_lose_those_of_a_trimmed_one(
    shared: OffloadedTopic, directory: Path
) -> None:
    """Ledgers of partitions interleave, so the file that another program merged spans the ledger in between."""
    shared.broker.create_partitioned_topic("persistent://public/default/merged", 2)
    first, second = (topic(shared, f"merged-partition-{index}") for index in range(2))
    whole = OffloadedTopic(shared.broker, shared.client, "persistent://public/default/merged")
    first.publish([b"a", b"b"])
    second.publish([b"c"])
    first.publish([b"d"])
    first.offload()
    first.publish([b"e"])
    first.offload()
    maintain(table_of(directory, "merged"), 128 << 20, timedelta(7))
    second.offload()
    assert values_of(directory, whole) == [b"a", b"b", b"c", b"d", b"e"]
    maintain(table_of(directory, "merged"), 128 << 20, timedelta(7))
    first.acknowledge_all()
    first.rest("POST", "trim")
    wait_until(lambda: values_of(directory, whole) == [b"c"], 30)
