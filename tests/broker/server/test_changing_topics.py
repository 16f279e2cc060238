"""Clients that use a topic while it is created, unloaded, or deleted."""

import asyncio
from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.topic import TopicConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.server.slow_broker import NAME, SLOW, TOPIC, publish_to, running, subscribe
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer
from tests.support.raw_publishing import producer, publish, send


@pytest.fixture
def broker(disk: FaultyDisk) -> Iterator[EmbeddedBroker]:
    with running(disk) as broker:
        yield broker


def test_a_topic_is_not_loaded_during_its_unload(broker: EmbeddedBroker, disk: FaultyDisk, raw: RawClient) -> None:
    subscribe(raw, initial_position=pb.CommandSubscribe.Earliest)
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        disk.sync_seconds = SLOW
        client.send(send(0) + commands.ping())
        client.expect(BaseCommand.PONG)

        async def unload_and_load() -> Topic:
            unloading = asyncio.ensure_future(broker.broker.topics.unload(NAME))
            await asyncio.sleep(0)
            topic = await broker.broker.topics.get(NAME)
            await unloading
            return topic

        topic = broker.call(unload_and_load())
        assert topic.ledger.entries == topic.subscriptions["s"].cursor.backlog_entries == 1
        assert topic.ledger.last_confirmed.entry_id == 0


def test_a_topic_used_during_its_deletion_is_a_new_one(broker: EmbeddedBroker, raw: RawClient) -> None:
    publish_to(raw)

    async def delete_and_use() -> tuple[Topic, Topic]:
        old = await broker.broker.topics.get(NAME)
        deleting = asyncio.ensure_future(broker.broker.topics.delete(NAME, force=True))
        await asyncio.sleep(0)
        new = await broker.broker.topics.for_client(NAME)
        await deleting
        return old, new

    old, new = broker.call(delete_and_use())
    assert new is not old
    assert broker.broker.topics.exists(NAME)
    assert loaded(broker, NAME) is new
    assert new.ledger.entries == 0
    with RawClient(broker.service_url) as client:
        publish_to(client)


def test_a_consumer_that_waits_during_an_unload_is_told_to_retry(broker: EmbeddedBroker, raw: RawClient) -> None:
    with RawClient(broker.service_url) as dead:
        subscribe(dead)
        raw.send(client_commands.subscribe(3, TOPIC, "s", 3) + commands.ping())
        raw.expect(BaseCommand.PONG)
        broker.call(broker.broker.topics.unload(NAME))
        refused = raw.expect(BaseCommand.ERROR)
        assert (refused.request_id, refused.error) == (3, pb.ServiceNotReady)


def test_two_clients_that_create_the_same_partitioned_topic_both_get_it() -> None:
    topics = TopicConfig(auto_creation_type="partitioned", default_partitions=3)
    with (
        EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, topics=topics)) as broker,
        RawClient(broker.service_url) as client,
    ):
        client.send(b"".join(client_commands.partitioned_metadata(request_id, TOPIC) for request_id in (1, 2)))
        found = [client.expect(BaseCommand.PARTITIONED_METADATA_RESPONSE).partitions for _ in range(2)]
        assert found == [3, 3]


def test_messages_expire_in_an_unloaded_topic(broker: EmbeddedBroker, raw: RawClient) -> None:
    subscribe(raw, initial_position=pb.CommandSubscribe.Earliest)
    raw.send(close_consumer())
    raw.expect(BaseCommand.SUCCESS)
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 1)
    wait_until(lambda: not loaded(broker, NAME).producers, 5)
    broker.call(broker.broker.tenancy.set_namespace_policies(NAME.namespace, ttl_seconds=3600))
    broker.call(broker.broker.topics.unload(NAME))
    wait_until(lambda: TOPIC in broker.broker.topics.loaded, 5)
