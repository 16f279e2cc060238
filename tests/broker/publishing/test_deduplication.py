"""Duplicate messages, command by command: stored once, and answered in order."""

import errno
from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.publishing.deduplicated_topic import (
    NAME,
    NOWHERE,
    RECEIPT,
    config,
    create,
    leave,
    receipts,
    stored,
)
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import send, send_batch, send_chunk


@pytest.fixture
def broker(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config(), disk=disk) as broker:
        yield broker
        disk.sync_seconds = 0.0
        disk.failures.clear()


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        create(client)
        yield client


def test_a_duplicate_is_not_stored_and_its_receipt_has_no_position(broker: EmbeddedBroker, raw: RawClient) -> None:
    for _ in range(2):
        raw.send(send(5))
    assert receipts(raw, 2) == [(5, True), (5, False)]
    assert stored(broker) == [("p", 5)]


def test_without_deduplication_both_are_stored(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url) as client:
        assert create(client) == -1
        client.send(send(5) + send(5))
        assert receipts(client, 2) == [(5, True), (5, True)]
        leave(client)
        assert create(client) == -1


def test_a_run_with_duplicates_is_answered_in_order(broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.send(send(0) + send(1))
    receipts(raw, 2)
    raw.send(send(1) + send(2) + send(2) + send(7) + send(3) + send(8))
    assert receipts(raw, 6) == [(1, False), (2, True), (2, False), (7, True), (3, False), (8, True)]
    assert [sequence_id for _, sequence_id in stored(broker)] == [0, 1, 2, 7, 8]


def test_a_duplicate_of_a_pending_message_waits_for_it(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    disk.sync_seconds = 0.2
    raw.send(send(0))
    with RawClient(broker.service_url) as other:
        raw.close()
        wait_until(lambda: not loaded(broker, NAME).producers, 5)
        assert create(other) == 0  # the answer also waits for the first one
        other.send(send(0) + send(1) + send(1))
        assert receipts(other, 3) == [(0, False), (1, True), (1, False)]
    assert stored(broker) == [("p", 0), ("p", 1)]


def test_a_failed_message_may_be_sent_again(broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient) -> None:
    raw.send(send(0))
    receipts(raw, 1)
    disk.failures["sync", ".journal"] = errno.EIO
    raw.send(send(1) + send(1))
    assert raw.expect(BaseCommand.SEND_ERROR).error == pb.PersistenceError
    raw.expect(BaseCommand.CLOSE_PRODUCER)
    disk.failures.clear()
    assert create(raw) == 0
    raw.send(send(0) + send(1))
    assert receipts(raw, 2) == [(0, False), (1, True)]


def test_a_batch_is_dropped_when_its_first_message_is_a_duplicate(broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.send(send_batch(0, 4) + send_batch(4, 9) + send_batch(5, 9))
    found = [raw.expect(RECEIPT) for _ in range(3)]
    assert [(one.sequence_id, one.highest_sequence_id) for one in found] == [(0, 4), (4, 9), (5, 9)]
    assert [one.message_id.entryId == NOWHERE for one in found] == [False, True, False]
    leave(raw)
    assert create(raw) == 9


def test_only_the_last_chunk_consumes_the_sequence_id(broker: EmbeddedBroker, raw: RawClient) -> None:
    chunks = [send_chunk(0, chunk, 3) for chunk in range(3)]
    raw.send(chunks[0] + chunks[1])
    assert receipts(raw, 2) == [(0, True), (0, True)]
    leave(raw)
    assert create(raw) == -1
    raw.send(b"".join(chunks))  # the connection broke: the client starts again
    assert receipts(raw, 3) == [(0, False), (0, False), (0, True)]
    raw.send(b"".join(chunks) + send(1))
    assert receipts(raw, 4) == [(0, False)] * 3 + [(1, True)]


def test_chunks_of_another_message_with_the_same_sequence_id_are_new(broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.send(send_chunk(0, 0, 3) + send_chunk(0, 1, 3))
    receipts(raw, 2)
    raw.send(b"".join(send_chunk(0, chunk, 3, payload=b"other") for chunk in range(3)))
    assert receipts(raw, 3) == [(0, True)] * 3
