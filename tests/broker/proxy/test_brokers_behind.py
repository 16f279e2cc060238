"""Brokers that are down, restart, redirect, or answer slowly."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, ServiceNotReady, TopicNotFound
from tests.broker.proxy.fake_broker import (
    FakeBroker,
    answers,
    connect_to,
    owns_every_topic,
    redirects_to,
    silent,
)
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.running_proxy import RunningProxy, client_of, proxy_config, proxy_config_of

TOPIC = "persistent://public/default/t"


def on(port: int) -> BrokerConfig:
    return BrokerConfig(server=ServerConfig(broker_port=port, web_port=0))


def test_clients_go_on_after_a_broker_has_restarted(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path, config=on(0)).start()
    port = int(broker.service_url.rpartition(":")[2])
    with RunningProxy(proxy_config(broker)) as proxy:
        client = client_of(proxy.service_url, seconds=20)
        producer = client.create_producer("t")
        consumer = client.subscribe("t", "s")
        producer.send(b"before")
        broker.stop()
        broker = EmbeddedBroker(tmp_path, config=on(port)).start()
        producer.send(b"after")
        received = {consumer.receive(10_000).data() for _ in range(2)}
        client.close()
    broker.stop()
    assert received == {b"before", b"after"}


def test_a_broker_that_is_down_is_reported_at_once() -> None:
    with FakeBroker() as fake:
        config = proxy_config_of(fake)
    with RunningProxy(config) as proxy:
        started = time.monotonic()
        for frame in (connect_to(fake.service_url), client_commands.connect("raw")):
            with RawClient(proxy.service_url, handshake=False) as client:
                client.send(frame)
                refused = client.expect(BaseCommand.ERROR)
                assert refused.error == ServiceNotReady and "cannot reach the broker" in refused.message
                assert client.is_closed()
        assert time.monotonic() - started < 5


def test_a_broker_that_goes_down_after_the_handshake_is_reported_at_once() -> None:
    with FakeBroker() as fake, RunningProxy(proxy_config_of(fake)) as proxy, RawClient(proxy.service_url) as client:
        fake.stop()
        client.send(client_commands.lookup(1, TOPIC))
        refused = client.expect(BaseCommand.LOOKUP_RESPONSE)
        assert refused.error == ServiceNotReady
        assert "lost the connection" in refused.message or "cannot reach the broker" in refused.message


def test_all_lookups_of_a_client_share_one_connection_to_a_broker() -> None:
    answering = answers(BaseCommand.LOOKUP, owns_every_topic)
    with FakeBroker(answering) as one, FakeBroker(answering) as other:
        url = f"{one.service_url},{other.service_url.removeprefix('pulsar://')}"
        with RunningProxy(proxy_config_of(one, service_url=url)) as proxy, RawClient(proxy.service_url) as client:
            for request_id in range(4):
                client.send(client_commands.lookup(request_id, TOPIC))
                client.expect(BaseCommand.LOOKUP_RESPONSE)
        assert one.connections + other.connections == 1


def test_a_broker_that_never_answers_is_reported_in_time() -> None:
    with (
        FakeBroker(silent) as fake,
        RunningProxy(proxy_config_of(fake, connect_seconds=0.2)) as proxy,
        RawClient(proxy.service_url, handshake=False) as client,
    ):
        client.send(connect_to(fake.service_url))
        assert "did not answer CONNECT" in client.expect(BaseCommand.ERROR).message
        with RawClient(proxy.service_url, handshake=False) as looking:
            looking.send(client_commands.connect("raw"))
            assert looking.expect(BaseCommand.ERROR).error == ServiceNotReady


def test_the_connection_of_a_client_ends_with_that_of_its_broker() -> None:
    with (
        FakeBroker() as fake,
        RunningProxy(proxy_config_of(fake)) as proxy,
        RawClient(proxy.service_url, handshake=False) as client,
    ):
        client.send(connect_to(fake.service_url))
        client.expect(BaseCommand.CONNECTED)
        fake.stop()
        assert client.is_closed()


def test_the_proxy_follows_redirects_between_brokers() -> None:
    owner = FakeBroker(answers(BaseCommand.LOOKUP, owns_every_topic))
    with owner, FakeBroker(answers(BaseCommand.LOOKUP, redirects_to(owner.service_url))) as first:
        url = f"{first.service_url},{owner.service_url.removeprefix('pulsar://')}"
        with RunningProxy(proxy_config_of(first, service_url=url)) as proxy, RawClient(proxy.service_url) as client:
            client.send(client_commands.lookup(1, TOPIC, listener="inside"))
            answer = client.expect(BaseCommand.LOOKUP_RESPONSE)
        assert (answer.brokerServiceUrl, answer.proxy_through_service_url) == (owner.service_url, True)
        asked = owner.bodies(BaseCommand.LOOKUP)
        assert [(one.authoritative, one.advertised_listener_name) for one in asked] == [(True, "inside")]


def test_a_circle_of_redirects_ends() -> None:
    with (
        FakeBroker(answers(BaseCommand.LOOKUP, redirects_to())) as fake,
        RunningProxy(proxy_config_of(fake)) as proxy,
        RawClient(proxy.service_url) as client,
    ):
        client.send(client_commands.lookup(1, TOPIC))
        assert client.expect(BaseCommand.LOOKUP_RESPONSE).message == "Reached max number of redirections"
        assert len(fake.bodies(BaseCommand.LOOKUP)) == 20


def test_the_error_of_a_broker_stays_what_it_is() -> None:
    def missing(_broker: FakeBroker, request: Any) -> bytes:
        return commands.lookup_failed(request.request_id, TopicNotFound, "no such topic")

    with (
        FakeBroker(answers(BaseCommand.LOOKUP, missing)) as fake,
        RunningProxy(proxy_config_of(fake)) as proxy,
        RawClient(proxy.service_url) as client,
    ):
        client.send(client_commands.lookup(7, TOPIC))
        answer = client.expect(BaseCommand.LOOKUP_RESPONSE)
        assert (answer.request_id, answer.error, answer.message) == (7, TopicNotFound, "no such topic")


def test_broker_and_client_see_the_versions_and_features_of_each_other() -> None:
    with FakeBroker() as fake, RunningProxy(proxy_config_of(fake)) as proxy:
        with RawClient(proxy.service_url, handshake=False) as client:
            command = BaseCommand(type=BaseCommand.CONNECT)
            body = command.connect
            body.client_version, body.protocol_version = "Pulsar-Java-v4.0.5", 21
            body.proxy_to_broker_url = fake.service_url.removeprefix("pulsar://")
            body.feature_flags.supports_repl_dedup_by_lid_and_eid = True
            client.send(commands.frame(command))
            connected = client.expect(BaseCommand.CONNECTED)
        [seen] = fake.bodies(BaseCommand.CONNECT)
    assert (seen.client_version, seen.feature_flags) == (body.client_version, body.feature_flags)
    assert not seen.HasField("proxy_to_broker_url") and not seen.HasField("proxy_version")
    assert connected.max_message_size == 1 << 20 and connected.feature_flags.supports_topic_watchers


def test_a_lookup_connection_survives_the_pings_of_its_broker() -> None:
    def pings_first(broker: FakeBroker, request: Any) -> bytes:
        return commands.ping() + owns_every_topic(broker, request)

    with (
        FakeBroker(answers(BaseCommand.LOOKUP, pings_first)) as fake,
        RunningProxy(proxy_config_of(fake)) as proxy,
        RawClient(proxy.service_url) as client,
    ):
        client.send(client_commands.lookup(1, TOPIC))
        client.expect(BaseCommand.LOOKUP_RESPONSE)
        wait_until(lambda: len(fake.bodies(BaseCommand.PONG)) == 1, 5)
        client.send(commands.ping())
        client.expect(BaseCommand.PONG)
