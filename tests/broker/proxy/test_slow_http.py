"""Slow clients and slow brokers on the web port of a proxy: every wait ends, and its place becomes free."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from broker_core.config.proxy import ProxyHttpConfig
from broker_core.testing import EmbeddedBroker
from tests.support.condition import wait_until
from tests.support.http_stub import HttpStub, Reply
from tests.support.running_proxy import RunningProxy, proxy_config

CHUNKED = "Transfer-Encoding: chunked"
LONG = 60.0  # seconds; a test that waits for it fails


class SilentServer:
    """Reads, unless it is told not to, and answers nothing."""

    def __init__(self, *, reads: bool = True) -> None:
        self.reads = threading.Event()
        if reads:
            self.reads.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._accepted: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.came = self.left = 0

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._accepted.append(connection)
            self.came += 1
            threading.Thread(target=self._drain, args=(connection,), daemon=True).start()

    def _drain(self, connection: socket.socket) -> None:
        self.reads.wait(30)
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass
        self.left += 1

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for one in (self._listening, *self._accepted):
            one.close()


@contextmanager
def before(url: str, broker: EmbeddedBroker, **limits: Any) -> Iterator[RunningProxy]:
    http_config = ProxyHttpConfig(**{"idle_seconds": LONG, "request_seconds": LONG, **limits})
    with RunningProxy(dataclasses.replace(proxy_config(broker, web_url=url), http=http_config)) as proxy:
        yield proxy


@contextmanager
def request(proxy: RunningProxy, header: str, *, receive_buffer: int = 0) -> Iterator[socket.socket]:
    """A client that has sent the header of a request, and nothing of its body."""
    with socket.socket() as client:
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(3)
        client.connect(("127.0.0.1", int(proxy.http_url.rpartition(":")[2])))
        client.sendall(f"PUT /admin/v2/x HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode())
        yield client


def answer(client: socket.socket) -> tuple[int, str]:
    response = http.client.HTTPResponse(client)
    response.begin()
    return response.status, response.read().decode()


@pytest.mark.parametrize("header", [CHUNKED, "Content-Length: 10", "Content-Length: 1000000000"])
def test_a_client_that_stops_sending_its_body_is_refused(broker: EmbeddedBroker, header: str) -> None:
    with (
        SilentServer() as server,
        before(server.url, broker, idle_seconds=0.2) as proxy,
        request(proxy, header) as client,
    ):
        status, text = answer(client)
        assert (status, "did not arrive in time" in text) == (408, True)
        wait_until(lambda: server.left == server.came, 30)


def test_a_client_that_trickles_its_body_is_refused(broker: EmbeddedBroker) -> None:
    with (
        SilentServer() as server,
        before(server.url, broker, request_seconds=0.5) as proxy,
        request(proxy, CHUNKED) as client,
    ):
        client.settimeout(0.02)
        for _ in range(1500):
            try:
                client.recv(1, socket.MSG_PEEK)
                break
            except TimeoutError:
                client.sendall(b"1\r\nx\r\n")
        client.settimeout(3)
        assert answer(client)[0] == 504


@pytest.mark.parametrize(("reads", "size"), [(True, 1), (False, 16 << 20)])
def test_a_broker_that_does_not_answer_is_a_gateway_timeout(broker: EmbeddedBroker, reads: bool, size: int) -> None:
    with (
        SilentServer(reads=reads) as server,
        before(server.url, broker, request_seconds=0.5, max_body_bytes=size) as proxy,
        request(proxy, f"Content-Length: {size}") as client,
    ):
        client.sendall(b"x" * size)
        status, text = answer(client)
        assert (status, "did not answer in time" in text) == (504, True)
        server.reads.set()
        wait_until(lambda: server.left == 1, 30)


def test_health_and_metrics_are_answered_while_all_places_are_taken(broker: EmbeddedBroker) -> None:
    with SilentServer() as server, before(server.url, broker, max_requests=1) as proxy:
        with request(proxy, CHUNKED):
            wait_until(lambda: server.came == 1, 30)
            paths = ("/status.html", "/metrics", "/admin/v2/x")
            assert [proxy.ask("GET", path).status for path in paths] == [200, 200, 503]
        wait_until(lambda: server.left == 1, 30)


def test_a_client_that_does_not_read_its_response_is_disconnected(broker: EmbeddedBroker) -> None:
    """It gets no error in the middle of the response."""
    large = "x" * (32 << 20)
    with (
        HttpStub(lambda _: Reply(200, large)) as stub,
        before(stub.url, broker, request_seconds=0.5) as proxy,
        request(proxy, "Content-Length: 0", receive_buffer=4096) as client,
    ):
        wait_until(lambda: stub.closed == 1, 30)
        received = bytearray()
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(1 << 20):
                received += piece
        assert received.count(b"HTTP/1.1") == 1 and len(received) < len(large)
