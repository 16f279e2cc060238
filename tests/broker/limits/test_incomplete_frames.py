"""The memory of incomplete frames of all connections together."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.config.setting import MB
from broker_core.limits.incomplete_frames import IncompleteFrames
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient

TIMEOUT = 10.0
LIMIT = 10 * MB


class Holder:
    """A connection: the bytes it holds, whether it is read, and why it was closed."""

    def __init__(self, frames: IncompleteFrames) -> None:
        self._frames = frames
        self.read = True
        self.closed = ""

    def brings(self, size: int, *, began: bool = False) -> None:
        self._frames.holds(self, size, began=began)

    def hold_reading(self) -> None:
        self.read = False

    def release_reading(self) -> None:
        self.read = True

    def give_up(self, reason: str) -> None:
        self.closed = reason
        self._frames.holds(self, 0, began=False)


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self.frames = IncompleteFrames(LIMIT, TIMEOUT, lambda: self.now)

    def holders(self, count: int) -> list[Holder]:
        return [Holder(self.frames) for _ in range(count)]

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.frames.look()


def on_a_loop(scene: Callable[[World], Coroutine[None, None, None]]) -> Callable[[], None]:
    def test() -> None:
        asyncio.run(scene(World()))

    test.__name__ = scene.__name__
    return test


@on_a_loop
async def test_below_the_limit_no_connection_waits(world: World) -> None:
    holders = world.holders(2)
    for holder in holders:
        holder.brings(5 * MB)
    world.later(1000)
    assert all(holder.read and not holder.closed for holder in holders)


@on_a_loop
async def test_above_the_limit_only_the_oldest_connection_is_read(world: World) -> None:
    first, second, third = world.holders(3)
    for holder in (first, second, third):
        holder.brings(4 * MB)
    assert (first.read, second.read, third.read) == (True, True, False)
    second.brings(5 * MB)
    first.brings(5 * MB)
    assert (first.read, second.read, third.read) == (True, False, False)


@on_a_loop
async def test_a_waiting_connection_is_read_when_the_oldest_finishes(world: World) -> None:
    first, second, third = world.holders(3)
    for holder in (first, second, third):
        holder.brings(4 * MB)
    first.brings(0)
    assert third.read
    assert not any(holder.closed for holder in (first, second, third))


@on_a_loop
async def test_a_waiting_connection_is_read_again_if_slow_ones_leave_too_little_room(world: World) -> None:
    first, second, waiting = world.holders(3)
    for holder in (first, second, waiting):
        holder.brings(4 * MB)
    second.brings(2 * MB - 1024)
    assert (world.frames.total, waiting.read) == (10 * MB - 1024, False)
    world.later(TIMEOUT)
    assert waiting.read


@on_a_loop
async def test_the_oldest_connection_is_read_even_if_it_was_waiting(world: World) -> None:
    first, second, third = world.holders(3)
    for holder in (first, second, third):
        holder.brings(9 * MB if holder is third else 5 * MB)
    first.brings(0)
    second.brings(7 * MB)
    assert (second.read, third.read) == (True, False)
    second.brings(0)
    assert third.read


@on_a_loop
async def test_slow_connections_are_closed_when_others_need_the_memory(world: World) -> None:
    slow, honest = world.holders(2), Holder(world.frames)
    for holder in slow:
        holder.brings(5 * MB)
    world.later(TIMEOUT)
    honest.brings(1 * MB)
    assert slow[0].closed
    assert honest.read
    assert world.frames.total <= LIMIT


@on_a_loop
async def test_a_stream_of_messages_does_not_count_as_one_slow_frame(world: World) -> None:
    busy, other = world.holders(2)
    for _ in range(10):
        busy.brings(4 * MB, began=True)
        world.later(TIMEOUT / 2)
    other.brings(9 * MB)
    assert not busy.closed


@on_a_loop
async def test_a_waiting_connection_that_sends_nothing_is_closed_soon(world: World) -> None:
    holders = world.holders(4)
    for holder in holders:
        holder.brings(4 * MB)
    for _ in range(20):
        world.later(TIMEOUT / 4)
    assert world.frames.total <= LIMIT
    assert [bool(holder.closed) for holder in holders].count(True) == 2


@on_a_loop
async def test_at_twice_the_limit_a_connection_that_sends_more_is_closed(world: World) -> None:
    holders = world.holders(400)
    for holder in holders:
        holder.brings(60 * 1024)
    assert world.frames.total <= 2 * LIMIT
    assert "maxIncompleteFramesSizeInMB" in holders[-1].closed


@on_a_loop
async def test_a_closed_connection_no_longer_counts(world: World) -> None:
    (holder,) = world.holders(1)
    holder.brings(4 * MB)
    holder.brings(0)
    assert world.frames.total == 0


def large_send(sequence_id: int) -> bytes:
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=1, sequence_id=sequence_id))
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=sequence_id, publish_time=1)
    return frame(command, build_entry(metadata, bytes(4 * MB)))


@pytest.fixture
def small_broker() -> EmbeddedBroker:
    limits = ConnectionConfig(max_incomplete_mb=10, incomplete_seconds=0.5)
    return EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, connection=limits))


def test_large_messages_arrive_next_to_clients_that_never_finish_theirs(small_broker: EmbeddedBroker) -> None:
    with small_broker as broker:
        stuck = [RawClient(broker.service_url) for _ in range(8)]
        for client in stuck:
            client.socket.settimeout(0.2)
            try:
                client.send(large_send(0)[:-1])
            except (TimeoutError, ConnectionError):
                continue  # no longer read, or closed
        with RawClient(broker.service_url) as honest:
            command = BaseCommand(type=BaseCommand.PRODUCER)
            topic = "persistent://public/default/large"
            command.producer.CopyFrom(pb.CommandProducer(topic=topic, producer_id=1, request_id=1))
            honest.ask(command, BaseCommand.PRODUCER_SUCCESS)
            for sequence_id in range(3):
                honest.send(large_send(sequence_id))
                assert honest.expect(BaseCommand.SEND_RECEIPT).sequence_id == sequence_id
        frames = broker.broker.incomplete_frames
        assert frames.total <= 10 * MB
        for client in stuck:
            client.close()
        wait_until(lambda: frames.total == 0, 5)
