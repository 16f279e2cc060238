"""`ops export` and `ops import` on the command line."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pulsar
import pyarrow.parquet as pq
import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.admin.client import AdminClient
from pulsarctl.commands.ops.export_plan import require_arrow
from pulsarctl.errors import CliError
from pulsarctl.settings.settings import Settings
from pulsarctl.transfer import manifest
from pulsarctl.transfer.places import Directory
from tests.cli.transfer.moved_topics import by_key, command, failed, ops, run
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import PUBLISH_TIME, producer, send
from tests.support.runner import Cli


def publish(client: pulsar.Client, topic: str, count: int, first: int = 0) -> None:
    producer = client.create_producer(topic, batching_enabled=True, batching_max_messages=10, block_if_queue_full=True)
    for number in range(first, first + count):
        producer.send_async(f"v{number}".encode(), None, partition_key=f"k{number % 5}")
    producer.flush()
    producer.close()


def publish_at(broker: EmbeddedBroker, topic: str, *hours: int) -> None:
    """One message for each: published that many hours after `PUBLISH_TIME`, and stored in this order."""
    with RawClient(broker.service_url) as client:
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        for number, hour in enumerate(hours):
            published = {"publish_time": PUBLISH_TIME + hour * 3_600_000}
            client.send(send(number, b"%d" % hour, metadata=published))
            client.expect(BaseCommand.SEND_RECEIPT)


def exported(directory: Path) -> list[bytes]:
    found = manifest.load(Directory(directory))
    assert found is not None
    return [value for each in found.files for value in pq.read_table(directory / each.path)["value"].to_pylist()]


def test_an_incremental_export_has_each_message_once(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 30)
    assert ops(pulsar_broker, "export", topic, tmp_path / "out", "--incremental")["messages"] == 30
    publish(client, topic, 12, first=30)
    assert ops(pulsar_broker, "export", topic, tmp_path / "out", "--incremental")["messages"] == 12
    assert ops(pulsar_broker, "export", topic, tmp_path / "out", "--incremental")["messages"] == 0
    assert exported(tmp_path / "out") == [f"v{number}".encode() for number in range(42)]


def test_an_incremental_run_deletes_the_files_of_a_run_that_did_not_end(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 3)
    ops(pulsar_broker, "export", topic, tmp_path, "--incremental", "--by", "day")
    (left,) = tmp_path.glob("day=*/part-*.parquet")
    for name in ("part-0001-000000-0000.parquet", ".part-0001-000001-0000.parquet.0badcafe.tmp"):
        left.with_name(name).write_bytes(left.read_bytes())
    ops(pulsar_broker, "export", topic, tmp_path, "--incremental", "--by", "day")
    assert list(tmp_path.rglob("*part-*")) == [left]


def test_an_existing_export_is_refused_and_kept(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 3)
    ops(pulsar_broker, "export", topic, tmp_path)
    code, text = failed(pulsar_broker, "export", topic, tmp_path)
    assert (code, "--overwrite" in text) == (6, True)
    assert exported(tmp_path) == [b"v0", b"v1", b"v2"]


def test_overwriting_deletes_only_files_of_an_export(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 1)
    (tmp_path / "thesis.txt").write_text("mine")
    code, text = failed(pulsar_broker, "export", topic, tmp_path, "--overwrite")
    assert (code, "thesis.txt" in text) == (6, True)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_dry_run_writes_nothing(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 30)
    found = ops(pulsar_broker, "export", topic, tmp_path / "out", "--dry-run")
    assert (found["engine"], found["entries"], found["tasks"]) == ("local", 3, 1)
    assert not (tmp_path / "out").exists()


def test_a_full_scan_finds_messages_that_were_stored_hours_late(
    pulsar_broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> None:
    publish_at(pulsar_broker, topic, 9, 1, 2, 10)
    until = ("--end", f"@{PUBLISH_TIME + 5 * 3_600_000}", "--full-scan")
    assert ops(pulsar_broker, "export", topic, tmp_path / "out", *until)["messages"] == 2
    assert exported(tmp_path / "out") == [b"1", b"2"]
    (values,) = [each for each in ops(pulsar_broker, "profile", topic, *until) if each["column"] == "value"]
    assert values["rows"] == 2


def test_typed_values_are_columns(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    class Order(pulsar.schema.Record):  # type: ignore[misc]  # the client ships no types
        item = pulsar.schema.String()
        price = pulsar.schema.Integer()

    producer = client.create_producer(topic, schema=pulsar.schema.AvroSchema(Order))
    producer.send(Order(item="tea", price=4))
    ops(pulsar_broker, "export", topic, tmp_path, "--typed", "-f", "jsonl")
    (file,) = tmp_path.glob("*.jsonl")
    assert json.loads(file.read_text())["value"] == {"item": "tea", "price": 4}
    assert "values are decoded" in failed(pulsar_broker, "import", tmp_path, f"{topic}-copy")[1]


def test_a_value_that_cannot_be_decoded_is_imported_as_it_was(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    class Order(pulsar.schema.Record):  # type: ignore[misc]  # the client ships no types
        price = pulsar.schema.Integer()

    producer = client.create_producer(topic, schema=pulsar.schema.JsonSchema(Order))
    for price in (4, 3_000_000_000):  # the second one is no int of Avro
        producer.send(Order(price=price))
    outcome = run(pulsar_broker, "export", topic, tmp_path, "--typed")
    assert "1 value cannot be decoded" in outcome.stderr
    ops(pulsar_broker, "import", tmp_path, f"{topic}-copy")
    reader = client.create_reader(f"{topic}-copy", pulsar.MessageId.earliest)
    assert [json.loads(reader.read_next(20_000).data())["price"] for _ in range(2)] == [4, 3_000_000_000]


def test_schemas_travel_with_the_values(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    class Order(pulsar.schema.Record):  # type: ignore[misc]  # the client ships no types
        item = pulsar.schema.String()

    schema = pulsar.schema.AvroSchema(Order)
    client.create_producer(topic, schema=schema).send(Order(item="tea"))
    ops(pulsar_broker, "export", topic, tmp_path)
    ops(pulsar_broker, "import", tmp_path, f"{topic}-copy")
    reader = client.create_reader(f"{topic}-copy", pulsar.MessageId.earliest, schema=schema)
    assert reader.read_next(20_000).value().item == "tea"


def test_an_import_of_the_same_data_is_refused_until_there_is_more(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 10)
    ops(pulsar_broker, "export", topic, tmp_path, "--incremental")
    assert ops(pulsar_broker, "import", tmp_path, f"{topic}-copy")["sent"] == 10
    code, text = failed(pulsar_broker, "import", tmp_path, f"{topic}-copy")
    assert (code, "--again" in text) == (6, True)
    publish(client, topic, 4, first=10)
    ops(pulsar_broker, "export", topic, tmp_path, "--incremental")
    assert ops(pulsar_broker, "import", tmp_path, f"{topic}-copy")["sent"] == 4
    assert by_key(client, f"{topic}-copy") == by_key(client, topic)


def test_data_that_was_imported_by_another_url_of_the_cluster_is_refused(
    pulsar_broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text('{"value": "a"}\n')
    assert ops(pulsar_broker, "import", tmp_path / "in.jsonl", topic)["messages"] == 1
    there = pulsar_broker.service_url.replace("localhost", "127.0.0.1")
    assert there != pulsar_broker.service_url
    cli = Cli(tmp_path, pulsar_broker.http_url, there)
    again = cli("ops", "import", str(tmp_path / "in.jsonl"), topic)
    assert (again.exit_code, "is already imported" in again.stderr) == (6, True)
    assert cli("ops", "import", str(tmp_path / "in.jsonl"), f"{topic}-2").exit_code == 0


def test_files_of_others_need_only_values(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("key,value,event_time\na,1,2026-01-01T00:00:00Z\nb,2,\n")
    ops(pulsar_broker, "import", file, topic)
    found = by_key(client, topic)
    assert [(key, rows[0][0], rows[0][2]) for key, rows in found.items()] == [
        ("a", b"1", 1_767_225_600_000),
        ("b", b"2", 0),
    ]


def kill_import_at(broker: EmbeddedBroker, admin: AdminClient, source: Path, topic: str, least: int) -> None:
    """Kills an import when the topic has `least` messages."""
    with subprocess.Popen(command(broker, "import", source, topic, "--rate", "1500")) as running:
        try:
            wait_until(lambda: admin.topics.stats(topic)["msgInCounter"] >= least, 60)
        finally:
            running.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("count", [1, 50])
@pytest.mark.parametrize("time_ms", [253_402_300_800_000, (1 << 64) - 1])
def test_a_message_of_a_time_after_the_year_9999_is_refused_and_named(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path, time_ms: int, count: int
) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    producer.send(b"last", event_timestamp=253_402_300_799_999)
    for _ in range(count):
        place = producer.send(b"later", event_timestamp=time_ms)
    assert place is not None
    code, text = failed(pulsar_broker, "export", topic, tmp_path / "out")
    assert (code, "its event_time is after the year 9999" in text) == (1, True)
    assert ops(pulsar_broker, "export", topic, tmp_path / "out", "--end", f"{place.ledger_id()}:0")["messages"] == 1
    ops(pulsar_broker, "import", tmp_path / "out", f"{topic}-copy")
    assert by_key(client, f"{topic}-copy")[""][0][2] == 253_402_300_799_999


@pytest.mark.slow
def test_a_killed_import_continues_without_duplicates(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    copy = f"{topic}-copy"
    publish(client, topic, 3000)
    ops(pulsar_broker, "export", topic, tmp_path / "out", "--by", "key", "--key-groups", "3")
    admin = AdminClient(Settings(web_url=pulsar_broker.http_url))
    admin.topics.create(copy)
    admin.topics.set_policy(copy, "deduplicationEnabled", True)
    for least in (200, 1200):
        kill_import_at(pulsar_broker, admin, tmp_path / "out", copy, least)
    done = ops(pulsar_broker, "import", tmp_path / "out", copy)
    admin.close()
    assert done["messages"] == 3000
    assert done["storedBefore"] >= 200, done
    assert by_key(client, copy) == by_key(client, topic)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_writes_the_files_that_the_local_engine_writes(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    publish(client, topic, 3000)
    local = ops(pulsar_broker, "export", topic, tmp_path / "local", "--engine", "local")
    words = command(pulsar_broker, "export", topic, tmp_path / "spark", "--engine", "spark", "--master", "local[1]")
    spark = json.loads(subprocess.run(words, stdout=subprocess.PIPE, timeout=110, check=True).stdout)
    assert (spark.pop("engine"), local.pop("engine")) == ("spark", "local")
    assert {**spark, "directory": ""} == {**local, "directory": ""}
    assert exported(tmp_path / "spark") == exported(tmp_path / "local")


@pytest.mark.parametrize(("library", "extra"), [("pyarrow", "offload"), ("numpy", "sql")])
def test_without_a_library_the_hint_names_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(CliError, match=f"{library} is not installed") as caught:
        require_arrow("export")
    assert caught.value.hint == f"run pip install 'pulsarctl[{extra}]'"
