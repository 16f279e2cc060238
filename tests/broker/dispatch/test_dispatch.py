"""Which consumer gets which message, and no consumer waits for an available one; command by command."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from broker_core.compaction.compaction import CompactionState
from broker_core.config.broker import BrokerConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.config.storage import StorageConfig
from broker_core.dispatch import reader as entry_reader
from broker_core.names import parse_topic
from broker_core.storage.log.retention import Retention
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.batch import BatchMessage, join_batch
from broker_core.wire.commands import frame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.managed_ledgers import managed_ledger
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive
from tests.support.raw_publishing import producer, publish, send

TOPIC = "persistent://public/default/t"
SHARED = pb.CommandSubscribe.Shared


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        yield client


def subscribe(client: RawClient, consumer_id: int = 1, permits: int = 100, **fields: object) -> None:
    client.send(client_commands.subscribe(consumer_id, TOPIC, "s", consumer_id, **fields))  # type: ignore[arg-type]  # by name
    client.expect(BaseCommand.SUCCESS)
    client.send(client_commands.flow(consumer_id, permits))


def test_the_receipt_and_the_message_of_one_sync_leave_in_one_write(raw: RawClient) -> None:
    subscribe(raw)
    for sequence_id in range(20):
        raw.send(send(sequence_id))
        raw.expect(BaseCommand.SEND_RECEIPT)
        assert raw.arrived == 1
        raw.expect(BaseCommand.MESSAGE)


def test_single_messages_go_to_shared_consumers_in_turn(broker: EmbeddedBroker, raw: RawClient) -> None:
    with RawClient(broker.service_url) as client:
        for consumer_id in (1, 2, 3):
            subscribe(client, consumer_id, sub_type=SHARED)
        served = []
        for sequence_id in range(9):
            publish(raw, 1, sequence_id)
            served.append(receive(client, 1)[0].consumer_id)
        assert served == [1, 2, 3] * 3


def test_dispatch_continues_when_a_full_subscription_is_acknowledged() -> None:
    config = BrokerConfig(server=FREE_PORTS, dispatch=DispatchConfig(max_unacked_per_subscription=10))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        with RawClient(broker.service_url) as client:
            subscribe(client, 1, permits=1, sub_type=SHARED)
            publish(raw, 30)
            for _ in range(9):
                client.send(client_commands.flow(1, 1))
            got = receive(client, 10)
            client.send(client_commands.flow(1, 20))
            client.send(client_commands.acknowledge(1, [message.message_id for message in got]))
            receive(client, 1)


def test_dispatch_continues_when_another_consumer_acknowledges_for_a_blocked_one() -> None:
    config = BrokerConfig(server=FREE_PORTS, dispatch=DispatchConfig(max_unacked_per_consumer=5))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        with RawClient(broker.service_url) as client:
            subscribe(client, 1, permits=5, sub_type=SHARED)
            publish(raw, 6)
            got = receive(client, 5)
            client.send(client_commands.flow(1, 5))
            client.send(client_commands.subscribe(2, TOPIC, "s", 2, sub_type=SHARED))
            client.expect(BaseCommand.SUCCESS)
            client.send(client_commands.acknowledge(2, [message.message_id for message in got]))
            assert receive(client, 1)[0].consumer_id == 1


def test_a_compacted_reader_short_of_permits_misses_nothing(broker: EmbeddedBroker, raw: RawClient) -> None:
    kept = publish_with_gaps(raw, size=5)
    compact(broker)
    with RawClient(broker.service_url) as client:
        subscribe_compacted(client)
        seen = []
        for _ in kept:
            client.send(client_commands.flow(1, 5))
            seen += [message.message_id.entryId for message in receive(client, 1)]
        assert seen == kept


def test_a_compacted_reader_that_asks_for_redelivery_sees_everything_again(
    broker: EmbeddedBroker, raw: RawClient
) -> None:
    kept = publish_with_gaps(raw, size=1)
    compact(broker)
    with RawClient(broker.service_url) as client:
        subscribe_compacted(client)
        client.send(client_commands.flow(1, 3))
        assert [message.message_id.entryId for message in receive(client, 3)] == kept[:3]
        give_back = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
        give_back.redeliverUnacknowledgedMessages.consumer_id = 1
        client.send(frame(give_back) + client_commands.flow(1, 100))
        assert [message.message_id.entryId for message in receive(client, len(kept))] == kept


def publish_with_gaps(client: RawClient, *, size: int) -> list[int]:
    """Publishes batches of which compaction removes every third; returns the entry IDs of the others."""
    for sequence_id in range(12):
        key = "again" if sequence_id % 3 == 2 else str(sequence_id)
        publish_batch(client, sequence_id, [f"{key}-{slot}" for slot in range(size)])
    return [entry_id for entry_id in range(12) if entry_id % 3 != 2 or entry_id == 11]


def publish_batch(client: RawClient, sequence_id: int, keys: list[str]) -> None:
    messages = [BatchMessage(pb.SingleMessageMetadata(partition_key=key), b"x") for key in keys]
    metadata = pb.MessageMetadata(
        producer_name="p", sequence_id=sequence_id, publish_time=1, num_messages_in_batch=len(keys)
    )
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=1, sequence_id=sequence_id, num_messages=len(keys)))
    client.send(frame(command, build_entry(metadata, join_batch(messages))))
    client.expect(BaseCommand.SEND_RECEIPT)


def compact(broker: EmbeddedBroker) -> None:
    topic = loaded(broker, TOPIC)

    async def start() -> None:
        topic.compaction.start()

    broker.call(start())
    wait_until(lambda: topic.compaction.state is CompactionState.SUCCESS, 10)


def subscribe_compacted(client: RawClient) -> None:
    earliest = pb.CommandSubscribe.Earliest
    client.send(client_commands.subscribe(1, TOPIC, "s", 1, read_compacted=True, initial_position=earliest))
    client.expect(BaseCommand.SUCCESS)


def test_a_reader_of_trimmed_ledgers_continues_after_them(broker: EmbeddedBroker, raw: RawClient) -> None:
    publish(raw, 10)
    with RawClient(broker.service_url) as client:
        subscribe(client, 1, permits=5, durable=False, start_message_id=commands.message_id(-1, -1))
        receive(client, 5)
        topic = loaded(broker, TOPIC)
        broker.call(managed_ledger(topic).trim(Retention(0, 0), broker.broker.clock.wall_ms() + 10_000))
        assert topic.ledger.entries == 0
        steps = count_steps(topic)
        client.send(client_commands.flow(1, 100))
        for _ in range(10):  # as many iterations of the event loop
            client.send(commands.ping())
            client.expect(BaseCommand.PONG)
        assert len(steps) < 10
        publish(raw, 1, 10)
        assert receive(client, 1)[0].message_id.entryId == 0


def count_steps(topic: Topic) -> list[bool]:
    """A list that receives the result of each further step of the dispatcher."""
    watched = topic.subscriptions["s"].delivery.dispatcher
    step, steps = watched.step, list[bool]()

    def counted() -> bool:
        steps.append(step())
        return steps[-1]

    watched.step = counted  # type: ignore[method-assign]  # only watched
    return steps


class UnexpectedDisk(FaultyDisk):
    """Its reads of ledgers fail with an error that no caller expects, while `fails`."""

    fails = False

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = super().pread(fd, size, offset)
        if self.fails and self._paths[fd].suffix == ".ledger":
            raise ValueError("unexpected")
        return data


def test_a_failed_read_is_retried_without_an_event(disk: FaultyDisk) -> None:
    with unloaded(disk) as broker:
        disk.failures["pread", ".ledger"] = errno.EMFILE
        check_retried(broker, disk.failures.clear)


def test_a_read_with_an_unexpected_error_is_retried_without_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_reader, "READ_RETRY_SECONDS", 0.1)
    disk = UnexpectedDisk()
    with unloaded(disk) as broker:
        disk.fails = True
        check_retried(broker, lambda: setattr(disk, "fails", False))


@contextmanager
def unloaded(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    """Three messages of the topic are only on the disk."""
    config = BrokerConfig(server=FREE_PORTS, storage=StorageConfig(cache_mb=0))
    with EmbeddedBroker(config=config, disk=disk) as broker, RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 3)
        broker.call(broker.broker.storage.checkpoint())
        broker.call(broker.broker.topics.unload(parse_topic(TOPIC)))
        yield broker


def check_retried(broker: EmbeddedBroker, mend: Callable[[], None]) -> None:
    with RawClient(broker.service_url) as reader:
        subscribe(reader, 1, initial_position=pb.CommandSubscribe.Earliest)
        dispatcher = loaded(broker, TOPIC).subscriptions["s"].delivery.dispatcher
        wait_until(lambda: dispatcher.reader.failure != "", 10)
        mend()
        receive(reader, 3)
