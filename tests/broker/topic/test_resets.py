"""Resets of a subscription, and what becomes of them when their caller leaves."""

import asyncio
from pathlib import Path

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.errors import TopicFenced
from broker_core.metadata.policies.migration import Destination
from broker_core.names import parse_topic
from broker_core.storage.records.position import EARLIEST
from broker_core.testing import EmbeddedBroker
from broker_core.topic.migration import Phase
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import until
from tests.support.faulty_disk import FaultyDisk
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, publish

TOPIC = parse_topic("persistent://public/default/t")


async def test_no_reset_begins_beside_one_whose_caller_left(tmp_path: Path) -> None:
    broker, disk = Broker(BrokerConfig()), FaultyDisk()
    await broker.start(tmp_path, disk=disk)
    topic = await broker.topics.get(TOPIC, create=True)
    subscription = await topic.subscriptions.open("s", durable=True, start=None, earliest=True, properties={})
    disk.sync_seconds = 0.2
    leaving = asyncio.create_task(subscription.reset(EARLIEST))
    while not subscription.fenced:  # noqa: ASYNC110  # in a few iterations of the loop; there is no event
        await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    with pytest.raises(TopicFenced):
        await subscription.reset(EARLIEST)
    disk.sync_seconds = 0.0
    await broker.stop()


async def test_a_reader_that_seeks_again_and_again_is_awaited_once(tmp_path: Path) -> None:
    broker = Broker(BrokerConfig())
    await broker.start(tmp_path)
    topic = await broker.topics.get(TOPIC, create=True)
    reader = await topic.subscriptions.open("r", durable=False, start=None, earliest=True, properties={})
    before = len(asyncio.all_tasks())
    for _ in range(100):
        await reader.reset(EARLIEST)
    assert len(asyncio.all_tasks()) < before + 10
    await broker.stop()


def test_a_reset_that_waits_for_its_consumers_is_refused_once_the_topic_moves(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(tmp_path, disk=disk) as broker, RawClient(broker.service_url) as client:
        subscribe(client, str(TOPIC))
        client.ask(producer(str(TOPIC)), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 1)
        receive(client)
        disk.sync_seconds = 0.2
        broker.call(move_during_a_reset(broker.broker))
        disk.sync_seconds = 0.0


async def move_during_a_reset(broker: Broker) -> None:
    topic = await broker.topics.get(TOPIC)
    subscription = topic.subscriptions["s"]
    (consumer,) = subscription.consumers
    subscription.acknowledge(consumer, topic.ledger.first_position.ledger_id, [0])  # which its end waits for
    acknowledged = subscription.cursor.mark_delete
    resetting = asyncio.create_task(subscription.reset(EARLIEST))
    await until(lambda: subscription.fenced)
    await topic.migration.enter(Phase.FROZEN, Destination("pulsar://elsewhere:6650", ""))
    with pytest.raises(TopicFenced):
        await resetting
    assert subscription.cursor.mark_delete == acknowledged
