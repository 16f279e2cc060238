"""`pulsarctl ops sql` with the local engine: names, formats, plans, errors."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pyarrow.parquet as pq
import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.terminal import on_a_terminal
from tests.support.runner import Cli, Outcome

TOPIC = "persistent://public/default/orders"
PARTITIONS = 3
ORDERS = 30
CHUNKED = 12_000_000  # in three chunks


class Order(pulsar.schema.Record):  # type: ignore[misc]  # the client ships no types
    item = pulsar.schema.String()
    price = pulsar.schema.Double()


@pytest.fixture(scope="module")
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    """`orders` has 30 typed orders in three partitions; `notes` has bytes; `empty` has nothing."""
    pulsar_broker.create_partitioned_topic(TOPIC, PARTITIONS)
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    orders = client.create_producer("orders", schema=pulsar.schema.AvroSchema(Order))
    for i in range(ORDERS):
        orders.send_async(Order(item=f"item-{i % 3}", price=i / 2), None, partition_key=f"k{i}")
    orders.flush()
    notes = client.create_producer("notes", batching_enabled=False)
    notes.send('<b>é</b>, "x"'.encode(), properties={"a": "1"}, event_timestamp=1_700_000_000_000)
    notes.send(b"\xff\x00", partition_key="k")
    client.create_producer("empty").close()
    yield client
    client.close()


@pytest.fixture(scope="module")
def cli(client: pulsar.Client, pulsar_broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(tmp_path_factory.mktemp("home"), pulsar_broker.http_url, pulsar_broker.service_url)


def sql(cli: Cli, *words: str) -> str:
    outcome = cli("ops", "sql", *words)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stdout


def failed(cli: Cli, *words: str) -> Outcome:
    outcome = cli("ops", "sql", *words)
    assert outcome.exit_code != 0
    return outcome


@pytest.mark.parametrize("name", ["orders", '"public/default/orders"', f'"{TOPIC}"', "public.default.orders"])
def test_a_topic_is_a_table_with_its_partitions(cli: Cli, name: str) -> None:
    assert json.loads(sql(cli, f"SELECT count(*) AS n, max(value.price) AS p FROM {name}", "-o", "json")) == [
        {"n": ORDERS, "p": (ORDERS - 1) / 2}
    ]


def test_a_topic_without_messages_has_no_rows(cli: Cli) -> None:
    assert sql(cli, "SELECT * FROM empty", "-o", "jsonl") == ""


NOTES = "SELECT entry_id, value, key, properties, event_time FROM notes ORDER BY entry_id"


def test_json_has_typed_values(cli: Cli) -> None:
    assert json.loads(sql(cli, NOTES, "-o", "json")) == [
        {
            "entry_id": 0,
            "value": '<b>é</b>, "x"',
            "key": None,
            "properties": {"a": "1"},
            "event_time": "2023-11-14T22:13:20Z",
        },
        {"entry_id": 1, "value": "/wA=", "key": "k", "properties": {}, "event_time": None},
    ]


def test_a_pipe_gets_csv(cli: Cli) -> None:
    heading, first, second = csv.reader(io.StringIO(sql(cli, NOTES)))
    assert heading == ["entry_id", "value", "key", "properties", "event_time"]
    assert first == ["0", '<b>é</b>, "x"', "", '{"a": "1"}', "2023-11-14T22:13:20Z"]
    assert second == ["1", "/wA=", "k", "{}", ""]


def test_a_table_is_aligned(cli: Cli) -> None:
    query = "SELECT value.item, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1"
    lines = sql(cli, query, "-o", "table").splitlines()
    assert lines == ["item    n", "item-0  10", "item-1  10", "item-2  10"]


def test_a_terminal_is_told_which_engine_answered(pulsar_broker: EmbeddedBroker, cli: Cli) -> None:
    urls = ["--admin-url", pulsar_broker.http_url, "--url", pulsar_broker.service_url]
    command = [sys.executable, "-m", "pulsarctl", *urls, "ops", "sql", "SELECT 1 AS one FROM notes LIMIT 1"]
    shown = on_a_terminal(command, environ={"HOME": str(cli.environ["HOME"])})
    without_progress = shown.replace("\x1b[K", "").split()
    assert " ".join(without_progress[-6:]) == "one 1 DuckDB ran the query"


def test_a_script_is_not_told_which_engine_answered(cli: Cli) -> None:
    assert cli("ops", "sql", "SELECT 1 AS one FROM notes LIMIT 1", "-o", "jsonl") == Outcome(0, '{"one":1}\n', "")


def test_parquet_keeps_types_and_order(cli: Cli, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from pulsarctl.shell.root import application

    query = "SELECT key, value, publish_time FROM orders ORDER BY value.price"
    made = CliRunner().invoke(application(), ["ops", "sql", query, "-o", "parquet"], env=cli.environ)
    found = pq.read_table(io.BytesIO(made.stdout_bytes))
    assert [row["price"] for row in found["value"].to_pylist()] == [i / 2 for i in range(ORDERS)]
    assert str(found.schema.field("publish_time").type) == "timestamp[us, tz=UTC]"


def test_a_page_escapes_what_messages_contain(cli: Cli) -> None:
    page = sql(cli, NOTES, "-o", "html")
    assert "&lt;b&gt;é&lt;/b&gt;" in page
    assert not re.search(r"<script|<b>|<link|src=", page)
    assert page.count("<tr>") == 3


def test_a_query_comes_from_a_file_or_stdin(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "query.sql"
    file.write_text("-- how many\nSELECT count(*) AS n\nFROM orders;\n")
    assert sql(cli, "--file", str(file)) == f"n\n{ORDERS}\n"
    outcome = cli("ops", "sql", "--file", "-", stdin="SELECT count(*) AS n FROM orders")
    assert outcome.stdout == f"n\n{ORDERS}\n"


def test_explain_shows_each_reference_with_its_own_bounds_and_columns(cli: Cli) -> None:
    query = (
        "SELECT count(*) FROM orders a JOIN orders b ON a.key = b.key "
        "WHERE a.partition = 1 AND a.publish_time > '2026-01-01' AND b.value.price > 3"
    )
    plan = json.loads(sql(cli, query, "--explain", "-o", "json"))
    first, second = plan["references"]
    assert (plan["engine"], first["topic"], second["topic"]) == ("local", TOPIC, TOPIC)
    assert "topic_0" in plan["statement"]
    assert (first["publishedFrom"], first["partitionsFrom"], first["ledgers"]) == ("2026-01-01T00:00:00.000Z", 1, 1)
    assert (second["publishedFrom"], second["partitionsFrom"], second["ledgers"]) == (None, None, PARTITIONS)
    assert 0 < first["entries"] < second["entries"]
    assert first["columns"] == ["partition", "key", "publish_time", "value"]


def test_a_dry_run_shows_the_plan_and_reads_nothing(cli: Cli) -> None:
    plan = json.loads(sql(cli, "SELECT * FROM notes", "--dry-run", "-o", "json"))
    assert (plan["engine"], plan["topics"], plan["entries"], plan["tasks"]) == ("local", 1, 2, 1)


def test_bounds_save_reading_and_change_no_row(cli: Cli) -> None:
    query = "SELECT key FROM orders WHERE partition = 2 ORDER BY key"
    saved = json.loads(sql(cli, query, "--dry-run", "-o", "json"))["entries"]
    whole = json.loads(sql(cli, query, "--dry-run", "-o", "json", "--full-scan"))["entries"]
    assert saved < whole
    assert sql(cli, query) == sql(cli, query, "--full-scan")


def test_a_row_is_found_by_its_message_id(cli: Cli) -> None:
    (row,) = json.loads(sql(cli, "SELECT message_id, key FROM orders WHERE value.price = 7", "-o", "json"))
    query = f"SELECT key, value.price AS p FROM orders WHERE message_id = '{row['message_id']}'"
    assert json.loads(sql(cli, query, "-o", "json")) == [{"key": row["key"], "p": 7.0}]
    assert json.loads(sql(cli, query, "--dry-run", "-o", "json"))["entries"] == 1


def test_times_bound_what_is_read(cli: Cli) -> None:
    rows = "SELECT count(*) AS n FROM orders WHERE publish_time"
    assert sql(cli, f"{rows} > now() - interval 1 hour") == f"n\n{ORDERS}\n"
    assert sql(cli, f"{rows} <= now() - interval 1 hour") == "n\n0\n"


def test_a_chunked_message_is_found_by_the_id_of_its_last_chunk(cli: Cli, client: pulsar.Client) -> None:
    producer = client.create_producer("large", chunking_enabled=True, batching_enabled=False)
    producer.send(b"x" * CHUNKED)
    (row,) = json.loads(sql(cli, "SELECT entry_id, octet_length(value) AS n FROM large", "-o", "json"))
    found = sql(cli, f"SELECT octet_length(value) AS n FROM large WHERE entry_id = {row['entry_id']}", "-o", "json")
    assert (row["entry_id"], json.loads(found)) == (2, [{"n": CHUNKED}])


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("SELECT * FROM nowhere",), 3, "nowhere"),
        (("SELECT nothing FROM orders",), 2, 'cannot run the query: Referenced column "nothing" not found'),
        (("SELECT nothing FROM orders",), 2, "hint: columns of orders: topic, partition, "),
        (("SELECT o.nothing FROM orders o",), 2, "hint: columns of orders: topic, partition, "),
        (("SELECT value.pric FROM orders",), 2, 'hint: Candidate Entries: "'),
        (("SELECT cuont(key) FROM orders",), 2, 'hint: Did you mean "count"?'),
        (("SELEC",), 2, "cannot run SELEC: ops sql only reads"),
        (("SELECT FROM WHERE",), 2, "cannot read the query"),
        (("DELETE FROM orders",), 2, "cannot run DELETE: ops sql only reads"),
        (("SELECT * FROM '/etc/passwd'",), 2, "'/etc/passwd' is not a topic name"),
        (("SELECT * FROM read_text('/etc/passwd')",), 2, "cannot run the query: Cannot access file"),
        (
            ("SELECT * FROM read_csv('x')", "--engine", "spark"),
            2,
            "cannot run the query: Spark has no function read_csv",
        ),
        (("SELECT cuont(key) FROM orders", "--engine", "spark"), 2, "Spark has no function cuont"),
        ((), 2, "specify one query"),
        (("SELECT 1", "--file", "x"), 2, "specify one query"),
        (("--file", "/no/such/file"), 2, "cannot read /no/such/file"),
        (("SELECT 1", "-o", "yaml"), 2, "cannot print rows as yaml"),
        (("SELECT 9223372036854775807 + entry_id + 1 FROM notes",), 1, "the query failed: Overflow in addition"),
        (("SELECT 1", "--engine", "auto"), 2, "'auto' is not one of"),
    ],
)
def test_an_error_says_what_is_wrong(cli: Cli, words: tuple[str, ...], code: int, error: str) -> None:
    outcome = failed(cli, *words)
    assert (outcome.exit_code, error in outcome.stderr) == (code, True), outcome.stderr


@pytest.mark.parametrize("library", ["duckdb", "numpy"])
def test_without_a_library_one_line_says_what_to_install(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    outcome = failed(cli, "SELECT 1")
    assert outcome.stderr.splitlines() == [
        f"error: cannot run SQL: {library} is not installed",
        "hint: run pip install 'pulsarctl[sql]'",
    ]


def test_the_spark_submit_command_is_printed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pulsarctl", "ops", "sql", "SELECT 1", "--spark-submit"])
    printed = sql(cli, "SELECT 1", "--spark-submit", "--master", "spark://m:7077")
    assert printed.startswith("spark-submit --master spark://m:7077")
    assert printed.rstrip().endswith("ops sql 'SELECT 1' --engine spark")


def test_the_spark_submit_command_contains_no_secrets(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [
        *("--conf", "spark.hadoop.fs.s3a.secret.key=hunter2", "--key-file", "data:;base64,aHVudGVyMg=="),
        *("--tier-store", "s3://AKIA:hunter2@bucket/prefix"),
    ]
    monkeypatch.setattr(sys, "argv", ["pulsarctl", "ops", "sql", "SELECT 1", "--spark-submit", *words])
    printed = sql(cli, "SELECT 1", "--spark-submit", *words)
    assert [each for each in ("hunter2", "aHVudGVyMg") if each in printed] == []
    assert "s3://***@bucket/prefix" in printed
    assert printed.count("spark.hadoop.fs.s3a.secret.key=***") == 2
