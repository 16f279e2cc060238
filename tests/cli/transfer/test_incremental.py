"""Incremental exports: what a run reads after the one before it."""

import json
import time
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.transfer.places import Directory
from tests.cli.transfer.moved_topics import failed, ops


@pytest.fixture
def parted(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> str:
    """Two partitions with five messages each."""
    pulsar_broker.create_partitioned_topic(topic, 2)
    client.subscribe(topic, "keeps").close()
    for index in range(2):
        publish(client, f"{topic}-partition-{index}", 5)
    return topic


def publish(client: pulsar.Client, topic: str, count: int) -> pulsar.MessageId:
    producer = client.create_producer(topic, batching_enabled=False)
    last = [producer.send(b"%d" % number) for number in range(count)][-1]
    producer.close()
    return last


def next_of(last: pulsar.MessageId) -> str:
    return f"{last.ledger_id()}:{last.entry_id() + 1}"


def export(broker: EmbeddedBroker, topic: str, place: Path, *start: str) -> int:
    return int(ops(broker, "export", topic, place, "--incremental", *start)["messages"])


def test_a_partition_without_news_begins_at_the_start_of_the_first_run(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, parted: str, tmp_path: Path
) -> None:
    parts = [f"{parted}-partition-{index}" for index in range(2)]
    start = ("--start", json.dumps({part: next_of(publish(client, part, 1)) for part in parts}))
    publish(client, parts[0], 1)
    assert export(pulsar_broker, parted, tmp_path, *start) == 1
    publish(client, parts[0], 1)
    assert export(pulsar_broker, parted, tmp_path, *start) == 1
    publish(client, parts[1], 1)
    assert export(pulsar_broker, parted, tmp_path) == 1, "the first start holds"


def test_a_start_time_holds_for_partitions_without_news(
    pulsar_broker: EmbeddedBroker, parted: str, tmp_path: Path
) -> None:
    in_an_hour = f"@{int((time.time() + 3600) * 1000)}"
    assert export(pulsar_broker, parted, tmp_path, "--start", in_an_hour) == 0
    assert export(pulsar_broker, parted, tmp_path) == 0


def test_an_export_into_a_directory_that_another_one_writes_to_is_refused(
    pulsar_broker: EmbeddedBroker, parted: str, tmp_path: Path
) -> None:
    assert export(pulsar_broker, parted, tmp_path) == 10
    before = sorted(tmp_path.iterdir())
    with Directory(tmp_path).alone():
        code, _ = failed(pulsar_broker, "export", parted, tmp_path, "--incremental")
    assert (code, sorted(tmp_path.iterdir())) == (6, before)
    assert export(pulsar_broker, parted, tmp_path) == 0, "the lock has ended"
