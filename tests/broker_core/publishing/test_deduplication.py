"""Duplicate messages, command by command: stored once, answered in order, recognized after a restart."""

import errno
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.names import parse_topic
from broker_core.publishing import deduplication_snapshot
from broker_core.publishing.deduplication_snapshot import CURSOR, Snapshot
from broker_core.publishing.deduplication_switch import DeduplicationStatus
from broker_core.publishing.open_chunks import OpenChunks
from broker_core.publishing.sequence_ids import SequenceIds
from broker_core.storage.errors import StorageError
from broker_core.storage.position import EARLIEST
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker_core.storage.faulty_disk import FaultyDisk
from tests.clocks import ShiftedClock
from tests.condition import wait_until
from tests.loaded_topics import loaded
from tests.raw_client import RawClient
from tests.raw_publishing import close_producer, producer, send, send_batch, send_chunk

TOPIC = "persistent://public/default/t"
NAME = parse_topic(TOPIC)
NOWHERE = (1 << 64) - 1  # -1 in a receipt
RECEIPT = BaseCommand.SEND_RECEIPT


def config(**deduplication: int) -> BrokerConfig:
    return BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True, **deduplication))


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


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


def create(client: RawClient, name: str = "p", **fields: int) -> int:
    """The last sequence ID that the broker knows for that producer."""
    return int(client.ask(producer(TOPIC, producer_name=name, **fields), BaseCommand.PRODUCER_SUCCESS).last_sequence_id)


def receipts(client: RawClient, count: int) -> list[tuple[int, bool]]:
    """(sequence ID, whether the message was stored) of the next receipts."""
    found = [client.expect(RECEIPT) for _ in range(count)]
    return [(receipt.sequence_id, receipt.message_id.entryId != NOWHERE) for receipt in found]


def stored(broker: EmbeddedBroker) -> list[tuple[str, int]]:
    """(producer, sequence id) of the topic's entries."""

    async def read() -> list[tuple[str, int]]:
        ledger = (await broker.broker.topics.get(NAME)).ledger
        block = await ledger.read(EARLIEST, 1000, 1 << 20)
        found = [parse_metadata(block.entry(index)) for index in range(len(block))]
        return [(metadata.producer_name, metadata.sequence_id) for metadata in found]

    return broker.call(read())


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


def snapshot_of(broker: EmbeddedBroker) -> dict[str, str]:
    return loaded(broker, NAME).ledger.cursors[CURSOR].properties


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
        assert broker.call(Snapshot(loaded(broker, NAME).ledger, 10).restore(ids, OpenChunks())) == 1
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


@pytest.mark.parametrize("unloaded", [False, True])
def test_chunks_of_a_producer_that_has_left_are_forgotten_after_a_while(unloaded: bool) -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(config=config(inactive_minutes=1), clock=clock) as broker:
        with RawClient(broker.service_url) as client:
            create(client)
            client.send(send_chunk(0, 0, 3))
            receipts(client, 1)
            leave(client)
        if unloaded:
            broker.call(broker.broker.topics.unload(NAME))
            with RawClient(broker.service_url) as client:
                create(client, "other")  # loads the topic
        topic = loaded(broker, NAME)
        clock.ran_seconds = 61.0
        on_loop(broker, topic.deduplication.forget_inactive)
        broker.call(topic.deduplication_switch.take_snapshot())
        assert topic.ledger.cursors[CURSOR].mark_delete == topic.ledger.last_confirmed


def test_chunks_that_a_replicator_has_copied_are_forgotten_after_a_while() -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(config=config(inactive_minutes=1), clock=clock) as broker:
        with RawClient(broker.service_url) as client:
            create(client, "pulsar.repl.east")
            client.send(send_chunk(0, 0, 3, replicated_from="east"))
            receipts(client, 1)
        topic = loaded(broker, NAME)
        clock.ran_seconds = 61.0
        on_loop(broker, topic.deduplication.forget_inactive)
        broker.call(topic.deduplication_switch.take_snapshot())
        assert topic.ledger.cursors[CURSOR].mark_delete == topic.ledger.last_confirmed


def leave(client: RawClient, producer_id: int = 1) -> None:
    client.send(close_producer(producer_id))
    client.expect(BaseCommand.SUCCESS)


def publish_and_leave(client: RawClient, *names: str) -> None:
    for name in names:
        create(client, name)
        client.send(send(5, name=name))
        receipts(client, 1)
        leave(client)


def test_above_the_limit_the_producers_that_left_first_are_forgotten() -> None:
    with EmbeddedBroker(config=config(max_producers=2)) as broker, RawClient(broker.service_url) as client:
        publish_and_leave(client, "a", "b", "c")
        assert [create(client, name, producer_id=index) for index, name in enumerate("abc", 2)] == [-1, 5, 5]


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


def test_an_inactive_producer_is_forgotten() -> None:
    clock = ShiftedClock()
    with (
        EmbeddedBroker(config=config(inactive_minutes=1), clock=clock) as broker,
        RawClient(broker.service_url) as client,
    ):
        publish_and_leave(client, "away")
        create(client, "stays", producer_id=2)
        client.send(send(5, name="stays", producer_id=2))
        receipts(client, 1)
        clock.ran_seconds = 61.0
        publish_and_leave(client, "just left")
        on_loop(broker, loaded(broker, NAME).deduplication.forget_inactive)
        leave(client, 2)
        last = [
            create(client, name, producer_id=3 + index) for index, name in enumerate(("away", "stays", "just left"))
        ]
        assert last == [-1, 5, 5]


def on_loop(broker: EmbeddedBroker, work: Callable[[], None]) -> None:
    async def run() -> None:
        work()

    broker.call(run())


async def set_policy(broker: Broker, **fields: bool) -> None:
    await broker.tenancy.topic_policies.set(NAME, **fields)


def test_the_policy_of_a_topic_changes_under_connected_producers(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url) as client:
        create(client)
        switch = loaded(pulsar_broker, NAME).deduplication_switch
        pulsar_broker.call(set_policy(pulsar_broker.broker, deduplication_enabled=True))
        wait_until(lambda: switch.status is DeduplicationStatus.ENABLED, 5)
        client.send(send(0) + send(0))
        assert receipts(client, 2) == [(0, True), (0, False)]
        pulsar_broker.call(set_policy(pulsar_broker.broker, deduplication_enabled=False))
        wait_until(lambda: switch.status is DeduplicationStatus.DISABLED, 5)
        assert CURSOR not in loaded(pulsar_broker, NAME).ledger.cursors
        client.send(send(0) + send(0))
        assert receipts(client, 2) == [(0, True), (0, True)]


def test_a_policy_that_cannot_be_applied_is_tried_again() -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(disk=disk) as broker:
        topic = loaded(broker, NAME, create=True)
        switch = topic.deduplication_switch
        for enabled, status in ((True, DeduplicationStatus.FAILED), (False, DeduplicationStatus.REMOVING)):
            disk.failures["sync", ".journal"] = errno.EIO
            broker.call(set_policy(broker.broker, deduplication_enabled=enabled))
            wait_until(lambda wanted=status: switch.status is wanted, 30)  # type: ignore[misc]  # a default
            assert enabled or CURSOR in topic.ledger.cursors
            disk.failures.clear()
            wait_until(lambda: switch.status.value in ("Enabled", "Disabled"), 30)
            assert topic.deduplication.enabled is enabled
            assert (CURSOR in topic.ledger.cursors) is enabled


def test_producers_wait_while_deduplication_cannot_be_switched_on() -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(disk=disk) as broker, RawClient(broker.service_url) as client:
        create(client)
        disk.failures["sync", ".journal"] = errno.EIO
        broker.call(set_policy(broker.broker, deduplication_enabled=True))
        client.expect(BaseCommand.CLOSE_PRODUCER)
        refused = client.ask(producer(TOPIC, producer_name="p", request_id=2), BaseCommand.ERROR)
        assert "cannot turn on its deduplication" in refused.message
        disk.failures.clear()
        wait_until(lambda: loaded(broker, NAME).deduplication_switch.status is DeduplicationStatus.ENABLED, 30)
        create(client)
        client.send(send(0) + send(0))
        assert receipts(client, 2) == [(0, True), (0, False)]


def test_a_snapshot_that_cannot_be_stored_is_tried_again(disk: FaultyDisk) -> None:
    with EmbeddedBroker(config=config(), disk=disk) as broker, RawClient(broker.service_url) as client:
        create(client)
        client.send(send(3))
        receipts(client, 1)
        switch = loaded(broker, NAME).deduplication_switch
        disk.failures["sync", ".journal"] = errno.EIO
        with pytest.raises(StorageError):
            broker.call(switch.take_snapshot())
        on_loop(broker, switch.policies_changed)
        disk.failures.clear()
        wait_until(lambda: snapshot_of(broker) == {"p": "3"}, 30)


def test_a_topic_follows_its_namespace_until_it_has_its_own_policy(pulsar_broker: EmbeddedBroker) -> None:
    tenancy = pulsar_broker.broker.tenancy
    with RawClient(pulsar_broker.service_url) as client:
        create(client)
        switch = loaded(pulsar_broker, NAME).deduplication_switch
        pulsar_broker.call(tenancy.topic_policies.set(NAME, deduplication_enabled=None))
        pulsar_broker.call(tenancy.set_namespace_policies(NAME.namespace, deduplication_enabled=True))
        wait_until(lambda: switch.status is DeduplicationStatus.ENABLED, 5)
        pulsar_broker.call(tenancy.topic_policies.set(NAME, deduplication_enabled=False))
        wait_until(lambda: switch.status is DeduplicationStatus.DISABLED, 5)
        pulsar_broker.call(tenancy.set_namespace_policies(NAME.namespace, deduplication_enabled=None))


def test_a_start_without_deduplication_deletes_its_cursor(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path, config=config()) as broker, RawClient(broker.service_url) as client:
        publish_and_leave(client, "p")
        assert CURSOR in loaded(broker, NAME).ledger.cursors
    with EmbeddedBroker(tmp_path) as broker:
        assert CURSOR not in loaded(broker, NAME).ledger.cursors


def test_the_deduplication_cursor_is_not_a_subscription(broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.send(send(0))
    receipts(raw, 1)
    broker.call(broker.broker.topics.unload(NAME))
    assert loaded(broker, NAME).subscriptions == {}
