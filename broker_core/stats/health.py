"""Whether the broker is healthy: it writes a message to disk and reads it back, on its own topic, as Pulsar does.

A broker that serves but has lost data that no operator has accepted as lost is degraded, and says so until then.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker_core.errors import PersistenceFailed
from broker_core.names import parse_topic
from broker_core.topic.one_entry import OneEntry, publish_one
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

if TYPE_CHECKING:
    from broker_core.broker import Broker

TOPIC = parse_topic("persistent://pulsar/system/__healthcheck")
DEADLINE_SECONDS = 10.0


async def check_health(broker: Broker) -> None:
    """Raises a `BrokerError` that says what failed. Its message is deleted like any message without a subscription."""
    if reason := unwell(broker):
        raise PersistenceFailed(reason)
    topic = await broker.topics.get(TOPIC, create=True)
    now = broker.clock.wall_ms()
    entry = OneEntry.of(MessageMetadata(producer_name="healthcheck", sequence_id=now, publish_time=now), b"")
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            position = await publish_one(topic, entry)
            stored = await topic.ledger.read(position, 1, len(entry.data))
    except TimeoutError:
        raise PersistenceFailed(f"the broker wrote no message to disk within {DEADLINE_SECONDS:g} seconds") from None
    if not len(stored) or stored.entry(0) != entry.data:
        raise PersistenceFailed(f"the message at {position} does not read as it was written")


def unwell(broker: Broker) -> str:
    """Why no message can be taken, if that is known without trying; otherwise empty."""
    return broker.storage.watch.gone or ("the broker is stopping" if broker.is_leaving else "")


def degraded(broker: Broker) -> str:
    """Why the broker is degraded, in one sentence with the next step; otherwise empty."""
    summary = broker.storage.damage.summary()
    return summary and f"degraded: {summary}. Next: `pulsarctl brokers damage`, then `pulsarctl brokers accept-loss`"
