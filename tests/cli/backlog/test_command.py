"""`pulsarctl ops backlog` with the local engine: targets, files, snapshots."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("pyarrow")

from broker_core.testing import EmbeddedBroker
from pulsarctl.shell.root import application

ORDERS = "persistent://public/default/orders"


@pytest.fixture(scope="module")
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    """`orders` and `returns` have a subscription `s` with one message each; `orders` has three partitions."""
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    pulsar_broker.create_partitioned_topic(ORDERS, 3)
    for topic in ("orders", "returns"):
        client.subscribe(topic, "s").close()
        publish(client, topic)
    yield client
    client.close()


def publish(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    producer.send(b"value", partition_key="k")
    producer.close()


def backlog(broker: EmbeddedBroker, *arguments: str) -> Result:
    where = ["--admin-url", broker.http_url, "--url", broker.service_url, "--no-context"]
    return CliRunner().invoke(application(), [*where, "ops", "backlog", *arguments], catch_exceptions=False)


def topics(result: Result) -> list[str]:
    return [each["topic"].rpartition("/")[2] for each in json.loads(result.stdout)["subscriptions"]]


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("orders", ["orders"]),
        ("public/default", ["orders", "returns"]),
        ("public/*", ["orders", "returns"]),
        ("public/default/ret*", ["returns"]),
        ("persistent://public/default/orders", ["orders"]),
    ],
)
def test_a_target_is_a_topic_a_namespace_or_a_pattern(
    pulsar_broker: EmbeddedBroker, target: str, found: list[str]
) -> None:
    assert topics(backlog(pulsar_broker, target, "-o", "json")) == found


@pytest.mark.usefixtures("client")
def test_a_pattern_without_a_match_exits_with_3(pulsar_broker: EmbeddedBroker) -> None:
    result = backlog(pulsar_broker, "public/default/nothing-*")
    assert (result.exit_code, result.stderr) == (3, "error: no persistent topic matches 'public/default/nothing-*'\n")


@pytest.mark.usefixtures("client")
def test_the_report_has_each_partition(pulsar_broker: EmbeddedBroker) -> None:
    (found,) = json.loads(backlog(pulsar_broker, "orders", "--details", "-o", "json").stdout)["subscriptions"]
    assert (found["messages"], sorted(each["messages"] for each in found["partitions"])) == (1, [0, 0, 1])
    assert found["partitionSkew"] == 3.0
    assert found["keys"]["top"] == [{"key": "k", "messages": 1, "share": 1.0}]


@pytest.mark.usefixtures("client")
def test_json_without_details_is_what_a_user_acts_on(pulsar_broker: EmbeddedBroker) -> None:
    documents = {
        words: json.loads(backlog(pulsar_broker, "orders", *words, "-o", "json").stdout)["subscriptions"]
        for words in ((), ("--details",), ("--ttl", "1h", "--quota", "1G"))
    }
    ((short,), (full,), (limited,)) = documents.values()
    assert list(short) == [
        *("topic", "subscription", "verdict", "reason", "messages", "entries", "bytes", "oldestPublishTime"),
        *("type", "consumers", "unackedMessages", "rates", "secondsToEmpty", "trend"),
    ]
    assert short.keys() < full.keys()
    assert limited["whatIf"] == {
        "chosenTtl": {"seconds": 3600.0, "messages": 0, "bytes": 0},
        "quota": {"limit": 1 << 30, "messages": 0, "bytes": 0},
    }


@pytest.mark.usefixtures("client")
def test_a_dry_run_reads_nothing_and_shows_the_plan(pulsar_broker: EmbeddedBroker) -> None:
    plan = json.loads(backlog(pulsar_broker, "orders", "--dry-run", "-o", "json").stdout)
    assert (plan["engine"], plan["topics"], plan["entries"], plan["tasks"]) == ("local", 3, 1, 1)


def test_the_next_report_after_a_snapshot_shows_the_trend(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    client.subscribe("trend", "s").close()
    (first,) = json.loads(backlog(pulsar_broker, "trend", "--save", "-o", "json").stdout)["subscriptions"]
    publish(client, "trend")
    (second,) = json.loads(backlog(pulsar_broker, "trend", "-o", "json").stdout)["subscriptions"]
    assert first["trend"] is None
    assert second["trend"]["messages"] == 1


def test_a_damaged_snapshot_is_an_error_that_names_the_file(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    client.subscribe("damaged", "s").close()
    backlog(pulsar_broker, "damaged", "--save")
    (file,) = tmp_path.rglob("*.jsonl")
    file.write_text("{}\n")
    result = backlog(pulsar_broker, "damaged")
    assert result.exit_code == 1
    assert f"cannot read the snapshots in {file}" in result.stderr


@pytest.mark.usefixtures("client")
def test_without_pyarrow_one_line_says_what_to_install(
    pulsar_broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = backlog(pulsar_broker, "orders")
    assert (result.exit_code, result.stderr.splitlines()) == (
        1,
        [
            "error: cannot count a backlog: pyarrow is not installed",
            "hint: run pip install 'pulsarctl[offload]'",
        ],
    )


@pytest.mark.usefixtures("client")
def test_a_page_is_written_beside_the_output(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    result = backlog(pulsar_broker, "orders", "--details", "-o", "json", "--html", str(file))
    found = re.search(r'id="report">(.*?)</script>', file.read_text(), re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["subscriptions"] == json.loads(result.stdout)["subscriptions"]


@pytest.mark.usefixtures("client")
def test_a_page_shows_its_command_without_secrets(
    pulsar_broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.html"
    secret = ("--key-file", "data:;base64,aHVudGVyMg==", "--conf", "spark.hadoop.fs.s3a.secret.key=hunter2")
    monkeypatch.setattr(sys, "argv", ["pulsarctl", "ops", "backlog", "orders", *secret])
    assert backlog(pulsar_broker, "orders", "--html", str(file)).exit_code == 0
    shown = file.read_text()
    assert "pulsarctl ops backlog orders --key-file" in shown
    assert [each for each in ("aHVudGVyMg", "hunter2") if each in shown] == []


@pytest.mark.usefixtures("client")
def test_a_page_that_cannot_be_written_is_an_error(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    result = backlog(pulsar_broker, "orders", "--html", str(tmp_path))
    assert (result.exit_code, result.stderr.splitlines()[0]) == (1, f"error: cannot write {tmp_path}: Is a directory")


@pytest.mark.usefixtures("client")
def test_a_subscription_that_no_topic_has_is_an_error_that_names_it(pulsar_broker: EmbeddedBroker) -> None:
    found = backlog(pulsar_broker, "public/default", "-s", "s", "-s", "missing")
    assert (found.exit_code, "no topic of the report has a durable subscription missing" in found.stderr) == (3, True)
    assert backlog(pulsar_broker, "public/default", "-s", "s").exit_code == 0
