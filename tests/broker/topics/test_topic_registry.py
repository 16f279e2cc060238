"""Concurrent requests for a topic, and policies that change while a topic loads."""

import asyncio
from pathlib import Path

import pytest

from broker_core.broker import Broker
from broker_core.config.broker import BrokerConfig
from broker_core.errors import LimitReached, PreconditionFailed, TopicFenced, TopicNotFound
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.metadata.schema.strategy import Strategy
from broker_core.names import TopicName, parse_topic
from broker_core.topic.topic import Topic
from tests.support.condition import wait_until
from tests.support.held_disk import HeldDisk

NAME = parse_topic("persistent://public/default/t")
PASSING = parse_topic("non-persistent://public/default/t")


def numbered(count: int) -> list[TopicName]:
    return [parse_topic(f"persistent://public/default/t-{index}") for index in range(count)]


async def test_concurrent_requests_create_a_topic_once(broker: Broker) -> None:
    told = []
    broker.topics.listeners.add(lambda name, *, exists: told.append((name, exists)))
    made = await asyncio.gather(broker.topics.create(NAME, {"owner": "first"}), broker.topics.create(NAME))
    assert tuple(made) == (True, False)
    assert broker.topics.properties(NAME) == {"owner": "first"}
    assert told == [(NAME, True)]


async def test_a_topic_whose_creator_leaves_is_created_and_announced(tmp_path: Path) -> None:
    broker, disk = Broker(BrokerConfig()), HeldDisk()
    await broker.start(tmp_path, disk=disk)
    told = asyncio.Event()
    broker.topics.listeners.add(lambda _name, *, exists: told.set())
    disk.go.clear()
    creating = asyncio.create_task(broker.topics.create(NAME))
    await asyncio.sleep(0)
    creating.cancel()
    await asyncio.wait([creating])
    again = asyncio.create_task(broker.topics.create(NAME))
    disk.go.set()
    async with asyncio.timeout(10):
        await told.wait()
        assert await again is False
    assert broker.topics.exists(NAME)
    await broker.stop()


async def test_concurrent_clients_do_not_exceed_the_topic_limit(broker: Broker) -> None:
    await broker.tenancy.set_namespace_policies(NAME.namespace, max_topics=2)
    asked = (broker.topics.for_client(name) for name in numbered(5))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [Topic, Topic, *[LimitReached] * 3]


async def test_concurrent_creations_of_partitioned_topics_share_the_limit_of_their_namespace(broker: Broker) -> None:
    await broker.tenancy.set_namespace_policies(NAME.namespace, max_topics=5)
    asked = (broker.partitioned.create(name, 3) for name in numbered(2))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [type(None), PreconditionFailed]
    assert len(broker.topics.of_namespace(NAME.namespace)) == 3


async def test_concurrent_increases_of_partitions_share_the_limit_of_their_namespace(broker: Broker) -> None:
    await asyncio.gather(*(broker.partitioned.create(name, 1) for name in numbered(2)))
    await broker.tenancy.set_namespace_policies(NAME.namespace, max_topics=4)
    asked = (broker.partitioned.update(name, 3) for name in numbered(2))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [type(None), PreconditionFailed]


async def test_concurrent_clients_share_the_last_allowed_topic(broker: Broker) -> None:
    await broker.tenancy.set_namespace_policies(NAME.namespace, max_topics=1)
    first, second = await asyncio.gather(broker.topics.for_client(NAME), broker.topics.for_client(NAME))
    assert first is second


async def test_a_policy_that_changes_while_a_topic_is_loaded_is_in_force(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Topic.load

    async def loads_for_long(topic: Topic) -> None:
        await load(topic)
        await broker.tenancy.topic_policies.set(NAME, max_producers=1)

    monkeypatch.setattr(Topic, "load", loads_for_long)
    topic = await broker.topics.get(NAME, create=True)
    assert topic.policies.max_producers == 1


@pytest.mark.parametrize("partitions", [0, 1])
async def test_deleting_a_non_persistent_topic_keeps_the_schema_of_the_persistent_one(
    broker: Broker, partitions: int
) -> None:
    schema = SchemaData(SchemaType.STRING, b"")
    await broker.topics.get(NAME, create=True)
    if partitions:
        await broker.partitioned.create(PASSING, partitions)
    else:
        await broker.topics.get(PASSING, create=True)
    await broker.schemas.put(NAME, schema, Strategy.FULL)
    await (broker.partitioned if partitions else broker.topics).delete(PASSING)
    assert broker.schemas.version_of(NAME, schema) == 0
    await broker.topics.delete(NAME)
    assert not broker.schemas.versions(NAME)


async def test_neither_clients_nor_requests_create_a_partition_during_a_deletion(broker: Broker) -> None:
    await broker.partitioned.create(NAME, 2)
    first = NAME.partition_name(0)
    await broker.topics.get(first)
    gone = asyncio.Event()
    broker.topics.listeners.add(lambda name, *, exists: gone.set())
    deleting = asyncio.ensure_future(broker.partitioned.delete(NAME, force=True))
    await gone.wait()
    with pytest.raises(TopicNotFound):
        await broker.topics.for_client(first)
    with pytest.raises(TopicNotFound):
        await broker.topics.create(first)
    await deleting
    assert not broker.topics.exists(first)


async def test_setting_properties_during_a_deletion_does_not_restore_the_topic(broker: Broker) -> None:
    await broker.topics.get(NAME, create=True)
    deleting = asyncio.ensure_future(broker.topics.delete(NAME))
    await asyncio.sleep(0)
    with pytest.raises(TopicNotFound):
        await broker.topics.change_properties(NAME, lambda _: {"owner": "ada"})
    await deleting
    assert not broker.topics.exists(NAME)


async def test_looking_for_expiring_topics_does_not_block_the_event_loop(broker: Broker) -> None:
    await asyncio.gather(*(broker.topics.create(name) for name in numbered(3_000)))
    looking = asyncio.ensure_future(broker.topics.always_loaded.load_all())
    iterations = 0
    while not looking.done():
        await asyncio.sleep(0)
        iterations += 1
    assert iterations >= 2


async def test_topics_follow_a_change_of_policies_a_few_at_a_time(broker: Broker) -> None:
    await asyncio.gather(*(broker.topics.get(name, create=True) for name in numbered(1_000)))
    iterations = 0

    async def count() -> None:
        nonlocal iterations
        while True:
            iterations += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await broker.topics.renewal.policies_changed(NAME.namespace, None)
    counting.cancel()
    assert iterations >= 3


async def test_every_loaded_topic_has_a_policy_when_its_change_is_answered(broker: Broker) -> None:
    topics = await asyncio.gather(*(broker.topics.get(name, create=True) for name in numbered(200)))
    await broker.tenancy.set_namespace_policies(NAME.namespace, ttl_seconds=30)
    assert {topic.policies.ttl_seconds for topic in topics} == {30}


async def test_a_policy_of_a_topic_is_about_the_topic_and_its_loaded_partitions_only(broker: Broker) -> None:
    partitioned = parse_topic("persistent://public/default/p")
    await broker.partitioned.create(partitioned, 3)
    for name in (NAME, PASSING, partitioned.partition_name(0), partitioned.partition_name(2), *numbered(2)):
        await broker.topics.get(name, create=True)

    def affected(topic: TopicName | None) -> list[str]:
        return [str(one.name) for one in broker.topics.loaded.affected_by(NAME.namespace, topic)]

    assert affected(NAME) == [str(NAME)]
    assert affected(PASSING) == [str(PASSING)]
    assert affected(partitioned) == [f"{partitioned}-partition-0", f"{partitioned}-partition-2"]
    assert len(affected(None)) == 6
    await broker.topics.unload(partitioned.partition_name(0))
    await broker.topics.unload(partitioned.partition_name(2))
    assert affected(partitioned) == []
    assert len(affected(None)) == 4


async def test_retention_by_time_of_a_partitioned_topic_loads_its_partitions(broker: Broker) -> None:
    await broker.partitioned.create(NAME, 2)
    await asyncio.gather(*(broker.topics.unload(NAME.partition_name(index)) for index in range(2)))
    assert not broker.topics.loaded
    await broker.tenancy.topic_policies.set(NAME, ttl_seconds=60)
    await asyncio.to_thread(wait_until, lambda: len(broker.topics.loaded) == 2, 30)


async def test_a_request_that_comes_too_late_for_an_unloaded_topic_is_told_to_try_again(broker: Broker) -> None:
    topic = await broker.topics.get(NAME, create=True)
    await topic.subscriptions.open("s", durable=True, start=None, earliest=True, properties={})
    await broker.topics.unload(NAME)
    with pytest.raises(TopicFenced, match="try again"):
        topic.subscriptions.find("s")
