"""`pulsarctl ops backlog` on the command line."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pulsar
import pytest
from typer.testing import CliRunner

from broker_core.testing import EmbeddedBroker
from pulsarctl.shell.root import application
from tests.cli.spark.processes import MARK, marked, needs_proc
from tests.support.condition import wait_until

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


def command(broker: EmbeddedBroker, *arguments: str) -> list[str]:
    where = ("--admin-url", broker.http_url, "--url", broker.service_url, "--no-context")
    return [str(PULSARCTL), *where, "ops", "backlog", *arguments, "--master", "local[1]"]


def pulsarctl(broker: EmbeddedBroker, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(broker, *arguments), capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.spark
@pytest.mark.slow
def test_the_report_of_a_namespace_is_pure_json(backlog: EmbeddedBroker) -> None:
    answer = pulsarctl(backlog, "public/default", "--details", "-o", "json", "--engine", "spark")
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


@needs_proc
@pytest.mark.spark
@pytest.mark.slow
def test_ctrl_c_cancels_the_job_and_leaves_the_topic_as_it_was(backlog: EmbeddedBroker, tmp_path: Path) -> None:
    before = subscriptions_of(backlog)
    process = subprocess.Popen(
        command(backlog, "orders", "--engine", "spark"),
        env=os.environ | {MARK: str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any("SparkSubmit" in line for line in marked(str(tmp_path))), seconds=60)
    process.send_signal(signal.SIGINT)
    answer = process.communicate(timeout=60)
    assert (process.returncode, answer) == (130, ("", ""))
    wait_until(lambda: not marked(str(tmp_path)), seconds=60)
    assert subscriptions_of(backlog) == before


def subscriptions_of(broker: EmbeddedBroker) -> dict[str, tuple[int, int]]:
    """The backlog and the unacknowledged messages of each."""
    with urlopen(f"{broker.http_url}/admin/v2/persistent/public/default/orders/stats", timeout=30) as answer:
        stats = json.load(answer)["subscriptions"]
    return {name: (each["msgBacklog"], each["unackedMessages"]) for name, each in stats.items()}


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
