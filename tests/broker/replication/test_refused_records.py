"""A disk that refuses one record of a replicated topic for a moment."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.errors import PersistenceFailed
from broker_core.metadata.tenancy.documents import CLUSTER, Tenant
from broker_core.names import POLICY_CURSOR, NamespaceName, parse_topic
from broker_core.storage.disk import RealDisk
from broker_core.topic.special_entries import MARKERS_PROPERTY
from tests.support.condition import until

NAMESPACE = NamespaceName("public", "shared")
TOPIC = parse_topic("persistent://public/shared/t")
EVENTS = parse_topic("persistent://public/shared/__change_events")
NOWHERE = {"serviceUrl": "http://localhost:1", "brokerServiceUrl": "pulsar://localhost:1"}


class RefusingDisk(RealDisk):
    """Cannot write what contains `refused`."""

    def __init__(self) -> None:
        self.refused = ""
        self.refusals = 0

    def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
        if self.refused and self.refused.encode() in b"".join(buffers):
            self.refusals += 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().write_synced(fd, buffers, offset)


@pytest.fixture
def disk() -> RefusingDisk:
    return RefusingDisk()


@pytest.fixture
async def broker(tmp_path: Path, disk: RefusingDisk) -> AsyncIterator[Broker]:
    """With a namespace that is replicated to a cluster that cannot be reached."""
    broker = Broker(BrokerConfig())
    await broker.start(tmp_path, disk=disk)
    own = broker.tenancy.cluster
    await broker.tenancy.tool_records.put(CLUSTER, "west", NOWHERE)
    await broker.tenancy.update_tenant("public", Tenant((), (own, "west")))
    await broker.tenancy.create_namespace(NAMESPACE, {"replication_clusters": [own, "west"]})
    yield broker
    await broker.stop()


def replicating() -> int:
    """How many replicators are at work."""
    running = (str(task.get_coro()) for task in asyncio.all_tasks() if not task.done())
    return sum("Replicator." in each for each in running)


async def test_a_topic_whose_load_failed_leaves_no_replicator_beside_that_of_the_next_load(
    broker: Broker, disk: RefusingDisk
) -> None:
    disk.refused = POLICY_CURSOR
    await broker.topics.create(EVENTS)
    with pytest.raises(PersistenceFailed):
        await broker.topics.get(EVENTS)
    assert replicating() == 0
    disk.refused = ""
    topic = await broker.topics.get(EVENTS)
    assert (len(topic.replicators), replicating()) == (1, 1)


async def test_a_failed_load_is_counted_with_its_reason(broker: Broker, disk: RefusingDisk) -> None:
    disk.refused = POLICY_CURSOR
    await broker.topics.create(EVENTS)
    with pytest.raises(PersistenceFailed):
        await broker.topics.get(EVENTS)
    assert broker.topics.load_failures == {"failed_load_ml": 0, "failed_init": 1}


async def test_snapshots_begin_when_the_disk_takes_the_note_that_there_are_markers(
    broker: Broker, disk: RefusingDisk
) -> None:
    disk.refused = MARKERS_PROPERTY
    await broker.topics.create(TOPIC)
    topic = await broker.topics.get(TOPIC)
    await topic.subscriptions.open("s", durable=True, start=None, earliest=True, properties={}, replicated=True)
    await until(lambda: disk.refusals > 0)
    disk.refused = ""
    await until(lambda: topic.special_entries.has_markers)
