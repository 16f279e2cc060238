"""Topics as Iceberg tables, compared with what an official client reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pulsar
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import UsageProblem
from pulsarctl.iceberg import topic_lake
from pulsarctl.iceberg.topic_lake import TopicLake
from tests.broker_core.offload.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic
from tests.iceberg.sales import Sale, SaleWithCity, publish, seen_by_a_client
from tests.official_client import connect

NAME = "persistent://public/default/sales"


@pytest.fixture
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = connect(pulsar_broker.service_url)
    yield client
    client.close()


def source(broker: EmbeddedBroker) -> dict[str, str]:
    return {"service_url": broker.service_url, "admin_url": broker.http_url}


def table_of(directory: Path, name: str) -> Any:
    catalog = SqlCatalog("pulsarctl", uri=f"sqlite:///{directory / 'catalog.sqlite'}", warehouse=f"file://{directory}")
    return catalog.load_table(name)


def test_an_offloaded_topic_with_an_evolved_schema_has_the_counts_and_sums_of_a_client(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store")) as broker:
        one = OffloadedTopic(broker.broker, broker.client, NAME)
        one.client.subscribe(NAME, "keeps").close()
        publish(one.client, NAME, [Sale(number=number, amount=number / 2) for number in range(40)])
        one.roll()
        publish(one.client, NAME, [SaleWithCity(number=number, amount=1.5, city="Oslo") for number in range(20)])
        one.roll()
        one.offload()
        one.drop_files()
        kept = TopicLake(tmp_path / "lake").keep(NAME, source(one.broker))
        seen = seen_by_a_client(one.client, NAME, 60)
    table = table_of(tmp_path / "lake", kept.table)
    rows = table.scan().to_arrow()
    amounts = rows.column("value").combine_chunks().field("amount").to_pylist()
    assert (len(rows), sum(amounts)) == seen
    files = [task.file.file_path for task in table.scan().plan_files()]
    query = "SELECT count(*), sum(value.amount), count(value.city) FROM read_parquet(?)"
    assert duckdb.execute(query, [files]).fetchone() == (*seen, 20)


def test_each_run_adds_what_is_new_and_a_run_without_news_adds_nothing(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    topic = "persistent://public/default/runs"
    client.subscribe(topic, "keeps").close()
    lake = TopicLake(tmp_path)
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(10)])
    assert lake.keep(topic, source(pulsar_broker)).rows == 10
    assert lake.keep(topic, source(pulsar_broker)).rows == 0
    publish(client, topic, [SaleWithCity(number=number, amount=1.0, city="Rome") for number in range(5)])
    kept = lake.keep(topic, source(pulsar_broker))
    assert kept.rows == 5
    rows = table_of(tmp_path, kept.table).scan().to_arrow()
    assert len(rows) == len(set(rows.column("message_id").to_pylist())) == 15


def test_a_run_that_fails_before_its_commit_leaves_no_rows_and_no_files(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "persistent://public/default/broken"
    client.subscribe(topic, "keeps").close()
    lake = TopicLake(tmp_path)
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(10)])

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(topic_lake.TopicLake, "_commit", fails)
        with pytest.raises(KeyboardInterrupt):
            lake.keep(topic, source(pulsar_broker))
    assert list((tmp_path / "data").rglob("*.parquet")) == []
    assert lake.keep(topic, source(pulsar_broker)).rows == 10


def test_partitions_continue_each_at_its_own_position(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    topic = "persistent://public/default/parted"
    pulsar_broker.create_partitioned_topic(topic, 3)
    client.subscribe(topic, "keeps").close()
    lake = TopicLake(tmp_path)
    for total in (30, 60):
        publish(client, topic, [Sale(number=number, amount=1.0) for number in range(30)])
        kept = lake.keep(topic, source(pulsar_broker))
        assert (kept.rows, len(table_of(tmp_path, kept.table).scan().to_arrow())) == (30, total)


def test_two_topics_whose_names_become_one_table_are_refused(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    lake = TopicLake(tmp_path)
    for name in ("a-b", "a.b"):
        client.subscribe(name, "keeps").close()
        publish(client, name, [Sale(number=1, amount=1.0)])
    lake.keep("a-b", source(pulsar_broker))
    with pytest.raises(UsageProblem, match="the table public_default"):
        lake.keep("a.b", source(pulsar_broker))
