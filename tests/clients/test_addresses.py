"""Every way to reach a broker on this machine."""

import asyncio
import socket
import threading

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS

pytestmark = pytest.mark.feature("addresses")

HAS_IPV6 = socket.has_ipv6 and any(info[0] == socket.AF_INET6 for info in socket.getaddrinfo("::1", None))


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def round_trip(service_url: str, topic: str) -> None:
    client = pulsar.Client(service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    try:
        consumer = client.subscribe(topic, "s")
        client.create_producer(topic).send(b"here")
        assert consumer.receive(timeout_millis=TIMEOUT_MS).data() == b"here"
    finally:
        client.close()


@pytest.mark.parametrize("scheme", ["pulsar", "http"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_client_reaches_the_broker_by_any_name(
    pulsar_broker: EmbeddedBroker, scheme: str, host: str, topic: str
) -> None:
    url = pulsar_broker.service_url if scheme == "pulsar" else pulsar_broker.http_url
    round_trip(f"{scheme}://{host}:{port_of(url)}", topic)


class Forwarder:
    """Forwards a local port to another one, like an SSH tunnel or a container's port mapping."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._started = threading.Event()
        self.connections = 0

    def __enter__(self) -> "Forwarder":
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        """Ends with all connections, since `asyncio.run` cancels remaining tasks."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        to_reader, to_writer = await asyncio.open_connection(*self._target)
        await asyncio.gather(copy(reader, to_writer), copy(to_reader, writer))


async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    finally:
        sink.close()


def test_a_client_needs_only_one_forwarded_port(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    with Forwarder("127.0.0.1", port_of(pulsar_broker.service_url)) as forwarder:
        round_trip(f"pulsar://127.0.0.1:{forwarder.port}", topic)
        assert forwarder.connections > 0


@pytest.mark.skipif(not HAS_IPV6, reason="this machine has no IPv6")
def test_the_same_ports_answer_on_the_ipv6_loopback(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    """Uses a forwarder, because the Python client accepts no IPv6 address in its URL."""
    with Forwarder("::1", port_of(pulsar_broker.service_url)) as forwarder:
        round_trip(f"pulsar://127.0.0.1:{forwarder.port}", topic)
    with socket.create_connection(("::1", port_of(pulsar_broker.http_url)), timeout=10) as connection:
        connection.sendall(b"GET /admin/v2/brokers/health HTTP/1.0\r\n\r\n")
        assert connection.recv(1024).startswith(b"HTTP/1.0 200")
