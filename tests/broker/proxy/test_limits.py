"""How much of a proxy clients can take."""

from __future__ import annotations

import contextlib
import dataclasses
import socket

import pytest

from broker_core.config.proxy import ProxyLimits, ProxySecurityConfig
from broker_core.proxy.splice import Splice
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand, NotAllowedError, TooManyRequests
from tests.broker.proxy.fake_broker import FakeBroker, Peer, connect_to, greet
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.running_proxy import RunningProxy, proxy_config, proxy_config_of

TOPIC = "persistent://public/default/t"


def limited(broker: EmbeddedBroker, **limits: int) -> RunningProxy:
    return RunningProxy(dataclasses.replace(proxy_config(broker), limits=ProxyLimits(**limits)))


def test_more_connections_than_allowed_are_refused(broker: EmbeddedBroker, caplog: pytest.LogCaptureFixture) -> None:
    for limit, reason in (("max_connections", "connections"), ("max_connections_per_ip", "connections on address")):
        with limited(broker, **{limit: 2}) as proxy:
            clients = [RawClient(proxy.service_url) for _ in range(2)]
            third = RawClient(proxy.service_url, handshake=False)
            error = third.expect(BaseCommand.ERROR)
            assert error.error == NotAllowedError
            assert f"Reached the maximum number of {reason}" in error.message
            assert third.is_closed()
            clients.pop().close()
            wait_until(lambda: proxy.gateway.connection_count.taken == 1, 5)
            clients.append(RawClient(proxy.service_url))
            for client in (*clients, third):
                client.close()
    assert "Exception in" not in caplog.text


def test_a_spliced_connection_keeps_its_place_until_it_ends(broker: EmbeddedBroker) -> None:
    with limited(broker, max_connections=1) as proxy:
        with RawClient(proxy.service_url, handshake=False) as client:
            client.send(connect_to(broker.service_url))
            client.expect(BaseCommand.CONNECTED)
            assert proxy.gateway.connection_count.taken == 1
        wait_until(lambda: proxy.gateway.connection_count.taken == 0, 5)


def test_more_lookups_than_allowed_are_refused() -> None:
    def only_connects(broker: FakeBroker, peer: Peer, command: Command) -> None:
        greet(broker, peer, command)

    with FakeBroker(only_connects) as fake:
        config = dataclasses.replace(proxy_config_of(fake), limits=ProxyLimits(max_lookups=2))
        with RunningProxy(config) as proxy:
            with RawClient(proxy.service_url) as client:
                for number in range(3):
                    client.send(client_commands.lookup(number, TOPIC))
                    wait_until(lambda most=number: proxy.gateway.looking_up >= min(most + 1, 2), 5)  # type: ignore[misc]  # a lambda's default is untyped
                refused = client.expect(BaseCommand.LOOKUP_RESPONSE)
                assert (refused.request_id, refused.error) == (2, TooManyRequests)
                assert proxy.gateway.counts.rejected["lookup"] == 1
            wait_until(lambda: proxy.gateway.looking_up == 0, 5)


def test_a_client_that_says_nothing_is_disconnected(broker: EmbeddedBroker) -> None:
    config = dataclasses.replace(proxy_config(broker), security=ProxySecurityConfig(timeout_seconds=0.1))
    with RunningProxy(config) as proxy, RawClient(proxy.service_url, handshake=False) as client:
        assert client.is_closed()


def test_a_silent_lookup_connection_is_disconnected(broker: EmbeddedBroker) -> None:
    with (
        RunningProxy(dataclasses.replace(proxy_config(broker), limits=ProxyLimits(keep_alive_seconds=0.1))) as proxy,
        RawClient(proxy.service_url) as client,
    ):
        assert client.is_closed()


def test_a_silent_side_of_a_splice_ends_it() -> None:
    with (
        FakeBroker() as fake,
        RunningProxy(proxy_config_of(fake, silence_seconds=0.2)) as proxy,
        RawClient(proxy.service_url, handshake=False) as client,
    ):
        client.send(connect_to(fake.service_url))
        client.expect(BaseCommand.CONNECTED)
        assert client.is_closed()


CHUNK = bytes(1 << 20)
FLOOD = 256 << 20  # more than the operating system buffers in four sockets
MOST_HELD = 2 << 20  # in the proxy, whose write buffer may exceed its limit by what was read at once


def flood(connection: socket.socket) -> int:
    """Sends until nothing is taken for a second; returns the number of bytes sent."""
    connection.settimeout(1.0)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < FLOOD:
            sent += connection.send(CHUNK)
    return sent


def held(splice: Splice) -> int:
    """The bytes that wait in the proxy's own memory."""
    return sum(half.transport.get_write_buffer_size() for half in (splice.from_client, splice.from_broker))


def test_a_client_that_reads_nothing_holds_back_its_broker_and_not_memory() -> None:
    sent: list[int] = []

    def floods(broker: FakeBroker, peer: Peer, command: Command) -> None:
        greet(broker, peer, command)
        sent.append(flood(peer.socket))

    with (
        FakeBroker(floods) as fake,
        RunningProxy(proxy_config_of(fake)) as proxy,
        RawClient(proxy.service_url, handshake=False, receive_buffer=4096) as client,
    ):
        client.send(connect_to(fake.service_url))
        wait_until(lambda: len(sent) == 1, 30)
        assert 0 < sent[0] < FLOOD
        [splice] = proxy.gateway.splices
        assert splice.from_broker.transport.is_reading() is False
        assert 0 < held(splice) < MOST_HELD


def test_a_broker_that_reads_nothing_holds_back_its_client_and_not_memory() -> None:
    with (
        FakeBroker(stops_reading) as fake,
        RunningProxy(proxy_config_of(fake)) as proxy,
        RawClient(proxy.service_url, handshake=False) as client,
    ):
        client.send(connect_to(fake.service_url))
        client.expect(BaseCommand.CONNECTED)
        assert 0 < flood(client.socket) < FLOOD
        [splice] = proxy.gateway.splices
        assert splice.from_client.transport.is_reading() is False
        assert 0 < held(splice) < MOST_HELD
        fake.stop()


def stops_reading(broker: FakeBroker, peer: Peer, command: Command) -> None:
    greet(broker, peer, command)
    broker.ended.wait(30)
