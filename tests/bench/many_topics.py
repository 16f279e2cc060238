"""The cost of 10,000 topics in use, each with a producer and a consumer, on a few connections."""

from pathlib import Path

from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer, CommandSubscribe
from tests.bench.brokers import scratch_dir
from tests.bench.rest import rest
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

TOPICS, CONNECTIONS = 10_000, 20
AT_ONCE = 50  # requests in flight on a connection
PERMITS = 1000


def many_topics(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "many-topics")) as process:
        clients = [RawClient(process.service_url) for _ in range(CONNECTIONS)]
        each = TOPICS // CONNECTIONS
        for number, client in enumerate(clients):
            attach(client, range(number * each, (number + 1) * each))
        share, memory = rest(process)
        for client in clients:
            client.close()
    scene = f"idle with {TOPICS:,} topics, each with a producer and a consumer"
    return f"{scene}: {memory:.0f} MB resident, {share:.2%} of a core"


def attach(client: RawClient, numbers: range, permits: int = PERMITS) -> None:
    """Opens a producer and a Shared consumer on each topic; the number is their ID on the connection."""
    for first in range(numbers.start, numbers.stop, AT_ONCE):
        some = range(first, min(first + AT_ONCE, numbers.stop))
        for number in some:
            client.send(produce(number))
        answered(client, BaseCommand.PRODUCER_SUCCESS, len(some))
        for number in some:
            client.send(client_commands.subscribe(number, topic(number), "s", number, sub_type=CommandSubscribe.Shared))
        answered(client, BaseCommand.SUCCESS, len(some))
        if permits:
            client.send(b"".join(client_commands.flow(number, permits) for number in some))


def produce(number: int) -> bytes:
    command = CommandProducer(topic=topic(number), producer_id=number, request_id=number)
    return frame(BaseCommand(type=BaseCommand.PRODUCER, producer=command))


def topic(number: int) -> str:
    return f"persistent://public/default/many-{number}"


def answered(client: RawClient, kind: int, count: int) -> None:
    """Answers arrive in any order, with PINGs between them."""
    while count:
        item = client.next()
        if isinstance(item, Command) and item.type != BaseCommand.PING:
            assert item.type == kind, item.message
            count -= 1
