"""Requests that overtake each other while the disk is slow: what a client is told is what the broker has done."""

import errno
from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.config.server import ConnectionConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.connections import connections
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, publish, send

TOPIC = "persistent://public/default/t"
CONFIG = replace(BrokerConfig(server=FREE_PORTS), deduplication=DeduplicationConfig(enabled=True))


class HeldSyncs(FaultyDisk):
    """Syncs wait while `go` is clear; `held` is set when one comes."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.held = Event(), Event()
        self.go.set()

    def sync(self, fd: int) -> None:
        self.held.set()
        self.go.wait(30)
        super().sync(fd)

    def hold(self) -> None:
        self.held.clear()
        self.go.clear()


@pytest.fixture
def disk() -> HeldSyncs:
    return HeldSyncs()


@pytest.fixture
def broker(disk: HeldSyncs) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=CONFIG, disk=disk) as broker:
        loaded(broker, TOPIC, create=True)
        yield broker
        disk.failures.clear()
        disk.go.set()


@pytest.fixture
def clients(broker: EmbeddedBroker) -> Iterator[tuple[RawClient, RawClient]]:
    with RawClient(broker.service_url) as first, RawClient(broker.service_url) as second:
        yield first, second


def test_a_second_subscribe_waits_for_the_cursor_of_the_first(
    broker: EmbeddedBroker, disk: HeldSyncs, clients: tuple[RawClient, RawClient]
) -> None:
    first, second = clients
    disk.hold()
    disk.failures["sync", ".journal"] = errno.EIO
    first.send(client_commands.subscribe(1, TOPIC, "s", 1, sub_type=pb.CommandSubscribe.Shared))
    assert disk.held.wait(30)
    second.send(client_commands.subscribe(1, TOPIC, "s", 1, sub_type=pb.CommandSubscribe.Shared))
    second.ask(BaseCommand(type=BaseCommand.PING, ping=pb.CommandPing()), BaseCommand.PONG)
    disk.go.set()
    assert first.expect(BaseCommand.ERROR).error == pb.PersistenceError
    disk.failures.clear()
    answer = second.next()
    assert isinstance(answer, Command)
    topic = loaded(broker, TOPIC)
    assert set(topic.subscriptions) <= set(topic.ledger.cursors)
    assert (answer.type == BaseCommand.SUCCESS) == ("s" in topic.subscriptions)


def test_a_producer_that_is_closed_while_it_connects_gets_an_error(
    broker: EmbeddedBroker, disk: HeldSyncs, clients: tuple[RawClient, RawClient]
) -> None:
    busy, late = clients
    busy.ask(producer(TOPIC, producer_name="busy"), BaseCommand.PRODUCER_SUCCESS)
    topic = loaded(broker, TOPIC)
    disk.hold()
    busy.send(send(0, name="busy"))
    assert disk.held.wait(30)
    late.send(frame(producer(TOPIC, producer_name="late", producer_id=7)))
    wait_until(lambda: "late" in topic.producers, 30)
    unload = Thread(target=lambda: broker.call(broker.broker.topics.unload(parse_topic(TOPIC))))
    unload.start()
    assert late.expect(BaseCommand.CLOSE_PRODUCER).producer_id == 7
    disk.go.set()
    assert late.expect(BaseCommand.ERROR).error == pb.ServiceNotReady
    unload.join(30)


def test_a_client_is_not_read_while_too_many_of_its_acknowledgments_wait_for_the_disk() -> None:
    disk, config = HeldSyncs(), BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_pending_publishes=10))
    with EmbeddedBroker(config=config, disk=disk) as broker, RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 20)
        subscribe(client, TOPIC, initial_position=pb.CommandSubscribe.Earliest)
        messages = receive(client, 20)
        disk.hold()
        for request_id, message in enumerate(messages):
            client.send(client_commands.acknowledge(1, [message.message_id], request_id=request_id))
        (connection,) = connections(broker.broker)
        wait_until(lambda: connection.is_held, 10)
        disk.go.set()
        for _ in messages:
            client.expect(BaseCommand.ACK_RESPONSE)
        wait_until(lambda: not connection.is_held, 10)
