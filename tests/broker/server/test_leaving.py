"""Clients that leave or close in the middle of an operation, and clients that come back."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.topic import subscription
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.server.slow_broker import NAME, SLOW, TOPIC, publish_to, running, subscribe
from tests.support.clocks import ShiftedClock
from tests.support.condition import wait_until
from tests.support.connections import connections
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer
from tests.support.raw_publishing import close_producer, producer, publish, send

RESET_AT_CLOSE = struct.pack("ii", 1, 0)


@pytest.fixture
def broker(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    with running(disk) as broker:
        yield broker


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
