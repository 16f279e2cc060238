"""How clients find the broker: listeners by name, several hosts, and an address that changes with a restart."""

from __future__ import annotations

import dataclasses
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, ServiceNotReady
from tests.clients.conftest import TIMEOUT_MS
from tests.support.raw_client import RawClient
from tests.support.running_proxy import QUIET

pytestmark = pytest.mark.feature("addresses")

TOPIC = "persistent://public/default/t"


LISTENERS = "inside:pulsar://inside.test:6650,outside:pulsar://localhost:{port},outside:http://outside.test:8080"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """Its listener `outside` is where it really listens; the first one is unknown on this machine."""
    folder = tmp_path_factory.mktemp("listeners") / "data"
    with EmbeddedBroker(folder) as first:
        port = port_of(first.service_url)
    server = dataclasses.replace(FREE_PORTS, broker_port=port, advertised_listeners=LISTENERS.format(port=port))
    with EmbeddedBroker(folder, config=BrokerConfig(server=server)) as found:
        yield found


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def looked_up(broker: EmbeddedBroker, listener: str | None) -> Any:
    with RawClient(broker.service_url) as client:
        client.send(client_commands.lookup(1, TOPIC, listener=listener))
        return client.expect(BaseCommand.LOOKUP_RESPONSE)


def test_a_client_that_names_a_listener_gets_its_address(broker: EmbeddedBroker) -> None:
    answer = looked_up(broker, "outside")
    assert (answer.brokerServiceUrl, answer.proxy_through_service_url) == (broker.service_url, False)


@pytest.mark.parametrize("listener", [None, "", " "])
def test_a_client_that_names_none_gets_the_internal_listener_and_keeps_its_address(
    broker: EmbeddedBroker, listener: str | None
) -> None:
    answer = looked_up(broker, listener)
    assert (answer.brokerServiceUrl, answer.proxy_through_service_url) == ("pulsar://inside.test:6650", True)


def test_an_unknown_listener_is_an_error(broker: EmbeddedBroker) -> None:
    answer = looked_up(broker, "nowhere")
    assert (answer.error, answer.message) == (ServiceNotReady, "the broker do not have nowhere listener")


@pytest.mark.parametrize("listener", [None, "outside"])
def test_the_official_client_reaches_the_broker_with_and_without_a_listener(
    broker: EmbeddedBroker, listener: str | None
) -> None:
    client = pulsar.Client(broker.service_url, listener_name=listener, operation_timeout_seconds=5, logger=QUIET)
    consumer = client.subscribe("listened", f"s-{listener}")
    client.create_producer("listened").send(b"here")
    assert consumer.receive(TIMEOUT_MS).data() == b"here"
    client.close()


def test_a_lookup_over_http_knows_the_listeners(broker: EmbeddedBroker) -> None:
    url = f"{broker.http_url}/lookup/v2/topic/persistent/public/default/t"
    by_query = urllib.request.Request(f"{url}?listenerName=outside")
    by_header = urllib.request.Request(url, headers={"X-Pulsar-ListenerName": "outside"})
    for request in (by_query, by_header):
        with urllib.request.urlopen(request, timeout=10) as answer:
            found = json.load(answer)
        assert (found["brokerUrl"], found["httpUrl"]) == (broker.service_url, "http://outside.test:8080")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{url}?listenerName=nowhere", timeout=10)
    with refused.value as answer:
        assert (answer.code, b"nowhere listener" in answer.read()) == (500, True)


def test_a_dead_host_in_the_service_url_is_passed_over(broker: EmbeddedBroker) -> None:
    url = f"pulsar://localhost:1,localhost:{port_of(broker.service_url)}"
    client = pulsar.Client(url, operation_timeout_seconds=10, logger=QUIET)
    client.create_producer("several-hosts").send(b"x")
    client.close()


def test_clients_follow_a_broker_whose_advertised_address_changes_with_a_restart(tmp_path: Path) -> None:
    """The service URL stays, for example that of a load balancer; nothing that was looked up before is kept."""
    broker = EmbeddedBroker(tmp_path).start()
    port = port_of(broker.service_url)
    client = pulsar.Client(f"pulsar://127.0.0.1:{port}", operation_timeout_seconds=20, logger=QUIET)
    producer = client.create_producer("moving")
    consumer = client.subscribe("moving", "s")
    producer.send(b"before")
    broker.stop()
    server = dataclasses.replace(FREE_PORTS, broker_port=port, advertised_address="127.0.0.1")
    with EmbeddedBroker(tmp_path, config=BrokerConfig(server=server)):
        producer.send(b"after")
        received = {consumer.receive(TIMEOUT_MS).data() for _ in range(2)}
        client.close()
    assert received == {b"before", b"after"}
