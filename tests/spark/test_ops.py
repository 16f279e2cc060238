"""`pulsarctl ops backlog` on the command line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest
from typer.testing import CliRunner

from broker_core.testing import EmbeddedBroker
from pulsarctl.shell.root import application

PULSARCTL = Path(sys.executable).with_name("pulsarctl")
TOPIC = "persistent://public/default/orders"


@pytest.fixture(scope="module")
def backlog(pulsar_broker: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    """`s` has acknowledged one of three messages, and `idle` none."""
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    consumers = {name: client.subscribe(TOPIC, name) for name in ("s", "idle")}
    producer = client.create_producer(TOPIC, batching_enabled=False)
    last = [producer.send(value) for value in (b"a", b"b", b"c")][-1]
    consumers["s"].acknowledge(consumers["s"].receive(10_000))
    consumers["idle"].acknowledge_cumulative(last)
    client.close()
    yield pulsar_broker


def pulsarctl(broker: EmbeddedBroker, *arguments: str) -> subprocess.CompletedProcess[str]:
    where = ("--admin-url", broker.http_url, "--url", broker.service_url, "--no-context")
    return subprocess.run(
        [PULSARCTL, *where, "ops", "backlog", *arguments, "--master", "local[1]"],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.spark
@pytest.mark.slow
def test_the_report_of_a_namespace_is_pure_json(backlog: EmbeddedBroker) -> None:
    answer = pulsarctl(backlog, "public/default", "-o", "json", "--engine", "spark")
    assert answer.returncode == 0, answer.stderr
    report = json.loads(answer.stdout)
    assert answer.stderr == ""
    assert (report["exactPer"], report["engine"], report["tasks"]) == ("message", "spark", 1)
    idle, waiting = report["subscriptions"]
    assert (idle["subscription"], idle["messages"], idle["oldestPublishTime"]) == ("idle", 0, None)
    assert (waiting["topic"], waiting["subscription"]) == (TOPIC, "s")
    assert (waiting["messages"], waiting["entries"]) == (2, 2)
    assert waiting["messagesByAge"]["1m"] == 2


def test_the_table_has_a_line_for_each_subscription(backlog: EmbeddedBroker) -> None:
    lines = pulsarctl(backlog, "orders", "-o", "table", "-s", "s").stdout.splitlines()
    assert lines[4].split() == ["SUBSCRIPTION", "MESSAGES", "SIZE", "OLDEST", "EMPTY", "IN", "VERDICT"]
    assert lines[5].split()[:2] == ["s", "2"]
    assert max(map(len, lines)) <= 80


def test_json_lines_have_a_line_for_each_subscription(backlog: EmbeddedBroker) -> None:
    answer = pulsarctl(backlog, "orders", "-o", "jsonl")
    idle, waiting = map(json.loads, answer.stdout.splitlines())
    assert (idle["subscription"], idle["messages"], idle["exactPer"]) == ("idle", 0, "message")
    assert (waiting["subscription"], waiting["messages"]) == ("s", 2)
    assert waiting["takenAt"] >= waiting["oldestPublishTime"]


def test_a_missing_topic_exits_with_3(pulsar_broker: EmbeddedBroker) -> None:
    pytest.importorskip("pyspark")
    result = CliRunner().invoke(application(), ["--admin-url", pulsar_broker.http_url, "ops", "backlog", "nowhere"])
    assert result.exit_code == 3
    assert "nowhere" in result.stderr


def test_auto_counts_a_small_backlog_locally(backlog: EmbeddedBroker) -> None:
    answer = pulsarctl(backlog, "orders", "-o", "json", "-s", "s")
    assert (answer.stderr, json.loads(answer.stdout)["engine"]) == ("", "local")


def test_without_pyspark_one_line_says_what_to_install(
    backlog: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = CliRunner().invoke(
        application(),
        [
            "--admin-url",
            backlog.http_url,
            "--url",
            backlog.service_url,
            "ops",
            "backlog",
            "orders",
            "--engine",
            "spark",
        ],
    )
    assert (result.exit_code, result.stdout) == (1, "")
    problem, hint = result.stderr.splitlines()
    assert problem == "error: this command runs on Spark, and pyspark is not installed"
    assert "pip install 'pulsarctl[spark]', or 'pulsarctl[spark,java]'" in hint
