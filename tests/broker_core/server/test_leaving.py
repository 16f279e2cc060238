"""Clients that leave, topics that are unloaded or deleted, and disks that fail during an operation."""

import asyncio
import errno
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.config.topic import TopicConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic import subscription
from broker_core.topic.special_entries import CHUNKS_PROPERTY
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker_core.storage.faulty_disk import FaultyDisk
from tests.clocks import ShiftedClock
from tests.condition import wait_until
from tests.connections import connections
from tests.loaded_topics import loaded
from tests.raw_client import RawClient
from tests.raw_consuming import close_consumer
from tests.raw_publishing import close_producer, producer, publish, send, send_chunk

TOPIC = "persistent://public/default/t"
NAME = parse_topic(TOPIC)
SLOW = 0.5  # seconds of a sync: long enough for the next step of a test
RESET_AT_CLOSE = struct.pack("ii", 1, 0)
LIVENESS = ConnectionConfig(liveness_timeout_ms=200)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


@pytest.fixture
def broker(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(disk=disk, config=BrokerConfig(server=FREE_PORTS, connection=LIVENESS)) as broker:
        yield broker
        disk.sync_seconds = 0.0
        disk.failures.clear()


def subscribe(client: RawClient, consumer_id: int = 1, name: str = "s", **fields: object) -> None:
    client.send(client_commands.subscribe(consumer_id, TOPIC, name, consumer_id, **fields))  # type: ignore[arg-type]  # by name
    client.expect(BaseCommand.SUCCESS)


def test_a_consumer_whose_unsubscribe_fails_comes_back_and_misses_nothing(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    subscribe(raw)
    disk.failures["sync", ".journal"] = errno.EIO
    command = BaseCommand(type=BaseCommand.UNSUBSCRIBE)
    command.unsubscribe.consumer_id, command.unsubscribe.request_id = 1, 5
    raw.send(frame(command))
    raw.expect(BaseCommand.ERROR)
    raw.expect(BaseCommand.CLOSE_CONSUMER)  # after the error: a client that unsubscribes does not come back
    disk.failures.clear()
    raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    published = publish(raw, 2)
    subscribe(raw)
    raw.send(client_commands.flow(1, 10))
    received = [raw.expect(BaseCommand.MESSAGE).message_id for _ in published]
    assert [one.entryId for one in received] == [one.entryId for one in published]


def test_a_disk_error_is_answered(broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient) -> None:
    publish_to(raw)
    disk.failures["sync", ".journal"] = errno.EIO
    raw.send(client_commands.subscribe(5, TOPIC, "s", 1))
    refused = raw.expect(BaseCommand.ERROR)
    assert (refused.request_id, refused.error) == (5, pb.PersistenceError)


def test_that_a_topic_has_chunks_is_stored_with_the_next_chunk_if_it_fails(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    raw.ask(producer(TOPIC, producer_name="p"), BaseCommand.PRODUCER_SUCCESS)
    disk.failures["sync", ".journal"] = errno.EIO
    raw.send(send_chunk(0, 0, 2))
    raw.expect(BaseCommand.SEND_ERROR)
    raw.expect(BaseCommand.CLOSE_PRODUCER)
    disk.failures.clear()
    wait_until(lambda: not loaded(broker, NAME).special_entries._are_chunks_noted, 30)
    raw.ask(producer(TOPIC, producer_name="p"), BaseCommand.PRODUCER_SUCCESS)
    raw.send(send_chunk(0, 0, 2))
    raw.expect(BaseCommand.SEND_RECEIPT)
    wait_until(lambda: CHUNKS_PROPERTY in loaded(broker, NAME).ledger.properties, 30)


def test_an_ack_that_cannot_be_synced_is_answered(broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient) -> None:
    message_id = publish_to(raw)
    subscribe(raw)
    disk.failures["sync", ".journal"] = errno.EIO
    raw.send(client_commands.acknowledge(1, [message_id], request_id=7))
    refused = raw.expect(BaseCommand.ACK_RESPONSE)
    assert (refused.request_id, refused.error) == (7, pb.PersistenceError)


def publish_to(client: RawClient) -> pb.MessageIdData:
    client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    return publish(client, 1)[0]


def test_a_failing_disk_does_not_keep_the_names_of_a_lost_connection(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    with RawClient(broker.service_url) as client:
        message_id = publish_to(client)
        for consumer_id in (1, 2):
            subscribe(client, consumer_id, f"s{consumer_id}")
            client.send(client_commands.acknowledge(consumer_id, [message_id]))
        disk.failures["sync", ".journal"] = errno.EIO
        broker.call(drop_connections(broker.broker))
    topic = loaded(broker, NAME)
    wait_until(lambda: not any(one.consumers for one in topic.subscriptions.values()), 5)
    wait_until(lambda: not broker.broker.connections, 5)


async def drop_connections(broker: Broker) -> None:
    for connection in connections(broker):
        connection._transport.abort()


def test_a_producer_that_closes_while_its_connection_breaks_releases_its_name(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC, producer_name="p"), BaseCommand.PRODUCER_SUCCESS)
        disk.sync_seconds = SLOW
        client.send(send(0) + close_producer() + commands.ping())
        client.expect(BaseCommand.PONG)
    wait_until(lambda: len(broker.broker.connections) <= 1, 5)
    disk.sync_seconds = 0.0
    raw.ask(producer(TOPIC, producer_name="p"), BaseCommand.PRODUCER_SUCCESS)


def test_a_client_that_leaves_during_name_generation_affects_no_other(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    broker.call(broker.broker.topics.create(NAME))
    disk.sync_seconds = SLOW
    with RawClient(broker.service_url) as client:
        client.send(frame(producer(TOPIC)) + commands.ping())
        client.expect(BaseCommand.PONG)
    disk.sync_seconds = 0.0
    assert raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS).producer_name


def test_names_are_generated_again_after_a_disk_failure(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    broker.call(broker.broker.topics.create(NAME))
    disk.failures["commit", ""] = errno.EIO
    raw.ask(producer(TOPIC), BaseCommand.ERROR)
    disk.failures.clear()
    assert raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS).producer_name


def test_a_topic_is_not_loaded_during_its_unload(broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient) -> None:
    subscribe(raw, initial_position=pb.CommandSubscribe.Earliest)
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        disk.sync_seconds = SLOW
        client.send(send(0) + commands.ping())
        client.expect(BaseCommand.PONG)

        async def unload_and_load() -> Topic:
            unloading = asyncio.ensure_future(broker.broker.topics.unload(NAME))
            await asyncio.sleep(0)
            topic = await broker.broker.topics.get(NAME)
            await unloading
            return topic

        topic = broker.call(unload_and_load())
        assert topic.ledger.entries == topic.subscriptions["s"].cursor.backlog_entries == 1
        assert topic.ledger.last_confirmed.entry_id == 0


def test_a_topic_used_during_its_deletion_is_a_new_one(broker: EmbeddedBroker, raw: RawClient) -> None:
    publish_to(raw)

    async def delete_and_use() -> tuple[Topic, Topic]:
        old = await broker.broker.topics.get(NAME)
        deleting = asyncio.ensure_future(broker.broker.topics.delete(NAME, force=True))
        await asyncio.sleep(0)
        new = await broker.broker.topics.for_client(NAME)
        await deleting
        return old, new

    old, new = broker.call(delete_and_use())
    assert new is not old
    assert broker.broker.topics.exists(NAME)
    assert loaded(broker, NAME) is new
    assert new.ledger.entries == 0
    with RawClient(broker.service_url) as client:
        publish_to(client)


def test_a_reader_replaces_its_dead_connection(broker: EmbeddedBroker, raw: RawClient) -> None:
    """The non-durable subscription ends with its last consumer; the successor must not use the old one."""
    with RawClient(broker.service_url) as dead:
        subscribe(dead, durable=False)
        raw.send(client_commands.subscribe(3, TOPIC, "s", 3, durable=False))
        item = raw.next()
        while item.type == BaseCommand.ERROR and item.message.error == pb.ServiceNotReady:  # type: ignore[union-attr]  # commands only
            raw.send(client_commands.subscribe(3, TOPIC, "s", 3, durable=False))
            item = raw.next()
        assert item.type == BaseCommand.SUCCESS  # type: ignore[union-attr]  # the same here
    raw.send(client_commands.flow(3, 10))
    with RawClient(broker.service_url) as client:
        publish_to(client)
    raw.expect(BaseCommand.MESSAGE)


def test_a_consumer_that_waits_during_an_unload_is_told_to_retry(broker: EmbeddedBroker, raw: RawClient) -> None:
    with RawClient(broker.service_url) as dead:
        subscribe(dead)
        raw.send(client_commands.subscribe(3, TOPIC, "s", 3) + commands.ping())
        raw.expect(BaseCommand.PONG)
        broker.call(broker.broker.topics.unload(NAME))
        refused = raw.expect(BaseCommand.ERROR)
        assert (refused.request_id, refused.error) == (3, pb.ServiceNotReady)


def test_a_subscription_can_be_used_after_a_failed_unsubscribe(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    message_id = publish_to(raw)
    subscribe(raw, 1, sub_type=pb.CommandSubscribe.Shared)
    subscribe(raw, 2, sub_type=pb.CommandSubscribe.Shared)
    raw.send(client_commands.unsubscribe(1, 5))
    assert raw.expect(BaseCommand.ERROR).error == pb.MetadataError
    disk.failures["sync", ".journal"] = errno.EIO
    raw.send(client_commands.acknowledge(1, [message_id]))
    forced = BaseCommand(type=BaseCommand.UNSUBSCRIBE)
    forced.unsubscribe.consumer_id, forced.unsubscribe.request_id, forced.unsubscribe.force = 1, 6, True
    raw.send(frame(forced))
    raw.expect(BaseCommand.CLOSE_CONSUMER)
    raw.expect(BaseCommand.ERROR)
    disk.failures.clear()
    with RawClient(broker.service_url) as client:
        subscribe(client, 4)


def test_a_consumer_closed_before_its_creation_is_never_created(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    """Clients send CLOSE when their SUBSCRIBE took too long."""
    broker.call(broker.broker.topics.create(NAME))
    topic = loaded(broker, NAME)
    disk.sync_seconds = SLOW
    raw.send(client_commands.subscribe(1, TOPIC, "s", 1))
    raw.send(close_consumer())
    answers = {raw.next().type for _ in range(2)}  # type: ignore[union-attr]  # commands only
    disk.sync_seconds = 0.0
    assert answers == {BaseCommand.SUCCESS, BaseCommand.ERROR}
    assert not topic.subscriptions["s"].consumers


def test_a_producer_closed_before_its_creation_is_never_created(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    broker.call(broker.broker.topics.create(NAME))
    disk.sync_seconds = SLOW
    raw.send(frame(producer(TOPIC)) + close_producer())
    answers = {raw.next().type for _ in range(2)}  # type: ignore[union-attr]  # commands only
    disk.sync_seconds = 0.0
    assert answers == {BaseCommand.SUCCESS, BaseCommand.ERROR}
    assert not loaded(broker, NAME).producers


def test_messages_after_a_failed_publish_are_not_stored_before_it(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    """The client sends pending SENDs again, after the one that failed."""
    publish_to(raw)
    disk.failures["sync", ".journal"] = errno.EIO
    raw.send(send(1))
    assert raw.expect(BaseCommand.SEND_ERROR).error == pb.PersistenceError
    disk.failures.clear()
    raw.send(send(2) + commands.ping())
    raw.expect(BaseCommand.CLOSE_PRODUCER)
    raw.expect(BaseCommand.PONG)
    assert loaded(broker, NAME).ledger.entries == 1


def test_the_broker_stops_despite_a_failing_disk(disk: FaultyDisk) -> None:
    broker = EmbeddedBroker(disk=disk).start()
    with RawClient(broker.service_url) as client:
        message_id = publish_to(client)
        subscribe(client)
        client.send(client_commands.acknowledge(1, [message_id]))
        disk.failures["sync", ".journal"] = errno.EIO
        broker.stop()
        assert client.is_closed()


def test_an_unsubscribing_consumer_receives_only_success(broker: EmbeddedBroker, raw: RawClient) -> None:
    subscribe(raw)
    raw.send(client_commands.unsubscribe(1, 2))
    assert raw.expect(BaseCommand.SUCCESS).request_id == 2
    assert not loaded(broker, NAME).subscriptions


def test_a_readers_subscription_survives_a_seek(broker: EmbeddedBroker, raw: RawClient) -> None:
    """The client reconnects with its original start position; the broker knows where it continues."""
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        sent = publish(client, 5)
    first = commands.message_id(-1, -1)
    subscribe(raw, durable=False, start_message_id=first)
    raw.send(client_commands.seek(1, 2, position=sent[3]))
    raw.expect(BaseCommand.CLOSE_CONSUMER)
    raw.expect(BaseCommand.SUCCESS)
    subscribe(raw, durable=False, start_message_id=first)
    raw.send(client_commands.flow(1, 10))
    assert raw.expect(BaseCommand.MESSAGE).message_id.entryId == sent[3].entryId


def test_a_readers_subscription_ends_if_it_does_not_reconnect_after_a_seek(
    broker: EmbeddedBroker, raw: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "RETURN_SECONDS", 0.05)
    subscribe(raw, durable=False)
    raw.send(client_commands.seek(1, 2, position=commands.message_id(-1, -1)))
    raw.expect(BaseCommand.CLOSE_CONSUMER)
    raw.expect(BaseCommand.SUCCESS)
    topic = loaded(broker, NAME)
    wait_until(lambda: not topic.subscriptions and not topic.ledger.cursors, 5)


def test_clients_that_disconnect_before_connected_is_sent_leave_no_state(
    broker: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    address = broker.service_url.removeprefix("pulsar://").split(":")
    gone = threading.Event()

    async def hold_up() -> None:
        gone.wait(5)

    holding = threading.Thread(target=broker.call, args=(hold_up(),))
    holding.start()
    for _ in range(5):
        one = socket.create_connection((address[0], int(address[1])))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        one.close()
    gone.set()
    holding.join()
    with RawClient(broker.service_url):
        wait_until(lambda: len(broker.broker.connections) == 1, 5)
    assert not caplog.records


def test_a_client_that_does_not_read_answers_is_not_read(broker: EmbeddedBroker) -> None:
    """The number of pending answers and requests is bounded; otherwise its end would block other clients."""
    question = BaseCommand(type=BaseCommand.GET_TOPICS_OF_NAMESPACE)
    question.getTopicsOfNamespace.request_id, question.getTopicsOfNamespace.namespace = 1, "public/default"
    question.getTopicsOfNamespace.topics_hash = "x" * 2000  # so that the socket buffers hold few of them
    with RawClient(broker.service_url) as client:
        broker.call(broker.broker.partitioned.create(NAME, 20))
        client.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            for _ in range(10_000):
                client.send(frame(question) * 10)
        (connection,) = connections(broker.broker)
        assert connection._transport.get_write_buffer_size() < 10_000_000  # the answers to one chunk
        assert len(connection._tasks) < 1000  # the same here
        client.socket.settimeout(5)
        while connection._gate._paused:
            assert client.socket.recv(1_000_000)


def test_two_clients_that_create_the_same_partitioned_topic_both_get_it() -> None:
    topics = TopicConfig(auto_creation_type="partitioned", default_partitions=3)
    with (
        EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, topics=topics)) as broker,
        RawClient(broker.service_url) as client,
    ):
        client.send(b"".join(client_commands.partitioned_metadata(request_id, TOPIC) for request_id in (1, 2)))
        found = [client.expect(BaseCommand.PARTITIONED_METADATA_RESPONSE).partitions for _ in range(2)]
        assert found == [3, 3]


def test_a_subscription_exists_even_if_its_client_left_during_creation(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    """A hidden cursor would keep its entries forever."""
    broker.call(broker.broker.topics.create(NAME))
    topic = loaded(broker, NAME)
    disk.sync_seconds = SLOW
    with RawClient(broker.service_url) as client:
        client.send(client_commands.subscribe(1, TOPIC, "s", 1) + commands.ping())
        client.expect(BaseCommand.PONG)
    wait_until(lambda: len(broker.broker.connections) <= 1, 5)
    disk.sync_seconds = 0.0
    wait_until(lambda: list(topic.subscriptions) == list(topic.ledger.cursors) == ["s"], 30)


def test_messages_expire_in_an_unloaded_topic(broker: EmbeddedBroker, raw: RawClient) -> None:
    subscribe(raw, initial_position=pb.CommandSubscribe.Earliest)
    raw.send(close_consumer())
    raw.expect(BaseCommand.SUCCESS)
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 1)
    wait_until(lambda: not loaded(broker, NAME).producers, 5)
    broker.call(broker.broker.tenancy.set_namespace_policies(NAME.namespace, ttl_seconds=3600))
    broker.call(broker.broker.topics.unload(NAME))
    wait_until(lambda: TOPIC in broker.broker.topics.loaded, 5)


def test_closed_producers_are_remembered_for_one_keep_alive_interval() -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(clock=clock) as broker, RawClient(broker.service_url):
        (connection,) = connections(broker.broker)
        session = connection.session
        for producer_id in (1, 2):
            session.forget_producer(producer_id)
        clock.ran_seconds += 20
        session.forget_producer(1)
        clock.ran_seconds += 20
        session.forget_producer(3)
        assert set(session.closed_producers) == {1, 3}
