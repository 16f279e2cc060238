"""No iteration of the event loop takes long, however many subscriptions, consumers, or partitions there are.

What counts is the CPU time of the loop's thread. The limit is far above what an iteration needs, and far below what the
same work takes in one.
"""

import asyncio
import gc
import itertools
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.metadata.policies.values import DispatchRate
from broker_core.names import TopicName, parse_topic
from broker_core.rates.time_slices import sliced
from broker_core.server.server import Server
from broker_core.testing import FREE_PORTS
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import framed
from tests.support.condition import PATIENCE_SECONDS, until
from tests.support.loop_iterations import MeasuredLoop, iterations, longest_iteration
from tests.support.raw_publishing import producer, send

SUBSCRIPTIONS = 10_000
CONSUMERS = 1_000
LIMIT = 0.05  # seconds
MANY = parse_topic("persistent://public/default/many")
KEYS = "persistent://public/default/keys"
WATCHED = range(0, SUBSCRIPTIONS, 500)  # a sample of the subscriptions


class MeasuredBroker:
    """A broker on a measured loop, which runs only during the calls."""

    def __init__(self, directory: Path) -> None:
        self._runner = asyncio.Runner(loop_factory=MeasuredLoop)
        self._writers: list[asyncio.StreamWriter] = []
        self.server = Server(BrokerConfig(server=FREE_PORTS), directory)
        self.run(self.server.start())
        self.broker = self.server.broker

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    def longest_iteration(self, work: Coroutine[Any, Any, object]) -> float:
        gc.collect()
        gc.disable()
        try:
            return float(self.run(longest_iteration(work)))
        finally:
            gc.enable()

    def longest_of_each(self, work: Callable[[], Coroutine[Any, Any, object]]) -> float:
        """The least of three attempts: each has what the work itself needs, and not each has a page fault."""
        return min(self.longest_iteration(work()) for _ in range(3))

    def stop(self) -> None:
        for writer in self._writers:
            writer.close()
        self.run(self.server.stop())
        self._runner.close()

    async def topic(self) -> Topic:
        return await self.broker.topics.for_client(MANY)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        self._writers.append(writer)
        writer.write(client_commands.connect("raw"))
        await reader.read(1000)
        return reader, writer


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredBroker]:
    """A broker with a topic that has many subscriptions and a few messages."""
    broker = MeasuredBroker(tmp_path_factory.mktemp("many"))
    broker.run(subscribe_many_times(broker))
    broker.run(publish(broker))
    yield broker
    broker.stop()


async def subscribe_many_times(broker: MeasuredBroker) -> None:
    subscriptions = (await broker.topic()).subscriptions
    names = iter(range(SUBSCRIPTIONS))

    async def some() -> None:
        for name in names:
            await subscriptions.open(str(name), durable=True, start=None, earliest=True, properties={})

    await asyncio.gather(*(some() for _ in range(200)))


async def publish(broker: MeasuredBroker) -> None:
    reader, writer = await broker.connect()
    writer.write(frame(producer(str(MANY))))
    await reader.read(1000)
    for sequence_id in range(10):
        writer.write(send(sequence_id))
        await reader.read(1000)


async def acknowledge(broker: MeasuredBroker, entry_id: int) -> None:
    topic = await broker.topic()
    ledger_id = topic.ledger.last_confirmed.ledger_id
    async for one in sliced(list(topic.subscriptions.values())):
        one.cursor.acknowledge(ledger_id, [entry_id])


def test_loading_a_topic_with_many_subscriptions(many: MeasuredBroker) -> None:
    many.run(many.broker.topics.unload(MANY))
    assert many.longest_iteration(many.topic()) < LIMIT


def test_changing_a_rate_of_many_subscriptions(many: MeasuredBroker) -> None:
    rate = DispatchRate(messages=1000)
    changing = many.broker.tenancy.topic_policies.set(MANY, subscription_dispatch_rate=rate)
    assert many.longest_iteration(changing) < LIMIT
    topic = many.run(many.topic())
    assert all(one.delivery.dispatcher.budget.rates is not None for one in topic.subscriptions.values())


def test_writing_the_acknowledgments_of_many_subscriptions(many: MeasuredBroker) -> None:
    async def acknowledged() -> None:
        await acknowledge(many, 4)
        await many.broker.storage.acks.written()

    assert many.longest_iteration(acknowledged()) < LIMIT


def test_a_checkpoint_of_many_changed_cursors(many: MeasuredBroker) -> None:
    many.run(acknowledge(many, 6))
    many.run(many.broker.storage.acks.written())
    assert many.longest_iteration(many.broker.storage.checkpoint()) < LIMIT


def test_expiring_messages_of_many_subscriptions(many: MeasuredBroker) -> None:
    topic = many.run(many.topic())
    watched = [topic.subscriptions[str(name)].cursor for name in WATCHED]

    async def expire() -> None:
        await many.broker.tenancy.topic_policies.set(MANY, ttl_seconds=1)
        await until(lambda: not any(cursor.backlog_entries for cursor in watched), interval=0.01)

    assert many.longest_iteration(expire()) < LIMIT


def test_closing_a_connection_with_many_consumers(many: MeasuredBroker) -> None:
    many.run(attach_many(many))

    async def close() -> None:
        for connection in many.broker.connections:
            connection.close()
        await until(lambda: not many.broker.connections, interval=0.01)

    assert many.longest_iteration(close()) < LIMIT


async def attach_many(broker: MeasuredBroker) -> None:
    reader, writer = await broker.connect()
    reading = asyncio.create_task(reader.read())
    for number in range(CONSUMERS):
        kind = pb.CommandSubscribe.Key_Shared
        writer.write(client_commands.subscribe(number, KEYS, "s", number, sub_type=kind))
        if number % 100 == 0:
            await asyncio.sleep(0.001)  # lets the broker run: it bounds the requests in flight
    await until(lambda: consumers(broker) == CONSUMERS, interval=0.01)
    reading.cancel()


def consumers(broker: MeasuredBroker) -> int:
    """0 while the topic is being loaded."""
    topic = broker.broker.topics.loaded.get(KEYS)
    return len(topic.subscriptions["s"].consumers) if topic is not None and "s" in topic.subscriptions else 0


def test_acknowledging_entries_of_many_missing_ledgers(many: MeasuredBroker) -> None:
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.consumer_id, command.ack.ack_type = 1, pb.CommandAck.Individual
    for number in range(20_000):
        command.ack.message_id.add(ledgerId=10**9 + number, entryId=0)

    async def acknowledged() -> None:
        reader, writer = await many.connect()
        writer.write(client_commands.subscribe(1, str(MANY), "1", 1, sub_type=pb.CommandSubscribe.Shared))
        await reader.read(1000)
        writer.write(frame(command) + client_commands.get_last_message_id(1, 2))
        await reader.read(1000)

    assert many.longest_of_each(acknowledged) < LIMIT


def _acknowledging(count: int) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.consumer_id, command.ack.ack_type = 1, pb.CommandAck.Individual
    for number in range(count):
        command.ack.message_id.add(ledgerId=10**9, entryId=number)
    return command


def _redelivering(count: int) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    command.redeliverUnacknowledgedMessages.consumer_id = 1
    for number in range(count):
        command.redeliverUnacknowledgedMessages.message_ids.add(ledgerId=10**9, entryId=number)
    return command


@pytest.mark.parametrize("many_ids", [_acknowledging, _redelivering], ids=["ack", "redeliver"])
def test_a_command_of_very_many_ids_is_carried_out_in_several_iterations(
    many: MeasuredBroker, many_ids: Callable[[int], BaseCommand]
) -> None:
    command = many_ids(150_000)

    async def carried_out() -> None:
        reader, writer = await many.connect()
        writer.write(client_commands.subscribe(1, str(MANY), "1", 1, sub_type=pb.CommandSubscribe.Shared))
        await reader.read(1000)
        writer.write(frame(command) + client_commands.get_last_message_id(1, 2))
        await reader.read(1000)

    assert many.longest_of_each(carried_out) < LIMIT


def test_small_commands_of_one_read_are_spread_over_iterations(many: MeasuredBroker) -> None:
    async def iterations_to_answer(count: int) -> int:
        reader, writer = await many.connect()
        writer.write(commands.ping() * count)
        before = iterations().iterations
        await reader.readexactly(count * len(commands.pong()))
        return iterations().iterations - before

    assert many.run(iterations_to_answer(15_000)) - many.run(iterations_to_answer(1)) >= 10
    assert many.longest_of_each(lambda: iterations_to_answer(20_000)) < LIMIT / 2


def test_deleting_a_topic_with_many_subscriptions(many: MeasuredBroker) -> None:
    assert many.longest_iteration(many.broker.topics.delete(MANY, force=True)) < LIMIT


def test_creating_and_deleting_many_partitions(many: MeasuredBroker) -> None:
    name: TopicName = parse_topic("persistent://public/default/parts")

    async def create_and_delete() -> None:
        await many.broker.partitioned.create(name, 1_000)
        await many.broker.partitioned.delete(name)

    assert many.longest_iteration(create_and_delete()) < LIMIT


def test_many_consumers_that_register_with_a_scalable_topic_at_once(many: MeasuredBroker) -> None:
    name = parse_topic("topic://public/default/scalable")
    many.run(many.broker.scalable.changes.create(name, 8, {}))
    subscriptions = (f"s{number}" for number in itertools.count())

    async def register() -> None:
        subscription = next(subscriptions)
        reader, writer = await many.connect()
        writer.write(b"".join(_registration(str(name), subscription, number) for number in range(500)))
        for _ in range(500):
            await reader.readexactly(int.from_bytes(await reader.readexactly(4)))

    assert many.longest_of_each(register) < LIMIT
    assert many.longest_iteration(many.broker.scalable.changes.delete(name, force=True)) < LIMIT


def _registration(topic: str, subscription: str, number: int) -> bytes:
    return framed(
        BaseCommand.SCALABLE_TOPIC_SUBSCRIBE,
        request_id=number,
        topic=topic,
        subscription=subscription,
        consumer_name=f"c{number}",
        consumer_id=number,
        consumer_type=pb.STREAM,
    )


HOSTILE_LIMIT = 0.02  # seconds; what one client sends at once may hold up the others for this long


async def request(port: int, data: bytes) -> bytes:
    """The answer to bytes that close their HTTP connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    async with asyncio.timeout(PATIENCE_SECONDS):
        answer = await reader.read()
    writer.close()
    return answer


def test_a_thousand_lookups_in_one_write(many: MeasuredBroker) -> None:
    lookups = b"".join(client_commands.lookup(number, f"{MANY}-{number}") for number in range(1_000))

    async def look_up() -> None:
        reader, writer = await many.connect()
        writer.write(lookups + frame(BaseCommand(type=BaseCommand.PING, ping=pb.CommandPing())))
        answers = await reader.read(1 << 20)
        while len(answers) < 1_000 * 20:
            answers += await reader.read(1 << 20)

    assert many.longest_of_each(look_up) < HOSTILE_LIMIT


def test_a_body_of_tiny_http_chunks(many: MeasuredBroker) -> None:
    head = b"POST /admin/v2/namespaces/public/default/retention HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    body = b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n1\r\n" * 100_000 + b"0\r\n\r\n"

    async def upload() -> None:
        assert b" 400 " in await request(many.server.web_port, head + body)

    many.run(request(many.server.web_port, b"GET /admin/v2/clusters HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    assert many.longest_of_each(upload) < HOSTILE_LIMIT


def test_the_first_request_for_the_openapi_document(many: MeasuredBroker) -> None:
    get = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    async def read_document() -> None:
        assert (await request(many.server.web_port, get)).startswith(b"HTTP/1.1 200 ")

    assert many.longest_iteration(read_document()) < HOSTILE_LIMIT
