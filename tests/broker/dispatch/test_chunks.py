"""Chunks on a Shared subscription, with consumers whose permits the test controls."""

from collections.abc import Iterator

import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command, MessageFrame
from broker_core.wire.message import parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send, send_chunk


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name}"


@pytest.fixture
def publisher(pulsar_broker: EmbeddedBroker, topic: str) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as client:
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        yield client


@pytest.fixture
def first(pulsar_broker: EmbeddedBroker, publisher: RawClient, topic: str) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as client:
        yield subscribed(client, topic)


@pytest.fixture
def second(pulsar_broker: EmbeddedBroker, first: RawClient, topic: str) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as client:
        yield subscribed(client, topic)


def subscribed(client: RawClient, topic: str) -> RawClient:
    client.send(client_commands.subscribe(1, topic, "s", 1, sub_type=pb.CommandSubscribe.Shared))
    client.expect(BaseCommand.SUCCESS)
    return client


def publish(client: RawClient, *frames: bytes) -> None:
    for one in frames:
        client.send(one)
        client.expect(BaseCommand.SEND_RECEIPT)


def chunks(sequence_id: int, count: int) -> list[bytes]:
    return [send_chunk(sequence_id, chunk, count) for chunk in range(count)]


def received(client: RawClient, count: int) -> list[tuple[int, int]]:
    """(sequence id, chunk id) of the next messages."""
    found: list[tuple[int, int]] = []
    while len(found) < count:
        item = client.next()
        if isinstance(item, MessageFrame):
            metadata = parse_metadata(item.entry)
            found.append((metadata.sequence_id, metadata.chunk_id))
        else:
            assert isinstance(item, Command)
    return found


def test_chunks_that_wait_for_their_consumer_do_not_block_others(
    publisher: RawClient, first: RawClient, second: RawClient
) -> None:
    begun, *rest = chunks(0, 3)
    first.send(client_commands.flow(1, 1))
    publish(publisher, begun)
    assert received(first, 1) == [(0, 0)]
    second.send(client_commands.flow(1, 100))
    publish(publisher, *rest, send(7), *chunks(8, 2))
    assert received(second, 3) == [(7, 0), (8, 0), (8, 1)]
    first.send(client_commands.flow(1, 100))
    assert received(first, 2) == [(0, 1), (0, 2)]


def test_a_chunked_message_of_a_closed_consumer_is_redelivered_as_a_whole(
    publisher: RawClient, first: RawClient, second: RawClient
) -> None:
    begun, *rest = chunks(0, 3)
    first.send(client_commands.flow(1, 1))
    publish(publisher, begun)
    received(first, 1)
    second.send(client_commands.flow(1, 100))
    publish(publisher, *rest, send(7))
    assert received(second, 1) == [(7, 0)]
    first.close()
    assert received(second, 3) == [(0, 0), (0, 1), (0, 2)]


def test_a_topic_remembers_over_an_unload_that_it_holds_chunks(
    pulsar_broker: EmbeddedBroker, publisher: RawClient, topic: str
) -> None:
    name = parse_topic(topic)
    publish(publisher, *chunks(0, 2))
    pulsar_broker.call(pulsar_broker.broker.topics.unload(name))
    wait_until(lambda: pulsar_broker.call(pulsar_broker.broker.topics.get(name)).special_entries.has_chunks, 5)
