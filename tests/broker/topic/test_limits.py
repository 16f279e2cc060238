"""Limits that requests at the same moment do not exceed."""

import asyncio
from pathlib import Path

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.errors import LimitReached
from broker_core.names import NamespaceName, parse_topic

TOPIC = parse_topic("persistent://public/default/t")


async def test_subscriptions_that_are_created_together_do_not_exceed_the_limit(tmp_path: Path) -> None:
    broker = Broker(BrokerConfig())
    await broker.start(tmp_path)
    topic = await broker.topics.get(TOPIC, create=True)
    await broker.tenancy.set_namespace_policies(NamespaceName("public", "default"), max_subscriptions=2)
    together = [
        topic.subscriptions.open(f"s-{number}", durable=True, start=None, earliest=True, properties={})
        for number in range(5)
    ]
    created = await asyncio.gather(*together, return_exceptions=True)
    assert [type(result) for result in created].count(LimitReached) == 3
    assert len(topic.subscriptions) == 2
    await broker.stop()
