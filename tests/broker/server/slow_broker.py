"""A broker whose disk is slow or fails when a test says so, and one topic of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.faulty_disk import FaultyDisk
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish

TOPIC = "persistent://public/default/t"
NAME = parse_topic(TOPIC)
SLOW = 0.5  # seconds of a sync: long enough for the next step of a test
LIVENESS = ConnectionConfig(liveness_timeout_ms=200)


@contextmanager
def running(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    """The disk works again before the broker stops."""
    with EmbeddedBroker(disk=disk, config=BrokerConfig(server=FREE_PORTS, connection=LIVENESS)) as broker:
        yield broker
        disk.sync_seconds = 0.0
        disk.failures.clear()


def subscribe(client: RawClient, consumer_id: int = 1, name: str = "s", **fields: object) -> None:
    client.send(client_commands.subscribe(consumer_id, TOPIC, name, consumer_id, **fields))  # type: ignore[arg-type]  # by name
    client.expect(BaseCommand.SUCCESS)


def publish_to(client: RawClient) -> pb.MessageIdData:
    client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    return publish(client, 1)[0]
