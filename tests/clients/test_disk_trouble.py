"""A slow, full, or failing disk, as clients see it."""

import errno
import time
from collections.abc import Iterator
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.clients.conftest import TIMEOUT_MS
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

pytestmark = pytest.mark.feature("durability")

TOPIC = "persistent://public/default/t"
SLOW_SYNC_SECONDS = 0.2
PONG_WITHIN_SECONDS = 0.05


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


@pytest.fixture
def broker(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(disk=disk) as broker:
        yield broker
        disk.full, disk.sync_seconds = False, 0.0
        disk.failures.clear()


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    yield client
    client.close()


def ignore(result: pulsar.Result, message_id: pulsar.MessageId) -> None:
    """A publish callback that ignores the result."""


def test_a_slow_disk_delays_only_receipts(broker: EmbeddedBroker, disk: FaultyDisk, client: pulsar.Client) -> None:
    publisher = client.create_producer(TOPIC, block_if_queue_full=True)
    for index in range(500):
        publisher.send_async(str(index).encode(), ignore)
    publisher.flush()
    disk.sync_seconds = SLOW_SYNC_SECONDS
    with RawClient(broker.service_url) as raw:
        delays = []
        for index in range(20):
            publisher.send_async(str(index).encode(), ignore)
            started = time.monotonic()
            raw.send(commands.ping())
            raw.expect(BaseCommand.PONG)
            delays.append(time.monotonic() - started)
        assert sorted(delays)[-3] < PONG_WITHIN_SECONDS
        started = time.monotonic()
        reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
        assert [int(reader.read_next(timeout_millis=TIMEOUT_MS).data()) for _ in range(500)] == list(range(500))
        assert time.monotonic() - started < SLOW_SYNC_SECONDS * 5


def test_a_full_disk_refuses_publishes_and_recovers(
    broker: EmbeddedBroker, disk: FaultyDisk, client: pulsar.Client
) -> None:
    consumer = client.subscribe(TOPIC, "s")
    publisher = client.create_producer(TOPIC)
    for index in range(10):
        publisher.send(str(index).encode())
    with RawClient(broker.service_url) as raw:
        raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        disk.full = True
        refused = publish_until_refused(raw)
        assert refused.error == pb.PersistenceError
        assert "space" in refused.message.lower() or "full" in refused.message.lower()
        received = []
        for _ in range(10):
            message = consumer.receive(timeout_millis=TIMEOUT_MS)
            consumer.acknowledge(message)
            received.append(int(message.data()))
        assert received == list(range(10))
        disk.full = False
    wait_until(lambda: can_publish(broker), 15)


def publish_until_refused(raw: RawClient) -> Any:
    """Preallocated space can still take messages, which count as published."""
    for sequence_id in range(200):
        raw.send(send(sequence_id, bytes(1_000_000)))
        item = raw.next()
        assert isinstance(item, Command)
        if item.type == BaseCommand.SEND_ERROR:
            return item.message
    raise AssertionError("a full disk took 200 MB")


def can_publish(broker: EmbeddedBroker) -> bool:
    with RawClient(broker.service_url) as raw:
        raw.send(commands.frame(producer(TOPIC)))
        if raw.next().type != BaseCommand.PRODUCER_SUCCESS:  # type: ignore[union-attr]  # a producer gets commands only
            return False
        raw.send(send(0))
        return raw.next().type == BaseCommand.SEND_RECEIPT  # type: ignore[union-attr]  # a command too


def test_a_failed_sync_fails_its_publishes_and_the_topic_recovers(broker: EmbeddedBroker, disk: FaultyDisk) -> None:
    with RawClient(broker.service_url) as raw:
        raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        raw.send(send(0))
        raw.expect(BaseCommand.SEND_RECEIPT)
        disk.failures["sync", ".journal"] = errno.EIO
        raw.send(send(1))
        refused = raw.expect(BaseCommand.SEND_ERROR)
        assert (refused.sequence_id, refused.error) == (1, pb.PersistenceError)
        disk.failures.clear()
    wait_until(lambda: can_publish(broker), 10)
