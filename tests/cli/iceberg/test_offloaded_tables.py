"""Tables that the broker writes when it offloads, read without pulsarctl and compared with an official client."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pulsar
import pyarrow.parquet as pq
import pytest
from pulsar.schema import JsonSchema
from pyiceberg.table import StaticTable

from tests.cli.iceberg.sales import Sale, SaleWithCity, publish, seen_by_a_client
from tests.support.condition import wait_until
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic

TABLES = {"table_format": "iceberg", "sweep_seconds": 0.1}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def shared(store: Path) -> Iterator[OffloadedTopic]:
    with offloaded_topic(in_directory(store, **TABLES)) as one:
        yield one


@pytest.fixture
def one(shared: OffloadedTopic, request: pytest.FixtureRequest) -> OffloadedTopic:
    name = f"persistent://public/default/{request.node.name}"
    shared.client.subscribe(name, "keeps").close()
    return OffloadedTopic(shared.broker, shared.client, name)


def table_of(one: OffloadedTopic, store: Path) -> StaticTable:
    """By its folder alone, as anybody finds it in the store."""
    (folder,) = store.glob(f"*-tables/public_default/{one.name.rpartition('/')[2]}")
    return StaticTable.from_metadata(f"file://{folder}")


def message_ids(one: OffloadedTopic, store: Path) -> list[str]:
    return sorted(table_of(one, store).scan(selected_fields=("message_id",)).to_arrow()["message_id"].to_pylist())


def ids_seen_by_a_reader(one: OffloadedTopic) -> list[str]:
    with closing(one.client.create_reader(one.name, pulsar.MessageId.earliest)) as reader:
        found = []
        while reader.has_message_available():
            place = reader.read_next(20_000).message_id()
            batch = f":{place.batch_index()}" if place.batch_index() >= 0 else ""
            found.append(f"{place.ledger_id()}:{place.entry_id()}:{place.partition()}{batch}")
    return sorted(found)


def test_an_evolved_topic_has_the_counts_and_sums_of_a_client_in_duckdb(one: OffloadedTopic, store: Path) -> None:
    publish(one.client, one.name, [Sale(number=number, amount=number / 2) for number in range(40)])
    one.roll()
    one.offload()
    publish(one.client, one.name, [SaleWithCity(number=number, amount=1.5, city="Oslo") for number in range(20)])
    one.roll()
    one.offload()
    one.drop_files()
    files = [task.file.file_path for task in table_of(one, store).scan().plan_files()]
    query = "SELECT count(*), sum(value.amount), count(value.city) FROM read_parquet(?, union_by_name => true)"
    assert duckdb.execute(query, [files]).fetchone() == (*seen_by_a_client(one.client, one.name, 60), 20)


def test_batches_and_chunks_over_two_ledgers_are_rows_once(one: OffloadedTopic, store: Path) -> None:
    producer = one.client.create_producer(one.name, batching_enabled=True, batching_max_messages=5)
    for number in range(30):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    chunked = one.client.create_producer(one.name, batching_enabled=False, chunking_enabled=True)
    for _ in range(2):  # three entries each after six batches, ten in a ledger
        chunked.send(b"x" * (11 << 20))
    one.roll()
    one.offload()
    assert message_ids(one, store) == ids_seen_by_a_reader(one)


def test_the_manifest_names_the_files_of_the_table(one: OffloadedTopic, store: Path) -> None:
    one.publish([b"a", b"b"])
    one.offload()
    (task,) = table_of(one, store).scan().plan_files()
    found = [json.loads(path.read_text()) for path in store.glob(f"*/public/default/persistent/{one.name[28:]}/*.json")]
    assert [file["path"] for manifest in found for file in manifest["tables"]] == [
        task.file.file_path.removeprefix(f"file://{store}/")
    ]
    assert pq.read_table(store / found[0]["tables"][0]["path"])["value"].to_pylist() == [b"a", b"b"]


def test_partitions_are_in_one_table(shared: OffloadedTopic, store: Path) -> None:
    name = "persistent://public/default/parted"
    shared.broker.create_partitioned_topic(name, 2)
    shared.client.subscribe(name, "keeps").close()
    for index in range(2):
        part = OffloadedTopic(shared.broker, shared.client, f"{name}-partition-{index}")
        part.publish([b"%d" % index] * 3)
        part.offload()
    rows = table_of(OffloadedTopic(shared.broker, shared.client, name), store).scan().to_arrow()
    assert sorted(rows["partition"].to_pylist()) == [0, 0, 0, 1, 1, 1]


def test_rows_of_a_trimmed_ledger_go_with_its_objects(one: OffloadedTopic, store: Path) -> None:
    one.publish([b"%d" % number for number in range(20)])
    one.offload()
    assert len(message_ids(one, store)) == 20
    one.rest("POST", "subscription/keeps/skip_all")
    one.rest("POST", "trim")
    files = f"*-tables/public_default/{one.name[28:]}/data/*/*.parquet"
    wait_until(lambda: not list(store.glob(files)), 30)  # they go last
    assert message_ids(one, store) == []


def test_rows_are_there_once_after_a_restore_and_another_offload(one: OffloadedTopic, store: Path) -> None:
    one.publish([b"%d" % number for number in range(20)])
    one.offload()
    expected = message_ids(one, store)
    one.rest("POST", "offload/restore")
    one.offload()
    assert message_ids(one, store) == expected
    wait_until(lambda: not one.broker.call(unwanted(one)), 30)
    assert message_ids(one, store) == expected


async def unwanted(one: OffloadedTopic) -> list[Any]:
    return list(one.broker.broker.storage.copies.unwanted())


def test_a_catalog_that_does_not_answer_fails_the_offload_and_leaves_no_object(tmp_path: Path) -> None:
    config = in_directory(
        tmp_path / "store", table_format="iceberg", table_catalog="http://127.0.0.1:9", sweep_seconds=0.1
    )
    with offloaded_topic(config) as one:
        one.publish([b"a"])
        one.start()
        one.wait()
        assert "cannot write the table public_default.orders" in one.topic.offloading.last_error
        assert list((tmp_path / "store").rglob("*.parquet")) == []
        assert one.entries()


def test_a_sweep_removes_files_of_a_table_that_no_copy_has(one: OffloadedTopic, store: Path) -> None:
    one.publish([b"a"])
    one.offload()
    (known,) = store.glob(f"*-tables/public_default/{one.name[28:]}/data/*/*.parquet")
    stray = known.parent.parent / f"{known.parent.name[:-1]}{'1' if known.parent.name[-1] == '0' else '0'}" / known.name
    stray.parent.mkdir()
    stray.write_bytes(known.read_bytes())
    found = one.rest("POST", "/brokers/offload/audit?sweep=true")
    files = [path for path in found["orphans"] if not path.endswith("/")]  # other topics may leave empty folders
    assert files == [str(stray.relative_to(store))]
    assert known.exists() and not stray.exists()
    assert message_ids(one, store) == ids_seen_by_a_reader(one)


def test_bytes_stay_bytes_when_a_topic_gets_a_schema_later(one: OffloadedTopic, store: Path) -> None:
    one.publish([b"raw"])
    one.offload()
    producer = one.client.create_producer(one.name, schema=JsonSchema(Sale))
    producer.send(Sale(number=1, amount=2.0))
    one.roll()
    one.offload()
    values = table_of(one, store).scan().to_arrow()["value"].to_pylist()
    assert sorted(values)[0] == b"raw"
    assert json.loads(max(values)) == {"number": 1, "amount": 2.0}


def test_a_driver_without_tables_is_refused(tmp_path: Path) -> None:
    config = replace(in_directory(tmp_path, **TABLES), driver="azureblob", bucket="b")
    with offloaded_topic(config) as one:
        one.publish([b"a"])
        with pytest.raises(Exception, match="the driver azureblob cannot have tables"):
            one.start()
