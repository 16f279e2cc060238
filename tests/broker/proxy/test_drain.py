"""How connections leave a proxy that stops."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import pytest

from broker_core.proxy import drain
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, UnknownError
from tests.broker.proxy.fake_broker import FakeBroker, answers, connect_to
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.running_proxy import FREE_PORTS, RunningProxy, client_of, proxy_config, proxy_config_of


def test_idle_connections_leave_at_once(broker: EmbeddedBroker) -> None:
    config = dataclasses.replace(proxy_config(broker), server=dataclasses.replace(FREE_PORTS, drain_seconds=25))
    proxy = RunningProxy(config).start()
    clients = [RawClient(proxy.service_url), RawClient(proxy.service_url, handshake=False)]
    clients[1].send(connect_to(broker.service_url))
    clients[1].expect(BaseCommand.CONNECTED)
    proxy.stop()  # fails after 30 s
    for client in clients:
        assert client.is_closed()
        client.close()


def test_a_busy_connection_leaves_at_the_deadline() -> None:
    with FakeBroker() as fake:
        proxy = RunningProxy(proxy_config_of(fake)).start()
        with RawClient(proxy.service_url, handshake=False) as client:
            client.send(connect_to(fake.service_url))
            client.expect(BaseCommand.CONNECTED)
            ended = threading.Event()
            busy = threading.Thread(target=_ping_until_closed, args=(client, ended))
            busy.start()
            proxy.stop()
            assert ended.wait(10)
            busy.join()


def _ping_until_closed(client: RawClient, ended: threading.Event) -> None:
    pause = threading.Event()
    try:
        while not pause.wait(0.05):
            client.send(commands.ping())
    except OSError:
        ended.set()


LOOKUPS = 300  # whose answers are more than the operating system buffers in two sockets


def test_a_client_that_takes_no_answers_leaves_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "GOODBYE_SECONDS", 0.1)
    with FakeBroker(answers(BaseCommand.LOOKUP, _refuses_at_length)) as fake:
        proxy = RunningProxy(proxy_config_of(fake)).start()
        with RawClient(proxy.service_url, receive_buffer=4096) as client:
            for number in range(LOOKUPS):
                client.send(client_commands.lookup(number, "persistent://public/default/t"))
            wait_until(lambda: len(fake.bodies(BaseCommand.LOOKUP)) == LOOKUPS, 10)
            proxy.stop()
            assert proxy.gateway.clients == set()


def _refuses_at_length(_broker: FakeBroker, request: Any) -> bytes:
    return commands.lookup_failed(request.request_id, UnknownError, "x" * 60_000)


def test_a_client_that_arrives_after_the_last_ones_have_left_is_disconnected(broker: EmbeddedBroker) -> None:
    """The operating system had taken its connection before the proxy closed its listeners."""
    with RunningProxy(proxy_config(broker)) as proxy:
        proxy.call(_ended(proxy))
        with RawClient(proxy.service_url, handshake=False) as late:
            assert late.is_closed(5)


async def _ended(proxy: RunningProxy) -> None:
    proxy.gateway.end()


def test_a_proxy_that_leaves_is_not_ready_but_still_takes_connections(broker: EmbeddedBroker) -> None:
    server = dataclasses.replace(FREE_PORTS, leave_seconds=3.0)
    proxy = RunningProxy(dataclasses.replace(proxy_config(broker), server=server)).start()
    assert proxy.ask("GET", "/status.html").status == 200
    stopping = threading.Thread(target=proxy.stop)
    stopping.start()
    wait_until(lambda: proxy.ask("GET", "/status.html").status == 503, 2)
    RawClient(proxy.service_url).close()
    stopping.join()
    with pytest.raises(OSError, match="refused"):
        RawClient(proxy.service_url)


def test_clients_continue_through_another_proxy(broker: EmbeddedBroker) -> None:
    one, other = RunningProxy(proxy_config(broker)).start(), RunningProxy(proxy_config(broker)).start()
    client = client_of(f"{one.service_url},{other.service_url.removeprefix('pulsar://')}", seconds=20)
    producer = client.create_producer("moving")
    producer.send(b"before")
    (one if one.gateway.splices else other).stop()
    producer.send(b"after")
    client.close()
    (one if one.is_running else other).stop()


def test_a_file_takes_the_proxy_out(broker: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "status"
    server = dataclasses.replace(FREE_PORTS, status_file=str(file))
    with RunningProxy(dataclasses.replace(proxy_config(broker), server=server)) as proxy:
        assert proxy.ask("GET", "/status.html").status == 404
        file.touch()
        assert proxy.ask("GET", "/status.html").text == "OK"
