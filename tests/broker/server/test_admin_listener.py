"""The admin API begins with its first client, whatever happens then."""

import asyncio
import http.client
import socket
import sys
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.tls import TlsConfig
from broker_core.server import admin_listener
from broker_core.server.server import Server
from broker_core.testing import FREE_PORTS

HANDLERS = "broker_core.admin.all_routes"


async def started(directory: Path, config: BrokerConfig | None = None) -> Server:
    server = Server(config or BrokerConfig(server=FREE_PORTS), directory)
    await server.start()
    return server


def status_of_tenants(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", "/admin/v2/tenants")
        return connection.getresponse().status
    finally:
        connection.close()


async def test_clients_that_come_at_once_are_all_answered(tmp_path: Path) -> None:
    server = await started(tmp_path / "data")
    found = await asyncio.gather(*(asyncio.to_thread(status_of_tenants, server.web_port) for _ in range(4)))
    await server.stop()
    assert found == [200] * 4


async def test_a_start_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await started(tmp_path / "data")
    with monkeypatch.context() as broken:
        broken.setitem(sys.modules, HANDLERS, None)  # its import fails
        waiting = asyncio.create_task(asyncio.to_thread(status_of_tenants, server.web_port))
        failed = asyncio.Event()
        broken.setattr(admin_listener.log, "exception", lambda *_: failed.set())
        async with asyncio.timeout(20):
            await failed.wait()
        assert not waiting.done()
    assert await waiting == 200
    await server.stop()


async def test_a_stop_while_the_first_client_waits_frees_the_ports(tmp_path: Path) -> None:
    server = await started(tmp_path / "data")
    with socket.create_connection(("127.0.0.1", server.web_port)):
        await asyncio.sleep(0)
        await server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.web_port))
    again = await started(tmp_path / "data")
    await again.stop()


async def test_a_client_over_tls_is_the_first(tmp_path: Path) -> None:
    tls = TlsConfig(broker_port=0, web_port=0, local_authority=True)
    server = await started(tmp_path / "data", BrokerConfig(server=FREE_PORTS, tls=tls))
    with socket.create_connection(("127.0.0.1", int(server.broker.http_url_tls.rpartition(":")[2]))):
        assert await asyncio.to_thread(status_of_tenants, server.web_port) == 200
    await server.stop()
