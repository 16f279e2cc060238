"""What another cluster's replicator sends: producers, markers, and replicated messages."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.config.topic import TopicConfig
from broker_core.stats.topic_stats import topic_stats
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support import official_client
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

TOPIC = "persistent://public/default/copied"
NAME = "pulsar.repl.east-->standalone"
SNAPSHOT_REQUEST = 10
TRANSACTION_COMMIT = 21
DEDUPLICATING = BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True))


def marker(sequence_id: int = 0, kind: int = SNAPSHOT_REQUEST) -> bytes:
    metadata = {"marker_type": kind, "replicated_from": "east"}
    return send(sequence_id, b"marker", name="pulsar.marker", metadata=metadata, marker=True)


def copy(sequence_id: int, payload: bytes, *, original: str = "p", **fields: Any) -> bytes:
    return send(sequence_id, payload, name=original, metadata={"replicated_from": "east"}, **fields)


def copied_batch(lowest: int, highest: int, *, original: str = "p") -> bytes:
    """The SEND of a replicator names only the first sequence ID of a batch; its metadata names both."""
    count = highest - lowest + 1
    described = {"replicated_from": "east", "highest_sequence_id": highest, "num_messages_in_batch": count}
    return send(lowest, b"batch", name=original, metadata=described, num_messages=count)


def attach(raw: RawClient, name: str = NAME, **fields: Any) -> Any:
    return raw.ask(producer(TOPIC, producer_name=name, user_provided_producer_name=True, **fields), PRODUCED)


PRODUCED = BaseCommand.PRODUCER_SUCCESS
RECEIPT = BaseCommand.SEND_RECEIPT


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    connected = official_client.connect(broker.service_url)
    yield connected
    connected.close()


def was_repeated(receipts: list[Any]) -> list[bool]:
    return [receipt.message_id.ledgerId == (1 << 64) - 1 for receipt in receipts]


def replicate(broker: EmbeddedBroker, *frames: bytes) -> list[Any]:
    """Sends the frames as a replicator and returns their receipts."""
    with RawClient(broker.service_url) as raw:
        attach(raw)
        raw.send(b"".join(frames))
        return [raw.expect(RECEIPT) for _ in frames]


def test_markers_are_stored_and_answered_in_order(broker: EmbeddedBroker) -> None:
    receipts = replicate(broker, copy(5, b"a"), marker(), copy(6, b"b"))
    assert [receipt.sequence_id for receipt in receipts] == [5, 0, 6]
    assert [receipt.message_id.entryId for receipt in receipts] == [0, 1, 2]


@pytest.mark.parametrize("kind", ["Exclusive", "Shared", "Failover", "KeyShared"])
def test_no_consumer_gets_a_marker_and_none_stays_in_its_backlog(
    broker: EmbeddedBroker, client: pulsar.Client, kind: str
) -> None:
    consumer = client.subscribe(TOPIC, "s", consumer_type=getattr(pulsar.ConsumerType, kind))
    replicate(broker, marker(), copy(1, b"a"), marker(), marker(), copy(2, b"b"), marker())
    for expected in (b"a", b"b"):
        message = consumer.receive(5000)
        assert message.data() == expected
        consumer.acknowledge(message)
    cursor = loaded(broker, TOPIC).subscriptions["s"].cursor
    wait_until(lambda: cursor.backlog_entries == 0, 5)


def test_markers_are_skipped_again_after_a_seek_and_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        replicate(broker, marker(), copy(1, b"a"), marker(), copy(2, b"b"))
    with EmbeddedBroker(tmp_path) as broker:
        connected = official_client.connect(broker.service_url)
        consumer = connected.subscribe(TOPIC, "s", initial_position=pulsar.InitialPosition.Earliest)
        for _ in range(2):
            assert [consumer.receive(5000).data() for _ in range(2)] == [b"a", b"b"]
            consumer.seek(pulsar.MessageId.earliest)
        connected.close()


def test_a_reader_is_at_the_end_before_trailing_markers(broker: EmbeddedBroker, client: pulsar.Client) -> None:
    replicate(broker, copy(1, b"a"), *(marker() for _ in range(5)))
    reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
    assert reader.has_message_available()
    assert reader.read_next(5000).data() == b"a"
    assert not reader.has_message_available()


def test_a_topic_with_only_markers_has_no_message(broker: EmbeddedBroker, client: pulsar.Client) -> None:
    replicate(broker, marker(), marker())
    assert not client.create_reader(TOPIC, pulsar.MessageId.earliest).has_message_available()


def test_a_replicated_message_keeps_its_source_cluster(broker: EmbeddedBroker) -> None:
    replicate(broker, copy(1, b"a"))
    topic = loaded(broker, TOPIC)
    _position, entry = broker.call(topic.last_entry(compacted=False))
    assert entry is not None
    assert parse_metadata(entry).replicated_from == "east"


@pytest.mark.parametrize(("name", "kind"), [("other", SNAPSHOT_REQUEST), (NAME, TRANSACTION_COMMIT)])
def test_other_markers_are_refused(broker: EmbeddedBroker, name: str, kind: int) -> None:
    with RawClient(broker.service_url) as raw:
        attach(raw, name)
        raw.send(marker(kind=kind))
        assert raw.expect(BaseCommand.SEND_ERROR).error == pb.NotAllowedError


def test_a_replicator_is_not_listed_or_counted_as_a_producer() -> None:
    config = BrokerConfig(server=FREE_PORTS, topics=TopicConfig(max_producers=1))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        attach(raw, producer_id=1)
        attach(raw, "user", producer_id=2)
        attach(raw, f"{NAME}2", producer_id=3)
        refused = raw.ask(producer(TOPIC, producer_id=4, producer_name="second"), BaseCommand.ERROR)
        assert refused.error == pb.ProducerBusy
        topic = loaded(broker, TOPIC)
        assert [shown.name for shown in asyncio.run(topic_stats(topic)).publishers] == ["user"]


def test_replicated_messages_are_deduplicated_by_their_original_producer() -> None:
    with EmbeddedBroker(config=DEDUPLICATING) as broker:
        sent = (
            copy(7, b"p7", original="p"),
            copy(3, b"q3", original="q"),
            marker(0),
            marker(0),
            copy(7, b"p7", original="p"),
            copy(8, b"p8", original="p"),
            copy(4, b"q4", original="q"),
        )
        receipts = replicate(broker, *sent)
        assert [receipt.sequence_id for receipt in receipts] == [7, 3, 0, 0, 7, 8, 4]
        assert was_repeated(receipts) == [False, False, False, False, True, False, False]


AGAIN_OR_OVERLAPPING = [copied_batch(0, 9), copied_batch(5, 9), copied_batch(9, 12), copy(9, b"last")]
"""Copies of what a batch with the sequence IDs 0 to 9 holds."""


def test_a_copied_batch_is_recognized_whole_and_in_part() -> None:
    with EmbeddedBroker(config=DEDUPLICATING) as broker:
        receipts = replicate(broker, copied_batch(0, 9), *AGAIN_OR_OVERLAPPING, copied_batch(10, 19))
        assert was_repeated(receipts) == [False, True, True, True, True, False]
        assert broker.call(loaded(broker, TOPIC).deduplication.last_sequence_id("p")) == 19


def test_a_copied_batch_is_recognized_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path, config=DEDUPLICATING) as broker:
        replicate(broker, copied_batch(0, 9))
    with EmbeddedBroker(tmp_path, config=DEDUPLICATING) as broker:
        receipts = replicate(broker, *AGAIN_OR_OVERLAPPING, copied_batch(10, 19))
        assert was_repeated(receipts) == [True, True, True, True, False]


def test_a_copied_batch_is_recognized_after_a_crash(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "data", config=DEDUPLICATING) as broker:
        replicate(broker, copied_batch(0, 9))
        shutil.copytree(tmp_path / "data", tmp_path / "crashed")
    with EmbeddedBroker(tmp_path / "crashed", config=DEDUPLICATING) as broker:
        assert was_repeated(replicate(broker, *AGAIN_OR_OVERLAPPING)) == [True, True, True, True]


def test_original_producers_are_forgotten_above_the_limit() -> None:
    config = BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True, max_producers=2))
    with EmbeddedBroker(config=config) as broker:
        replicate(broker, *(copy(number, b"x", original=f"p{number}") for number in range(1, 6)))
        deduplication = loaded(broker, TOPIC).deduplication
        known = [broker.call(deduplication.last_sequence_id(f"p{number}")) for number in range(1, 6)]
        assert known == [-1, -1, -1, 4, 5]
