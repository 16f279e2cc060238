"""What a client may not reach through a proxy, and how little the attempt costs."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from broker_core.broker_client.addresses import Endpoint
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, ServiceNotReady
from tests.broker.proxy.fake_broker import FakeBroker, answers, connect_to
from tests.support.raw_client import RawClient
from tests.support.running_proxy import RunningProxy, proxy_config, proxy_config_of

REFUSED = "Target broker cannot be validated."


def refusal_of(proxy: RunningProxy, target: str) -> str:
    """The text of the error, after which the connection is closed."""
    with RawClient(proxy.service_url, handshake=False) as client:
        client.send(connect_to(target))
        error = client.expect(BaseCommand.ERROR)
        assert error.error == ServiceNotReady
        assert client.is_closed()
    return str(error.message)


@pytest.mark.parametrize(
    "target",
    [
        "169.254.169.254:80",
        "169.254.169.254:6650",
        "metadata.google.internal:6650",
        "[fd00:ec2::254]:6650",
        "127.0.0.1:22",
        "localhost:6650",
        "[::1]:6650",
        "http://localhost:8080",
        "localhost",
        "pulsar://",
        "a b:6650",
        "x" * 900 + ":6650",
    ],
)
def test_a_hostile_target_is_refused(proxy: RunningProxy, target: str) -> None:
    assert refusal_of(proxy, target) == REFUSED


def test_another_port_of_the_host_of_a_broker_gets_no_connection(proxy: RunningProxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for host in ("127.0.0.1", "localhost", "127.1", "0.0.0.0", "[::ffff:127.0.0.1]"):
            assert refusal_of(proxy, f"{host}:{port}") == REFUSED
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()


class ChangingName:
    """A resolver whose answer changes with each question."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self, target: Endpoint) -> list[str]:
        self.asked += 1
        return [self._answers[min(self.asked, len(self._answers)) - 1]]


def test_a_name_is_resolved_once_so_that_it_cannot_change_after_the_check(broker: EmbeddedBroker) -> None:
    name = ChangingName("127.0.0.1", "169.254.169.254")
    port = broker.service_url.rpartition(":")[2]
    config = proxy_config(broker, allowed_hosts="*.test", allowed_addresses="127.0.0.1", allowed_ports=port)
    with RunningProxy(config, resolve=name) as proxy:
        with RawClient(proxy.service_url, handshake=False) as client:
            client.send(connect_to(f"changes.test:{port}"))
            client.expect(BaseCommand.CONNECTED)
            assert name.asked == 1
        assert refusal_of(proxy, f"changes.test:{port}") == REFUSED


@pytest.mark.parametrize("address", ["169.254.169.254", "127.0.0.1", "::1", "::ffff:127.0.0.1", "100.100.100.200"])
def test_an_allowed_name_with_a_special_address_is_refused(broker: EmbeddedBroker, address: str) -> None:
    config = proxy_config(broker, allowed_hosts="*", allowed_ports="*")
    with RunningProxy(config, resolve=ChangingName(address)) as proxy:
        assert refusal_of(proxy, "innocent.test:6650") == REFUSED


def test_a_broker_that_names_a_forbidden_owner_is_not_believed() -> None:
    """A lookup must not lead a client, or the proxy itself, to an address that is not allowed."""

    def elsewhere(_broker: FakeBroker, request: Any) -> bytes:
        return commands.lookup_connect(request.request_id, "pulsar://169.254.169.254:6650")

    with (
        FakeBroker(answers(BaseCommand.LOOKUP, elsewhere)) as fake,
        RunningProxy(proxy_config_of(fake)) as proxy,
        RawClient(proxy.service_url) as client,
    ):
        client.send(client_commands.lookup(1, "persistent://public/default/t"))
        answer = client.expect(BaseCommand.LOOKUP_RESPONSE)
        assert answer.error == ServiceNotReady and "169.254.169.254" in answer.message


def test_a_client_must_not_claim_to_be_a_proxy(proxy: RunningProxy) -> None:
    with RawClient(proxy.service_url, handshake=False) as client:
        frame = commands_with_proxy_version()
        client.send(frame)
        assert client.expect(BaseCommand.ERROR).message == "Must not provide proxyVersion"
        assert client.is_closed()


def commands_with_proxy_version() -> bytes:
    command = BaseCommand(type=BaseCommand.CONNECT)
    command.connect.client_version = "raw"
    command.connect.protocol_version = 21
    command.connect.proxy_version = "3.0.0"
    return commands.frame(command)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x00\x00\x03\x00\x00\x00\x00",
        b"\xff" * 64,
        b"\x00\x00\x00\x08\x00\x00\x00\x04abcd",
    ],
)
def test_what_is_no_frame_ends_the_connection(proxy: RunningProxy, data: bytes) -> None:
    with RawClient(proxy.service_url, handshake=False) as client:
        client.send(data)
        assert client.is_closed()


def test_a_command_before_connect_ends_the_connection(proxy: RunningProxy) -> None:
    with RawClient(proxy.service_url, handshake=False) as client:
        client.send(client_commands.lookup(1, "persistent://public/default/t"))
        assert client.is_closed()
