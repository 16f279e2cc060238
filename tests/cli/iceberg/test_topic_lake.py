"""Topics as Iceberg tables, compared with what an official client reads."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pulsar
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import Conflict, UsageProblem
from pulsarctl.iceberg import topic_lake
from pulsarctl.iceberg.commits import committed
from pulsarctl.iceberg.kinds import TOPIC
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.maintenance import maintain
from pulsarctl.iceberg.topic_lake import Kept, TopicLake
from tests.cli.iceberg.sales import Sale, SaleWithCity, SaleWithText, publish, seen_by_a_client
from tests.support.condition import wait_until
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic
from tests.support.runner import Cli

NAME = "persistent://public/default/sales"


def source(broker: EmbeddedBroker) -> dict[str, str]:
    return {"service_url": broker.service_url, "admin_url": broker.http_url}


def lake_in(directory: Path) -> TopicLake:
    return TopicLake(LakePlace.of(str(directory), ""))


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
        kept = lake_in(tmp_path / "lake").keep(NAME, source(one.broker))
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
    lake = lake_in(tmp_path)
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(10)])
    assert lake.keep(topic, source(pulsar_broker)).rows == 10
    assert lake.keep(topic, source(pulsar_broker)).rows == 0
    publish(client, topic, [SaleWithCity(number=number, amount=1.0, city="Rome") for number in range(5)])
    kept = lake.keep(topic, source(pulsar_broker))
    assert kept.rows == 5
    rows = table_of(tmp_path, kept.table).scan().to_arrow()
    assert len(rows) == len(set(rows.column("message_id").to_pylist())) == 15


def test_a_field_that_gets_another_type_gets_another_column(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, cli: Cli, tmp_path: Path
) -> None:
    assert cli("namespaces", "create", "public/changing").exit_code == 0
    strategy = ("set-schema-compatibility-strategy", "public/changing", "-c", "ALWAYS_COMPATIBLE")
    assert cli("namespaces", *strategy).exit_code == 0
    topic = "persistent://public/changing/types"
    client.subscribe(topic, "keeps").close()
    lake = lake_in(tmp_path)
    for record in (Sale(number=1, amount=1.0), SaleWithText(number="one", amount=1.0), Sale(number=2, amount=1.0)):
        publish(client, topic, [record])
        kept = lake.keep(topic, source(pulsar_broker))
        assert kept.rows == 1
    rows = table_of(tmp_path, kept.table).scan().to_arrow().column("value").to_pylist()
    shown = sorted((row["number"], row["number__v1"]) for row in rows if row["number"] is not None)
    assert shown == [(1, None), (2, None)]
    assert [row["number__v1"] for row in rows if row["number"] is None] == ["one"]


def test_a_run_that_fails_before_its_commit_leaves_no_rows_and_no_files(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "persistent://public/default/broken"
    client.subscribe(topic, "keeps").close()
    lake = lake_in(tmp_path)
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(10)])

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", fails)
        with pytest.raises(KeyboardInterrupt):
            lake.keep(topic, source(pulsar_broker))
    assert list(tmp_path.rglob("*.parquet")) == []
    assert lake.keep(topic, source(pulsar_broker)).rows == 10


def test_partitions_continue_each_at_its_own_position(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    topic = "persistent://public/default/parted"
    pulsar_broker.create_partitioned_topic(topic, 3)
    client.subscribe(topic, "keeps").close()
    lake = lake_in(tmp_path)
    for total in (30, 60):
        publish(client, topic, [Sale(number=number, amount=1.0) for number in range(30)])
        kept = lake.keep(topic, source(pulsar_broker))
        assert (kept.rows, len(table_of(tmp_path, kept.table).scan().to_arrow())) == (30, total)


def test_topics_with_similar_names_have_tables_of_their_own(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    lake = lake_in(tmp_path)
    names = ("a-b", "a.b", "a_b")
    for count, name in enumerate(names, 1):
        client.subscribe(name, "keeps").close()
        publish(client, name, [Sale(number=1, amount=1.0)] * count)
    assert [lake.keep(name, source(pulsar_broker)).rows for name in names] == [1, 2, 3]
    assert [len(table_of(tmp_path, topic_lake.table_name(name)).scan().to_arrow()) for name in names] == [1, 2, 3]


def test_the_table_of_another_topic_is_refused(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    lake = lake_in(tmp_path)
    client.subscribe("taken", "keeps").close()
    publish(client, "taken", [Sale(number=1, amount=1.0)])
    kept = lake.keep("taken", source(pulsar_broker))
    with table_of(tmp_path, kept.table).transaction() as transaction:
        transaction.set_properties({TOPIC: "persistent://another/default/taken"})
    with pytest.raises(UsageProblem, match="is that of persistent://another"):
        lake.keep("taken", source(pulsar_broker))


def rows_of(directory: Path, kept: Kept) -> list[str]:
    """The message IDs, each as often as it is in the table."""
    found: list[str] = table_of(directory, kept.table).scan().to_arrow().column("message_id").to_pylist()
    return sorted(found)


def test_a_folder_with_the_table_of_another_catalog_is_refused_and_kept(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    topic = "persistent://public/default/shared_folder"
    client.subscribe(topic, "keeps").close()
    publish(client, topic, [Sale(number=1, amount=1.0)])
    lake_in(tmp_path).keep(topic, source(pulsar_broker))
    before = sorted(tmp_path.rglob("*"))
    other = f"sqlite:///{tmp_path / 'other.sqlite'}"
    with pytest.raises(Conflict, match=rf"has a table that is not in the catalog {other}"):
        TopicLake(LakePlace.of(str(tmp_path), other)).keep(topic, source(pulsar_broker))
    assert sorted(set(tmp_path.rglob("*")) - set(before)) == [tmp_path / "other.sqlite"]
    assert lake_in(tmp_path).keep(topic, source(pulsar_broker)).rows == 0


def test_a_run_that_is_overtaken_adds_what_is_left(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "persistent://public/default/overtaken"
    client.subscribe(topic, "keeps").close()
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(10)])
    write = topic_lake._write
    others = [lake_in(tmp_path)]

    def overtaken(*given: Any) -> Any:
        written = write(*given)
        while others:  # another run commits between the plan and the commit of this one
            others.pop().keep(topic, source(pulsar_broker))
            publish(client, topic, [Sale(number=number, amount=1.0) for number in range(5)])
        return written

    monkeypatch.setattr(topic_lake, "_write", overtaken)
    kept = lake_in(tmp_path).keep(topic, source(pulsar_broker))
    found = rows_of(tmp_path, kept)
    assert (kept.rows, len(found), len(set(found))) == (5, 15, 15)
    assert len(list(tmp_path.rglob("data/*/*.parquet"))) == 2, "the files of the overtaken run are removed"


def test_a_run_whose_commit_is_not_answered_keeps_its_files_though_another_run_commits_after_it(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "persistent://public/default/not-answered"
    client.subscribe(topic, "keeps").close()
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(10)])
    others = [lake_in(tmp_path)]

    def not_answered(*given: Any) -> None:
        committed(*given)
        if others:
            publish(client, topic, [Sale(number=number, amount=1.0) for number in range(5)])
            others.pop().keep(topic, source(pulsar_broker))
            raise ConnectionError

    monkeypatch.setattr(topic_lake, "committed", not_answered)
    kept = lake_in(tmp_path).keep(topic, source(pulsar_broker))
    found = rows_of(tmp_path, kept)
    assert (kept.rows, len(found), len(set(found))) == (10, 15, 15)


def test_a_commit_that_a_slow_catalog_makes_after_its_run_gave_up_has_its_files(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "persistent://public/default/slow"
    client.subscribe(topic, "keeps").close()
    publish(client, topic, [Sale(number=number, amount=1.0) for number in range(10)])
    late: list[tuple[Any, ...]] = []

    def timed_out(*given: Any) -> None:
        late.append(given)
        raise CommitStateUnknownException

    with monkeypatch.context() as patched:
        patched.setattr(topic_lake, "committed", timed_out)
        with pytest.raises(CommitStateUnknownException):
            lake_in(tmp_path).keep(topic, source(pulsar_broker))
    committed(*late[0])
    kept = lake_in(tmp_path).keep(topic, source(pulsar_broker))
    assert (kept.rows, len(rows_of(tmp_path, kept))) == (0, 10)


def test_a_run_that_is_ended_just_after_its_commit_ends(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "persistent://public/default/ended"
    client.subscribe(topic, "keeps").close()
    publish(client, topic, [Sale(number=1, amount=1.0)])

    def ended(*given: Any) -> None:
        committed(*given)
        raise SystemExit(143)  # SIGTERM

    with monkeypatch.context() as patched:
        patched.setattr(topic_lake, "committed", ended)
        with pytest.raises(SystemExit):
            lake_in(tmp_path).keep(topic, source(pulsar_broker))
    assert lake_in(tmp_path).keep(topic, source(pulsar_broker)).rows == 0


def test_small_files_become_one_and_old_snapshots_go(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    topic = "persistent://public/default/small"
    client.subscribe(topic, "keeps").close()
    lake = lake_in(tmp_path)
    for record in (Sale, SaleWithCity, SaleWithCity):
        publish(client, topic, [record(number=number, amount=1.0) for number in range(5)])
        kept = lake.keep(topic, source(pulsar_broker))
    before = rows_of(tmp_path, kept)
    table = lake.table(topic)
    assert table is not None
    found = maintain(table, 1 << 20, timedelta(0))
    assert (found.merged, found.files) == (3, 1)
    assert rows_of(tmp_path, kept) == before
    assert len(table.snapshots()) == 1
    assert len(list(tmp_path.rglob("data/*/*.parquet"))) == 1
    publish(client, topic, [Sale(number=1, amount=1.0)])
    assert lake.keep(topic, source(pulsar_broker)).rows == 1, "the progress outlives the snapshots"


def test_files_that_a_killed_run_left_are_removed_a_day_later(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    topic = "persistent://public/default/strays"
    client.subscribe(topic, "keeps").close()
    lake = lake_in(tmp_path)
    publish(client, topic, [Sale(number=1, amount=1.0)])
    kept = lake.keep(topic, source(pulsar_broker))
    (file,) = tmp_path.rglob("data/*/*.parquet")
    old, young, others = "0" * 32, "1" * 32, "7-of-another-program"
    for name, age in ((old, 100_000), (young, 0), (others, 100_000)):
        stray = file.parent.parent / name / file.name
        stray.parent.mkdir()
        stray.write_bytes(file.read_bytes())
        os.utime(stray, (file.stat().st_mtime - age,) * 2)
    table = lake.table(topic)
    assert table is not None
    assert maintain(table, 1 << 20, timedelta(days=7)).removed == 1
    assert {path.parent.name for path in tmp_path.rglob("data/*/*.parquet")} == {young, others, file.parent.name}
    assert len(rows_of(tmp_path, kept)) == 1


KILLS = int(os.environ.get("LAKE_KILLS", "2"))  # `make lake-kills` asks for more


@pytest.mark.slow
@pytest.mark.timeout(60 + 60 * KILLS)
def test_a_follower_that_is_killed_again_and_again_adds_every_message_once(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path
) -> None:
    topic = "persistent://public/default/followed"
    client.subscribe(topic, "keeps").close()
    lake = tmp_path / "lake"
    for iteration in range(KILLS):
        publish(client, topic, [Sale(number=number, amount=1.0) for number in range(50)])
        with following(pulsar_broker, topic, lake) as follower:
            grown = count_of(lake) + 1
            wait_until(lambda least=grown: count_of(lake) >= least, 60)  # type: ignore[misc]  # binds now
            files = len(list(lake.rglob("*.parquet")))
            publish(client, topic, [Sale(number=number, amount=1.0) for number in range(50)])
            if iteration % 2:  # between the upload and the commit, or just after it; otherwise while it reads or before
                wait_until(lambda known=files: len(list(lake.rglob("*.parquet"))) > known, 60)  # type: ignore[misc]  # binds now
            follower.kill()
    kept = lake_in(lake).keep(topic, source(pulsar_broker))
    found = rows_of(lake, kept)
    assert len(found) == len(set(found)) == 100 * KILLS


@contextmanager
def following(broker: EmbeddedBroker, topic: str, lake: Path) -> Iterator["subprocess.Popen[bytes]"]:
    urls = ("--admin-url", broker.http_url, "--url", broker.service_url)
    command = (sys.executable, "-m", "pulsarctl", *urls, "ops", "lake", topic, "--to", str(lake))
    process = subprocess.Popen((*command, "--follow", "--interval", "100ms"), stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(30)


def count_of(lake: Path) -> int:
    """Rows of the table; 0 before there is one."""
    table = lake_in(lake).table("persistent://public/default/followed") if lake.exists() else None
    return 0 if table is None else table.scan().count()
