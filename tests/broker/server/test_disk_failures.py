"""Disks that fail during a command: the client gets an error, and loses nothing when the disk works again."""

import errno
from collections.abc import Iterator

import pytest

from broker_core.broker import Broker
from broker_core.testing import EmbeddedBroker
from broker_core.topic.special_entries import CHUNKS_PROPERTY
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.server.slow_broker import NAME, TOPIC, publish_to, running, subscribe
from tests.support.condition import wait_until
from tests.support.connections import connections
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish, send, send_chunk


@pytest.fixture
def broker(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    with running(disk) as broker:
        yield broker


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


def test_names_are_generated_again_after_a_disk_failure(
    broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient
) -> None:
    broker.call(broker.broker.topics.create(NAME))
    disk.failures["commit", ""] = errno.EIO
    raw.ask(producer(TOPIC), BaseCommand.ERROR)
    disk.failures.clear()
    assert raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS).producer_name


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
