"""`pulsarctl perf` measures Apache Pulsar as it measures this broker."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.runner import Cli

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow, pytest.mark.timeout(300)]

FAST = ("-r", "0", "--warmup-time", "0")


@pytest.fixture
def real(java_pulsar: JavaPulsar, tmp_path: Path) -> Cli:
    return Cli(tmp_path, java_pulsar.http_url, java_pulsar.service_url)


def records(cli: Cli, *words: str) -> list[Any]:
    done = cli("perf", *words, "-o", "jsonl")
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_produce_consume_and_read_count_the_same_messages(real: Cli) -> None:
    topic = "perf-partitioned"
    (produced,) = records(real, "produce", topic, *FAST, "-m", "300", "-s", "100", "-np", "2", "-pn", "me")
    (consumed,) = records(real, "consume", topic, "-sp", "Earliest", "-e")
    (read,) = records(real, "read", topic, "-e")
    assert [one["messages"] for one in (produced, consumed, read)] == [300] * 3
    assert [one["errors"] for one in (produced, consumed, read)] == [0] * 3
    assert [one["bytes"] for one in (consumed, read)] == [30_000] * 2
    assert produced["latencyMsP50"] > 0


def test_both_ends_count_the_same_messages_and_leave_no_subscription(real: Cli) -> None:
    produced, consumed = records(real, "e2e", "perf-both-ends", *FAST, "-m", "200", "-s", "64")
    assert (produced["messages"], consumed["messages"]) == (200, 200)
    assert consumed["latencyMsMean"] > 0
    assert json.loads(real("topics", "subscriptions", "perf-both-ends", "-o", "json").stdout) == []


def test_an_exclusive_producer_and_chunks_are_accepted(real: Cli) -> None:
    (produced,) = records(real, "produce", "perf-chunks", *FAST, "-m", "2", "-s", "6M", "-ch", "-am", "Exclusive")
    assert produced["bytes"] == 2 * (6 << 20)
