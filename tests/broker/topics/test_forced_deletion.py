"""A namespace is deleted with its topics while clients use them, and come back as soon as the broker closes them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from broker_core.admin.namespaces import delete_with_topics, delete_without_topics
from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.errors import Conflict, TopicNotFound
from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.held_disk import HeldDisk
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer

NAMESPACE = NamespaceName("public", "default")
PARTITIONED = f"persistent://{NAMESPACE}/parts"
TOPICS = [f"persistent://{NAMESPACE}/{name}" for name in ("a", "b", "c", "parts-partition-0")]


def test_clients_that_come_back_create_no_topic_in_a_namespace_that_is_deleted() -> None:
    with EmbeddedBroker() as broker, RawClient(broker.service_url) as client, ThreadPoolExecutor(1) as elsewhere:
        broker.create_partitioned_topic(f"persistent://{NAMESPACE}/parts", 3)
        for number, topic in enumerate(TOPICS):
            client.ask(producer(topic, number), BaseCommand.PRODUCER_SUCCESS)
        refused = elsewhere.submit(return_until_refused, client)
        broker.call(delete_with_topics(broker.broker, NAMESPACE))
        assert {error.error for error in refused.result()} == {pb.ServerError.TopicNotFound}
        assert NAMESPACE not in broker.broker.tenancy.all_namespaces()


def return_until_refused(client: RawClient) -> list[pb.CommandError]:
    """Connects each producer again as soon as it is closed, until none may come back; returns the refusals."""
    refusals: list[pb.CommandError] = []
    while len(refusals) < len(TOPICS):
        answer = client.expect_any()
        if isinstance(answer, pb.CommandCloseProducer):
            client.send(frame(producer(TOPICS[answer.producer_id], answer.producer_id)))
        elif isinstance(answer, pb.CommandError):
            refusals.append(answer)
    return refusals


def test_a_namespace_in_which_a_topic_is_being_created_is_not_empty() -> None:
    disk = HeldDisk()
    with EmbeddedBroker(disk=disk) as broker, RawClient(broker.service_url) as client:
        disk.go.clear()
        client.send(frame(producer(TOPICS[0])))
        wait_until(lambda: broker.broker.topics.creation.is_taken(parse_topic(TOPICS[0])), 10)
        with pytest.raises(Conflict):
            broker.call(delete_without_topics(broker.broker, NAMESPACE))
        disk.go.set()
        client.expect(BaseCommand.PRODUCER_SUCCESS)


def test_a_partitioned_topic_that_is_being_created_is_deleted_with_its_namespace() -> None:
    disk = HeldDisk()
    with EmbeddedBroker(disk=disk) as broker:
        creations = broker.call(delete_during_creations(broker.broker, disk))
        assert creations[0] is None
        assert isinstance(creations[1], TopicNotFound)  # it began after the deletion
        assert NAMESPACE not in broker.broker.tenancy.all_namespaces()


async def delete_during_creations(broker: Broker, disk: HeldDisk) -> list[object]:
    """Deletes the namespace while one request creates a partitioned topic and another waits for it; their results."""
    disk.go.clear()
    disk.arrived.clear()
    creations = [asyncio.create_task(broker.partitioned.create(parse_topic(PARTITIONED), 2)) for _ in range(2)]
    await asyncio.to_thread(disk.arrived.wait, 10)
    deletion = asyncio.create_task(delete_with_topics(broker, NAMESPACE))
    await asyncio.sleep(0)  # it begins
    disk.go.set()
    await deletion
    return await asyncio.gather(*creations, return_exceptions=True)


async def test_a_namespace_stays_closed_until_the_last_of_its_deletions_ends(tmp_path: Path) -> None:
    async with held_deletion(tmp_path) as (broker, finish):
        left = asyncio.create_task(delete_with_topics(broker, NAMESPACE))
        await asyncio.sleep(0)  # it begins
        left.cancel()
        await asyncio.wait([left])
        with pytest.raises(TopicNotFound):
            await broker.topics.for_client(parse_topic(TOPICS[1]))
        await finish()


async def test_no_request_creates_a_topic_in_a_namespace_that_is_deleted(tmp_path: Path) -> None:
    async with held_deletion(tmp_path) as (broker, finish):
        with pytest.raises(TopicNotFound):
            await broker.topics.create(parse_topic(TOPICS[1]))
        await finish()


@contextlib.asynccontextmanager
async def held_deletion(directory: Path) -> AsyncIterator[tuple[Broker, Callable[[], Awaitable[None]]]]:
    """A broker that deletes the namespace and waits for the disk, and what lets the deletion succeed."""
    broker, disk = Broker(BrokerConfig()), HeldDisk()
    await broker.start(directory, disk=disk)
    await broker.topics.create(parse_topic(TOPICS[0]))
    disk.arrived.clear()
    disk.go.clear()
    deletion = asyncio.create_task(delete_with_topics(broker, NAMESPACE))
    await asyncio.to_thread(disk.arrived.wait, 10)

    async def finish() -> None:
        disk.go.set()
        await deletion
        assert NAMESPACE not in broker.tenancy.all_namespaces()

    yield broker, finish
    await broker.stop()
