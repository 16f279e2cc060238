"""Snapshots of the sequence IDs: when they are taken, what they hold, and what a topic knows when it loads again."""

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.publishing import deduplication_snapshot
from broker_core.publishing.deduplication_snapshot import CURSOR, SequenceSnapshot
from broker_core.publishing.open_chunks import OpenChunks
from broker_core.publishing.sequence_ids import SequenceIds
from broker_core.storage.errors import StorageError
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.publishing.deduplicated_topic import NAME, config, create, receipts, snapshot_of, stored
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import send, send_batch, send_chunk


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config()) as broker:
        yield broker


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        create(client)
        yield client


@pytest.mark.parametrize("entries", [1, 3, 1000], ids=["snapshot of all", "some after it", "no snapshot"])
def test_sequence_ids_survive_kill_9(tmp_path: Path, entries: int) -> None:
    settings = config(snapshot_entries=entries)
    with EmbeddedBroker(tmp_path / "running", config=settings) as broker, RawClient(broker.service_url) as client:
        create(client)
        for sequence_id in range(4):
            client.send(send(sequence_id))
            receipts(client, 1)
        client.send(send_batch(4, 7) + send_chunk(8, 0, 2))
        receipts(client, 2)
        wait_until(lambda: snapshot_of(broker) == snapshot_after(6, entries), 5)
        # The broker is idle, so the files are as a kill would leave them.
        shutil.copytree(tmp_path / "running", tmp_path / "killed")
    with EmbeddedBroker(tmp_path / "killed", config=settings) as broker, RawClient(broker.service_url) as client:
        assert create(client) == 7
        client.send(send(7) + send_chunk(8, 0, 2) + send_chunk(8, 1, 2) + send(8) + send(9))
        assert receipts(client, 5) == [(7, False), (8, False), (8, True), (8, False), (9, True)]


def snapshot_after(entries: int, interval: int) -> dict[str, str]:
    """Entries with the highest IDs 0, 1, 2, 3, 7, and one without."""
    taken = entries // interval * interval
    return {"p": str([0, 1, 2, 3, 7, 7][taken - 1])} if taken else {}


def test_a_start_reads_only_entries_after_the_snapshot(tmp_path: Path) -> None:
    with EmbeddedBroker(config=config(snapshot_entries=4)) as broker, RawClient(broker.service_url) as client:
        create(client)
        for sequence_id in range(4):
            client.send(send(sequence_id))
            receipts(client, 1)
        wait_until(lambda: snapshot_of(broker) == {"p": "3"}, 5)
        client.send(send(4))
        receipts(client, 1)
        ids = SequenceIds()
        assert broker.call(SequenceSnapshot(loaded(broker, NAME).ledger, 10).restore(ids, OpenChunks())) == 1
        assert ids.last("p") == 4


def test_a_snapshot_is_taken_by_time_when_there_are_few_entries() -> None:
    settings = config(snapshot_seconds=1)
    with EmbeddedBroker(config=settings) as broker, RawClient(broker.service_url) as client:
        create(client)
        client.send(send(3))
        receipts(client, 1)
        assert snapshot_of(broker) == {}
        wait_until(lambda: snapshot_of(broker) == {"p": "3"}, 5)


def test_sequence_ids_survive_an_unload(broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.send(send(3))
    receipts(raw, 1)
    broker.call(broker.broker.topics.unload(NAME))
    raw.expect(BaseCommand.CLOSE_PRODUCER)
    assert snapshot_of(broker) == {"p": "3"}
    assert create(raw) == 3


def test_chunks_of_an_open_message_survive_an_unload(broker: EmbeddedBroker, raw: RawClient) -> None:
    chunks = [send_chunk(1, chunk, 3) for chunk in range(3)]
    raw.send(send(0) + chunks[0] + chunks[1])
    receipts(raw, 3)
    broker.call(broker.broker.topics.unload(NAME))
    raw.expect(BaseCommand.CLOSE_PRODUCER)
    assert create(raw) == 0
    raw.send(b"".join(chunks))
    assert receipts(raw, 3) == [(1, False), (1, False), (1, True)]


def test_a_snapshot_moves_on_past_a_message_that_was_given_up(broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.send(send_chunk(0, 0, 3) + send(1))
    receipts(raw, 2)
    topic = loaded(broker, NAME)
    broker.call(topic.deduplication_switch.take_snapshot())
    assert topic.ledger.cursors[CURSOR].mark_delete == topic.ledger.last_confirmed


@pytest.mark.parametrize(
    ("limit", "most", "lags"),
    [
        ("HELD_BACK_ENTRIES_MAX", 3, [2, 3, 0, 0, 0, 0, 0]),
        ("HELD_BACK_BYTES_MAX", 1, [0, 0]),
    ],
)
def test_a_snapshot_passes_an_open_message_that_holds_back_too_much_once_and_for_all(
    broker: EmbeddedBroker, raw: RawClient, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, lags: list[int]
) -> None:
    monkeypatch.setattr(deduplication_snapshot, limit, most)
    raw.send(send_chunk(0, 0, 3))
    receipts(raw, 1)
    create(raw, "other", producer_id=2)
    topic = loaded(broker, NAME)
    found = []
    for sequence_id in range(len(lags)):
        raw.send(send(sequence_id, name="other", producer_id=2))
        receipts(raw, 1)
        broker.call(topic.deduplication_switch.take_snapshot())
        found.append(topic.ledger.last_confirmed.entry_id - topic.ledger.cursors[CURSOR].mark_delete.entry_id)
    assert found == lags


def test_a_snapshot_above_the_limit_has_the_producers_that_published_last_and_all_replicators() -> None:
    names = ("pulsar.repl.west", "a", "b", "c")
    with EmbeddedBroker(config=config(max_producers=3)) as broker, RawClient(broker.service_url) as client:
        for number, name in enumerate(names, 1):
            create(client, name, producer_id=number)
        for number in (1, 2, 3, 4, 2):
            client.send(send(5 + len(stored(broker)), name=names[number - 1], producer_id=number))
            receipts(client, 1)
        broker.call(loaded(broker, NAME).deduplication_switch.take_snapshot())
        assert list(snapshot_of(broker)) == ["pulsar.repl.west", "c", "a"]


def test_a_snapshot_that_cannot_be_stored_is_tried_again(disk: FaultyDisk) -> None:
    with EmbeddedBroker(config=config(), disk=disk) as broker, RawClient(broker.service_url) as client:
        create(client)
        client.send(send(3))
        receipts(client, 1)
        switch = loaded(broker, NAME).deduplication_switch
        disk.failures["sync", ".journal"] = errno.EIO
        with pytest.raises(StorageError):
            broker.call(switch.take_snapshot())
        broker.call(switch.policies_changed())
        disk.failures.clear()
        wait_until(lambda: snapshot_of(broker) == {"p": "3"}, 30)


def test_the_deduplication_cursor_is_not_a_subscription(broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.send(send(0))
    receipts(raw, 1)
    broker.call(broker.broker.topics.unload(NAME))
    assert loaded(broker, NAME).subscriptions == {}
