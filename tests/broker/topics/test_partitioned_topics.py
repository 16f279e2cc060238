"""Concurrent changes of a partitioned topic, and of the topic of the same name."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.errors import BrokerError, Conflict, TopicNotFound
from broker_core.metadata.policies.values import AutoTopicCreation
from broker_core.names import parse_topic
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import StorageError
from tests.support.held_disk import HeldDisk

NAME = parse_topic("persistent://public/default/t")
NUMBER = 3

Change = Callable[[Broker], Coroutine[Any, Any, Any]]


def create(broker: Broker) -> Coroutine[Any, Any, Any]:
    return broker.partitioned.create(NAME, NUMBER)


def create_plain(broker: Broker) -> Coroutine[Any, Any, Any]:
    return broker.topics.create(NAME)


def look_up(broker: Broker) -> Coroutine[Any, Any, Any]:
    return broker.partitioned.for_client(NAME, create=True)


def produce(broker: Broker) -> Coroutine[Any, Any, Any]:
    return broker.topics.for_client(NAME)


@pytest.mark.parametrize("partitioned", [create, look_up], ids=["request", "client"])
@pytest.mark.parametrize("plain", [create_plain, produce], ids=["request", "client"])
@pytest.mark.parametrize("turned", [False, True], ids=["partitioned first", "plain first"])
async def test_one_name_is_never_both_a_topic_and_a_partitioned_topic(
    broker: Broker, partitioned: Change, plain: Change, turned: bool
) -> None:
    await broker.tenancy.set_namespace_policies(
        NAME.namespace, auto_topic_creation=AutoTopicCreation(True, "partitioned", NUMBER)
    )
    both = (plain, partitioned) if turned else (partitioned, plain)
    await asyncio.gather(*(change(broker) for change in both), return_exceptions=True)
    assert broker.topics.exists(NAME) != bool(broker.partitioned.count(NAME))


async def test_the_second_of_two_creations_is_refused(broker: Broker) -> None:
    answers = await asyncio.gather(create(broker), create_plain(broker), create(broker), return_exceptions=True)
    assert [type(answer) for answer in answers] == [type(None), Conflict, Conflict]


@pytest.mark.parametrize("change", ["update", "create_missing"])
@pytest.mark.parametrize("turned", [False, True], ids=["change first", "deletion first"])
async def test_a_deletion_leaves_no_partition_whatever_else_is_changing_the_topic(
    broker: Broker, change: str, turned: bool
) -> None:
    await create(broker)
    await broker.topics.delete(NAME.partition_name(1))
    changes = [
        broker.partitioned.update(NAME, 8) if change == "update" else broker.partitioned.create_missing(NAME),
        broker.partitioned.delete(NAME),
    ]
    await asyncio.gather(*(changes[::-1] if turned else changes), return_exceptions=True)
    assert (broker.partitioned.count(NAME), broker.topics.of_namespace(NAME.namespace)) == (0, [])


async def test_a_deletion_takes_a_partition_that_a_client_is_creating(broker: Broker) -> None:
    await create(broker)
    await broker.topics.delete(NAME.partition_name(1))
    answers = await asyncio.gather(
        broker.topics.for_client(NAME.partition_name(1)),
        broker.partitioned.delete(NAME, force=True),
        return_exceptions=True,
    )
    assert answers[1] is None
    assert broker.topics.of_namespace(NAME.namespace) == []


@pytest.mark.parametrize("again", [create, create_plain], ids=["partitioned", "plain"])
async def test_a_new_topic_has_no_policies_of_a_deleted_partitioned_one(broker: Broker, again: Change) -> None:
    await create(broker)
    await broker.tenancy.topic_policies.set(NAME, max_consumers=3)
    await broker.partitioned.delete(NAME)
    await again(broker)
    assert broker.tenancy.topic_policies.of(NAME).is_empty


async def test_a_partition_that_is_deleted_alone_takes_no_policies_along(broker: Broker) -> None:
    await create(broker)
    await broker.tenancy.topic_policies.set(NAME, max_consumers=3)
    await broker.topics.delete(NAME.partition_name(0))
    assert broker.tenancy.topic_policies.of(NAME).get("max_consumers") == 3


@pytest.fixture
async def interrupted(broker: Broker) -> Broker:
    """An update to four partitions was killed before it copied the subscription and changed the metadata."""
    await create(broker)
    first = await broker.topics.get(NAME.partition_name(0))
    await first.subscriptions.open("s", durable=True, start=None, earliest=True, properties={})
    await broker.topics.create(NAME.partition_name(NUMBER))
    return broker


async def test_a_repeated_update_finishes_what_an_interrupted_one_began(interrupted: Broker) -> None:
    await interrupted.partitioned.update(NAME, NUMBER + 1)
    last = await interrupted.topics.get(NAME.partition_name(NUMBER))
    assert list(last.subscriptions) == ["s"]


async def test_a_deletion_takes_no_topic_beyond_the_number_of_partitions(interrupted: Broker) -> None:
    """It may be the topic of a client that chose the name."""
    await interrupted.partitioned.delete(NAME)
    assert interrupted.topics.of_namespace(NAME.namespace) == [str(NAME.partition_name(NUMBER))]


async def test_the_second_of_two_deletions_finds_nothing(broker: Broker) -> None:
    await create(broker)
    answers = await asyncio.gather(
        broker.partitioned.delete(NAME), broker.partitioned.delete(NAME), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [type(None), TopicNotFound]


async def test_a_partitioned_topic_that_got_partitions_again_is_not_deleted_as_an_empty_one(broker: Broker) -> None:
    await create(broker)
    for index in range(NUMBER):
        await broker.topics.delete(NAME.partition_name(index))
    await asyncio.gather(broker.partitioned.create_missing(NAME), broker.partitioned.delete_if_empty(NAME))
    assert len(await broker.partitioned.existing(NAME)) == broker.partitioned.count(NAME) == NUMBER


async def test_the_metadata_counts_new_partitions_once_they_have_their_subscriptions(tmp_path: Path) -> None:
    broker, disk = Broker(BrokerConfig()), HeldDisk()
    await broker.start(tmp_path, disk=disk)
    await create(broker)
    first = await broker.topics.get(NAME.partition_name(0))
    await first.subscriptions.open("s", durable=True, start=None, earliest=True, properties={})
    disk.go.clear()
    updating = asyncio.create_task(broker.partitioned.update(NAME, NUMBER + 1))
    await asyncio.to_thread(disk.arrived.wait, 20)
    assert broker.partitioned.count(NAME) == NUMBER
    disk.go.set()
    await updating
    last = await broker.topics.get(NAME.partition_name(NUMBER))
    assert (broker.partitioned.count(NAME), list(last.subscriptions)) == (NUMBER + 1, ["s"])
    await broker.stop()


class FailsOnce(RealDisk):
    """One commit of the database fails, after `good` others."""

    good = 1 << 30

    def commit(self, connection: sqlite3.Connection) -> None:
        self.good -= 1
        if self.good == -1:
            raise sqlite3.OperationalError("disk I/O error")
        super().commit(connection)


async def test_an_update_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    broker, disk = Broker(BrokerConfig()), FailsOnce()
    await broker.start(tmp_path, disk=disk)
    await create(broker)
    before = broker.topics.of_namespace(NAME.namespace)
    disk.good = 1  # that the topic grows
    with pytest.raises((BrokerError, StorageError)):
        await broker.partitioned.update(NAME, NUMBER + 4)
    await broker.stop()
    broker = Broker(BrokerConfig())
    await broker.start(tmp_path)
    await broker.partitioned.finish_updates()
    assert (broker.partitioned.count(NAME), broker.topics.of_namespace(NAME.namespace)) == (NUMBER, before)
    await broker.stop()


@pytest.mark.parametrize("partitions", [0, NUMBER])
async def test_policies_that_a_topic_gets_while_it_is_deleted_do_not_outlive_it(
    broker: Broker, partitions: int
) -> None:
    policies, topics = broker.tenancy.topic_policies, broker.partitioned if partitions else broker.topics
    await (create(broker) if partitions else create_plain(broker))
    deleting = asyncio.create_task(topics.delete(NAME))
    while broker.topics.exists(NAME) or broker.partitioned.count(NAME):  # as the admin API checks
        await policies.set(NAME, max_producers=1)
    await deleting
    assert policies.of(NAME).is_empty
