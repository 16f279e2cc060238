"""Resets of a subscription, and what becomes of them when their caller leaves."""

import asyncio
from pathlib import Path

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.errors import TopicFenced
from broker_core.names import parse_topic
from broker_core.storage.records.position import EARLIEST
from tests.support.faulty_disk import FaultyDisk

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
