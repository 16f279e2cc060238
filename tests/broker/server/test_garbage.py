"""What a client leaves behind is freed without the garbage collector, which finds cycles late.

The collector is off; what is counted are the objects that hold buffers, or many other objects.
"""

import contextlib
import gc
import socket
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from broker_core.admin import protocol
from broker_core.dispatch.reader import EntryReader
from broker_core.publishing.producer import Producer
from broker_core.server.connection import Connection
from broker_core.server.session import Session
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe
from tests.long.abuse.attackers import Requests
from tests.support.collector import collector_off
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer

TIMES = 5
TOPIC = "persistent://public/default/garbage"
REST_TOPIC = "/admin/v2/persistent/public/default/garbage-of-requests"
COUNTED = {Connection, Session, Producer, EntryReader, ManagedCursor, protocol.Connection}
Leaves = Callable[[EmbeddedBroker], None]


def counted() -> Counter[str]:
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one) in COUNTED)


def leaves_after_a_ping(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        client.send(commands.ping())
        client.expect(BaseCommand.PONG)


def breaks_the_protocol(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        client.send(b"\xff" * 40)
        assert client.is_closed()


def leaves_a_producer(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)


def leaves_a_consumer(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        client.send(client_commands.subscribe(1, TOPIC, "s", 1, initial_position=CommandSubscribe.Latest))
        client.expect(BaseCommand.SUCCESS)
        client.send(client_commands.flow(1, 100))


def deletes_a_subscription(broker: EmbeddedBroker) -> None:
    with contextlib.closing(Requests(broker.http_url)) as requests:
        for method in ("PUT", "DELETE"):
            assert requests.ask(method, f"{REST_TOPIC}/subscription/s")[0] == 204


def aborts_a_body(broker: EmbeddedBroker) -> None:
    requests = Requests(broker.http_url)
    with socket.create_connection(requests.address) as client:
        head = f"POST {REST_TOPIC}/retention HTTP/1.1\r\nHost: {requests.host}\r\nContent-Length: 1000\r\n"
        client.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert client.recv(1_000).startswith(b"HTTP/1.1 100")


def sends_what_is_not_http(broker: EmbeddedBroker) -> None:
    with socket.create_connection(Requests(broker.http_url).address) as client:
        client.sendall(b"\x00\x01 garbage\r\n\r\n")
        assert client.recv(1_000)


@pytest.fixture
def counted_references(broker: EmbeddedBroker) -> Iterator[None]:
    with contextlib.closing(Requests(broker.http_url)) as requests:
        requests.ask("PUT", REST_TOPIC)
    with collector_off():
        yield


@pytest.mark.usefixtures("counted_references")
@pytest.mark.parametrize(
    "client",
    [
        leaves_after_a_ping,
        breaks_the_protocol,
        leaves_a_producer,
        leaves_a_consumer,
        deletes_a_subscription,
        aborts_a_body,
        sends_what_is_not_http,
    ],
)
def test_what_a_client_leaves_behind_is_freed_at_once(client: Leaves, broker: EmbeddedBroker) -> None:
    client(broker)  # a topic and a subscription that it makes are there to stay
    before = counted()
    for _ in range(TIMES):
        client(broker)
    wait_until(lambda: not counted() - before, 10)
