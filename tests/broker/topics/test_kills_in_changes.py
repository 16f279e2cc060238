"""What a broker finds that was killed after any commit of a change that takes several."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from broker_core.admin.namespaces import delete_with_topics, delete_without_topics
from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.metadata.schema.strategy import Strategy
from broker_core.names import NamespaceName, parse_topic
from broker_core.storage.disk import RealDisk
from tests.support.condition import until
from tests.support.storage import crash

NAMESPACE = NamespaceName("public", "functions")
NAME = parse_topic("persistent://public/functions/t")
EVENTS = parse_topic("persistent://public/functions/__change_events")


class CopyingDisk(RealDisk):
    """Keeps the directory as a kill after each commit leaves it, while `copies` is a list."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.copies: list[Path] | None = None

    def commit(self, connection: sqlite3.Connection) -> None:
        super().commit(connection)
        if self.copies is not None:
            self.copies.append(crash(self._path).rename(f"{self._path}.{len(self.copies)}"))


@asynccontextmanager
async def started(path: Path, disk: RealDisk | None = None) -> AsyncIterator[Broker]:
    broker = Broker(BrokerConfig())
    await broker.start(path, disk=disk)
    try:
        yield broker
    finally:
        await broker.stop()


async def killed_in(
    path: Path, prepare: Callable[[Broker], Awaitable[object]], change: Callable[[Broker], Awaitable[object]]
) -> list[Path]:
    """One directory for each commit of the change."""
    disk = CopyingDisk(path)
    async with started(path, disk) as broker:
        await prepare(broker)
        copies: list[Path] = []
        disk.copies = copies
        await change(broker)
        disk.copies = None
    return copies


async def create_partitions(broker: Broker) -> None:
    await broker.partitioned.create(NAME, 2)
    first = await broker.topics.get(NAME.partition_name(0))
    await first.subscriptions.open("s", durable=True, start=None, earliest=True, properties={}, replicated=False)


def has_exactly(broker: Broker, count: int) -> bool:
    """The metadata counts each partition that exists."""
    names = [str(NAME.partition_name(index)) for index in range(count)]
    return broker.partitioned.count(NAME) == count and broker.topics.of_namespace(NAMESPACE) == names


async def test_a_kill_in_an_update_of_partitions_leaves_no_partition_that_does_not_count(tmp_path: Path) -> None:
    copies = await killed_in(tmp_path / "d", create_partitions, lambda broker: broker.partitioned.update(NAME, 4))
    assert len(copies) > 2
    for copy in copies:
        async with started(copy) as broker:
            await until(partial(has_exactly, broker, 4))
            assert "s" in (await broker.topics.get(NAME.partition_name(3))).subscriptions.by_name


async def test_a_topic_whose_update_cannot_be_finished_is_deleted_with_its_new_partitions(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create_partitions(broker)
        await broker.tenancy.partitioned.note_growth(NAME, 4)
        await broker.topics.create(NAME.partition_name(3))
        await broker.partitioned.delete(NAME)
        assert broker.topics.of_namespace(NAMESPACE) == []


async def fill(broker: Broker) -> None:
    await broker.topics.create(EVENTS)
    await broker.schemas.put(NAME, SchemaData(SchemaType.STRING, b"", {}), Strategy.FULL)
    await broker.tenancy.topic_policies.set(NAME, ttl_seconds=5)


async def check_that_a_namespace_is_deleted_last(tmp_path: Path, delete: Callable[[Broker], Awaitable[None]]) -> None:
    copies = await killed_in(tmp_path / "d", fill, delete)
    assert len(copies) > 3
    outcomes = []
    for copy in copies:
        async with started(copy) as broker:
            outcomes.append(broker.tenancy.has_namespace(NAMESPACE))
            if not outcomes[-1]:
                await broker.tenancy.create_namespace(NAMESPACE)
                assert not broker.topics.exists(EVENTS)
                assert not broker.schemas.versions(NAME)
                assert broker.tenancy.effective.of(NAME).ttl_seconds == 0
    assert outcomes == [True] * (len(copies) - 1) + [False]


async def test_a_kill_in_the_deletion_of_a_namespace_leaves_nothing_to_the_next_of_that_name(tmp_path: Path) -> None:
    await check_that_a_namespace_is_deleted_last(tmp_path, lambda broker: delete_without_topics(broker, NAMESPACE))


async def test_a_kill_in_a_forced_deletion_of_a_namespace_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    await check_that_a_namespace_is_deleted_last(tmp_path, lambda broker: delete_with_topics(broker, NAMESPACE))
