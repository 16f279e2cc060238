"""The commands about scalable topics pass through a proxy: layouts, and the segments of registered consumers."""

from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.proxy.fake_broker import connect_to
from tests.broker.scalable.commands import assigned, lookup, next_assignment, register, send, unregister
from tests.support.raw_client import RawClient
from tests.support.running_proxy import RunningProxy, proxy_config

TOPIC = "persistent://public/default/shared"


@pytest.fixture(scope="module", autouse=True)
def shared(broker: EmbeddedBroker) -> None:
    broker.create_partitioned_topic(TOPIC, 2)


def to_any_broker(proxy: RunningProxy) -> RawClient:
    """A client that asks for a connection to any broker, as clients do for these commands."""
    client = RawClient(proxy.service_url, handshake=False)
    client.send(connect_to(""))
    client.connected = client.expect(BaseCommand.CONNECTED)
    return client


@pytest.fixture
def client(proxy: RunningProxy) -> Iterator[RawClient]:
    with to_any_broker(proxy) as raw:
        yield raw


def test_a_session_shows_the_layout_of_the_broker(client: RawClient, broker: EmbeddedBroker) -> None:
    update = lookup(client, TOPIC)
    assert [one.legacy_topic_name for one in update.dag.segments] == [f"{TOPIC}-partition-{k}" for k in range(2)]
    assert update.dag.controller_broker_url == broker.service_url
    send(client, BaseCommand.SCALABLE_TOPIC_CLOSE, session_id=1)
    assert lookup(client, TOPIC).dag.segments, "the session has ended"


def test_consumers_behind_a_proxy_share_the_segments(client: RawClient, proxy: RunningProxy) -> None:
    assert len(assigned(register(client, TOPIC, "s", "a"))) == 2
    with to_any_broker(proxy) as other:
        assert len(assigned(register(other, TOPIC, "s", "b"))) == 1
        assert len(next_assignment(client)) == 1
        unregister(other)
        assert len(next_assignment(client)) == 2


def test_a_namespace_is_watched_through_a_proxy(client: RawClient) -> None:
    send(client, BaseCommand.WATCH_SCALABLE_TOPICS, watch_id=1, namespace="public/default")
    assert client.expect(BaseCommand.WATCH_SCALABLE_TOPICS_UPDATE).HasField("snapshot")


def test_a_proxy_with_one_broker_needs_no_address_of_it(proxy: RunningProxy) -> None:
    with RawClient(proxy.service_url) as raw:
        assert lookup(raw, TOPIC).dag.segments


def test_any_broker_is_one_that_can_be_reached(broker: EmbeddedBroker) -> None:
    url = f"pulsar://localhost:1,{broker.service_url.removeprefix('pulsar://')}"
    with RunningProxy(proxy_config(broker, service_url=url)) as proxy:
        for _ in range(2):
            with to_any_broker(proxy) as raw:
                assert lookup(raw, TOPIC).dag.segments


def test_clients_learn_from_the_proxy_that_the_broker_serves_these_commands(
    client: RawClient, proxy: RunningProxy
) -> None:
    assert client.connected.feature_flags.supports_scalable_topics
    with RawClient(proxy.service_url) as looking_up:
        assert looking_up.connected.feature_flags.supports_scalable_topics


def test_clients_learn_from_the_proxy_that_the_broker_does_not_serve_these_commands() -> None:
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(enabled=False))
    with (
        EmbeddedBroker(config=config) as broker,
        RunningProxy(proxy_config(broker)) as proxy,
        to_any_broker(proxy) as raw,
        RawClient(proxy.service_url) as looking_up,
    ):
        assert not raw.connected.feature_flags.supports_scalable_topics
        assert not looking_up.connected.feature_flags.supports_scalable_topics
