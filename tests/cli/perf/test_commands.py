"""The `perf` commands with one embedded broker."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.runner import Cli

FAST = ("-r", "0", "--warmup-time", "0")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path_factory.mktemp("perf")) as broker:
        yield broker


@pytest.fixture
def perf(tmp_path: Path, broker: EmbeddedBroker) -> Cli:
    return Cli(tmp_path, broker.http_url, broker.service_url)


def record(cli: Cli, *words: str) -> Any:
    outcome = cli("perf", *words, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def test_producing_counts_every_acknowledged_message(perf: Cli, topic: str) -> None:
    found = record(perf, "produce", topic, *FAST, "-m", "300", "-s", "100")
    assert (found["role"], found["messages"], found["bytes"], found["errors"]) == ("produce", 300, 30_000, 0)
    assert found["offeredRate"] is None
    assert 0 < found["latencyMsP50"] <= found["latencyMsP99"] <= found["latencyMsMax"]
    assert (
        perf("consume", topic, "-p", "Earliest", "-e", "--hide-content").stderr
        == "300 messages successfully consumed\n"
    )


def test_the_achieved_rate_is_not_above_the_offered_one(perf: Cli, topic: str) -> None:
    found = record(perf, "produce", topic, "-r", "400", "-m", "101")
    assert found["offeredRate"] == 400
    assert 0 < found["achievedRate"] <= 404


def test_the_duration_ends_a_run(perf: Cli, topic: str) -> None:
    found = record(perf, "produce", topic, "-r", "100", "-time", "300ms")
    assert found["messages"] > 0


def test_producers_share_topics_keys_and_compression(perf: Cli, topic: str) -> None:
    words = (
        *FAST,
        "-m",
        "60",
        "-t",
        "2",
        "-n",
        "2",
        "-mk",
        "autoIncrement",
        "-z",
        "lz4",
        "-db",
        "--max-outstanding",
        "3",
    )
    assert record(perf, "produce", topic, *words)["messages"] == 60
    keys = [perf("read", f"{topic}-{index}", "-m", "earliest", "-e", "-F", "%k ").stdout.split() for index in (0, 1)]
    assert [sorted(map(int, found)) for found in keys] == [list(range(0, 60, 2)), list(range(1, 60, 2))]


def test_payloads_of_a_file_are_sent_in_turn(perf: Cli, topic: str, tmp_path: Path) -> None:
    (tmp_path / "payloads").write_text("a\nb\n")
    record(perf, "produce", topic, *FAST, "-m", "3", "-f", str(tmp_path / "payloads"))
    assert perf("read", topic, "-m", "earliest", "-e", "-F", "%v ").stdout == "a b a "


def test_topics_are_created_with_partitions(perf: Cli, topic: str) -> None:
    for _ in range(2):
        assert record(perf, "produce", topic, *FAST, "-m", "4", "-np", "3")["messages"] == 4
    assert json.loads(perf("topics", "get-partitioned-topic-metadata", topic, "-o", "json").stdout)["partitions"] == 3
    refused = perf("perf", "produce", topic, "-m", "1", "-np", "2")
    assert (refused.exit_code, "it exists with 3" in refused.stderr) == (6, True)


def test_producers_have_the_given_names_and_access_mode(perf: Cli, topic: str) -> None:
    record(perf, "produce", topic, *FAST, "-m", "4", "-pn", "me", "-n", "2", "-db")
    assert set(perf("read", topic, "-m", "earliest", "-e", "-F", "%x ").stdout.split()) == {"me-0", "me-1"}
    assert record(perf, "produce", topic, *FAST, "-m", "1", "-pn", "me", "-am", "Exclusive")["messages"] == 1
    refused = perf("perf", "produce", topic, *FAST, "-m", "2", "-n", "2", "-am", "exclusive")
    assert refused.exit_code != 0


def test_large_messages_are_sent_in_chunks(perf: Cli, topic: str) -> None:
    assert record(perf, "produce", topic, *FAST, "-m", "1", "-s", "6M", "-ch")["bytes"] == 6 << 20
    assert perf("read", topic, "-m", "earliest", "-e", "-F", "%V").stdout == str(6 << 20)


def test_delivery_is_delayed(perf: Cli, topic: str) -> None:
    record(perf, "produce", topic, *FAST, "-m", "1", "-d", "1h")
    assert perf("read", topic, "-m", "earliest", "-e", "-F", "%a{deliver-at}").stdout


def test_payloads_are_numbered(perf: Cli, topic: str, tmp_path: Path) -> None:
    (tmp_path / "payloads").write_text("n=%i t=%t")
    record(perf, "produce", topic, *FAST, "-m", "3", "-f", str(tmp_path / "payloads"), "-fp")
    lines = perf("read", topic, "-m", "earliest", "-e", "-F", "%v\\n").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["n=0", "n=1", "n=2"]
    assert all(line.split("t=")[1].isdecimal() for line in lines)


def test_consuming_stops_at_the_end_and_acknowledges(perf: Cli, topic: str) -> None:
    record(perf, "produce", topic, *FAST, "-m", "50", "-s", "10")
    found = record(perf, "consume", topic, "-sp", "Earliest", "-e")
    assert (found["role"], found["messages"], found["bytes"]) == ("consume", 50, 500)
    assert record(perf, "consume", topic, "-e")["messages"] == 0


def test_consumers_of_shared_subscriptions_take_exactly_the_number(perf: Cli, topic: str) -> None:
    record(perf, "produce", topic, *FAST, "-m", "50")
    words = ("consume", topic, "-ss", "s", "-st", "Shared", "-n", "2", "-sp", "Earliest")
    assert record(perf, *words, "-m", "20")["messages"] == 20
    assert record(perf, *words, "-e")["messages"] == 30


def test_each_subscription_gets_every_message(perf: Cli, topic: str) -> None:
    record(perf, "produce", topic, *FAST, "-m", "10")
    assert record(perf, "consume", topic, "-ns", "2", "-sp", "Earliest", "-e")["messages"] == 20


def test_reading_stops_at_the_end_of_every_partition(perf: Cli, topic: str) -> None:
    assert perf("topics", "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    record(perf, "produce", topic, *FAST, "-m", "40", "-db")
    assert record(perf, "read", topic, "-e")["messages"] == 40
    assert record(perf, "read", topic, "-n", "7")["messages"] == 7
    assert record(perf, "read", topic, "-m", "latest", "-e")["messages"] == 0


def test_both_ends_count_the_same_messages_and_leave_no_subscription(perf: Cli, topic: str) -> None:
    outcome = perf("perf", "e2e", topic, *FAST, "-m", "200", "-s", "64", "-o", "csv")
    assert outcome.exit_code == 0, outcome.stderr
    produced, consumed = csv.DictReader(io.StringIO(outcome.stdout))
    assert (produced["role"], consumed["role"]) == ("produce", "consume")
    assert produced["messages"] == consumed["messages"] == "200"
    assert float(consumed["latencyMsMean"]) > 0
    assert json.loads(perf("topics", "subscriptions", topic, "-o", "json").stdout) == []


def test_both_ends_stop_sending_after_the_duration_and_receive_the_rest(perf: Cli, topic: str) -> None:
    produced, consumed = record(perf, "e2e", topic, "-r", "100", "-time", "500ms")
    assert produced["messages"] == consumed["messages"] > 0


def test_latencies_within_the_warm_up_do_not_count(perf: Cli, topic: str) -> None:
    outcome = perf("perf", "produce", topic, "-r", "0", "-m", "10", "--warmup-time", "30", "-o", "json")
    assert json.loads(outcome.stdout)["latencyMsMean"] is None
    assert "no latencies: every message was sent within the warm-up" in outcome.stderr


def test_interval_lines_are_notices_and_the_record_is_data(perf: Cli, topic: str) -> None:
    words = ("perf", "produce", topic, "-r", "100", "-m", "25", "--report-interval", "100ms", "-o", "table")
    outcome = perf(*words)
    assert outcome.stderr.startswith("produce: ")
    assert outcome.stdout.startswith("Measured")
    assert "produce: " not in perf(*words, "--quiet").stderr


def test_refused_messages_are_counted_and_fail_the_command(perf: Cli, topic: str) -> None:
    outcome = perf("perf", "produce", topic, *FAST, "-m", "3", "-s", "6M", "-db", "-o", "json")
    assert json.loads(outcome.stdout)["errors"] == 3
    assert outcome.exit_code == 1
    assert "MessageTooBig" in outcome.stderr
