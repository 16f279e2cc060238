"""Chunked messages that begin before one run of an export or a lake, and end before the next."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.tables.access import Access
from tests.cli.transfer.moved_topics import ops, run
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send_chunk

Publish = Callable[..., str]


@pytest.fixture
def publish(pulsar_broker: EmbeddedBroker, topic: str) -> Publish:
    """Stores one chunk and returns its position."""

    def one(chunk: int, chunks: int) -> str:
        with RawClient(pulsar_broker.service_url) as client:
            client.ask(producer(topic, initial_subscription_name="keeps"), BaseCommand.PRODUCER_SUCCESS)
            client.send(send_chunk(1, chunk, chunks))
            stored = client.expect(BaseCommand.SEND_RECEIPT).message_id
        return f"{stored.ledgerId}:{stored.entryId}"

    return one


def export(broker: EmbeddedBroker, topic: str, place: Path, *options: str) -> int:
    return int(ops(broker, "export", topic, place, "--incremental", *options)["messages"])


def unload(broker: EmbeddedBroker, topic: str) -> None:
    """The next entry is in another ledger."""
    admin = Access(broker.service_url, broker.http_url).admin()
    admin.topics.unload(topic)
    admin.close()


@pytest.mark.parametrize("rolls", [False, True])
def test_an_incremental_export_has_a_message_whose_first_chunk_an_earlier_run_read(
    pulsar_broker: EmbeddedBroker, publish: Publish, topic: str, tmp_path: Path, rolls: bool
) -> None:
    publish(0, 2)
    assert export(pulsar_broker, topic, tmp_path) == 0
    if rolls:
        unload(pulsar_broker, topic)
    publish(1, 2)
    assert export(pulsar_broker, topic, tmp_path) == 1
    assert export(pulsar_broker, topic, tmp_path) == 0


def test_a_continued_export_has_no_message_that_began_before_the_start_of_the_first_run(
    pulsar_broker: EmbeddedBroker, publish: Publish, topic: str, tmp_path: Path
) -> None:
    publish(0, 3)
    assert export(pulsar_broker, topic, tmp_path, "--start", publish(1, 3)) == 0
    publish(2, 3)
    assert export(pulsar_broker, topic, tmp_path) == 0


def test_a_message_whose_first_chunk_was_trimmed_is_reported(
    pulsar_broker: EmbeddedBroker, publish: Publish, topic: str, tmp_path: Path
) -> None:
    publish(0, 2)
    assert export(pulsar_broker, topic, tmp_path) == 0
    admin = Access(pulsar_broker.service_url, pulsar_broker.http_url).admin()
    admin.topics.truncate(topic)
    admin.close()
    publish(1, 2)
    done = run(pulsar_broker, "export", topic, tmp_path, "--incremental", "--allow-loss")
    assert "warning: 1 chunked message is left out: first chunks are gone" in done.stderr
    found = json.loads(done.stdout)
    assert (found["messages"], found["incomplete"]) == (0, 1)


@pytest.mark.parametrize("reads_files", [False, True])
def test_a_lake_has_a_message_whose_first_chunk_an_earlier_run_read(
    pulsar_broker: EmbeddedBroker, publish: Publish, topic: str, tmp_path: Path, reads_files: bool
) -> None:
    pytest.importorskip("pyiceberg")
    from pulsarctl.iceberg.lake_place import LakePlace
    from pulsarctl.iceberg.topic_lake import TopicLake

    source = {"service_url": pulsar_broker.service_url, "admin_url": pulsar_broker.http_url}
    if reads_files:
        source["data_directory"] = str(pulsar_broker.directory)
    lake = TopicLake(LakePlace.of(str(tmp_path / "lake"), ""))
    publish(0, 2)
    assert lake.keep(topic, source).rows == 0
    unload(pulsar_broker, topic)
    publish(1, 2)
    unload(pulsar_broker, topic)
    assert lake.keep(topic, source).rows == 1
    assert lake.keep(topic, source).rows == 0
