"""A client gets the addresses of the listener by whose address it came (`bindAddresses`)."""

import json
import urllib.request
from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandLookupTopicResponse
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.loopback import has_more_loopback_addresses
from tests.support.official_client import connect
from tests.support.raw_client import RawClient

pytestmark = [
    pytest.mark.feature("addresses"),
    pytest.mark.skipif(not has_more_loopback_addresses(), reason="this machine has only 127.0.0.1"),
]

TOPIC = "persistent://public/default/bound"
CONFIG = BrokerConfig(
    server=ServerConfig(
        broker_port=0,
        web_port=0,
        advertised_listeners="inside:pulsar://inside.example.com:6650,outside:pulsar://127.0.0.2:6650",
        bind_addresses="outside:pulsar://127.0.0.2:0,outside:http://127.0.0.2:0,inside:pulsar://0.0.0.0:0",
    )
)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """The listener `outside` is a free port of 127.0.0.2 that it advertises."""
    with EmbeddedBroker(config=CONFIG) as broker:
        port, _ = ports(broker, "127.0.0.2")
        outside = broker.broker.listeners.by_name["outside"]
        broker.broker.listeners.by_name["outside"] = outside._replace(service_url=f"pulsar://127.0.0.2:{port}")
        yield broker


def ports(broker: EmbeddedBroker, host: str) -> list[int]:
    """The ports bound at an address, in the order of the setting."""
    return [port for bound, port in broker.broker.bound_listeners if bound == host]


def looked_up(url: str) -> CommandLookupTopicResponse:
    raw = RawClient(url)
    with raw.socket:
        command = BaseCommand(type=BaseCommand.LOOKUP)
        command.lookupTopic.topic, command.lookupTopic.request_id = TOPIC, 1
        answer: CommandLookupTopicResponse = raw.ask(command, BaseCommand.LOOKUP_RESPONSE)
    return answer


def test_a_client_at_the_address_of_a_listener_connects_to_what_it_advertises(broker: EmbeddedBroker) -> None:
    port = ports(broker, "127.0.0.2")[0]
    client = connect(f"pulsar://127.0.0.2:{port}")
    consumer = client.subscribe(TOPIC, "s")
    client.create_producer(TOPIC).send(b"here")
    assert consumer.receive(TIMEOUT_MS).data() == b"here"
    client.close()
    found = looked_up(f"pulsar://127.0.0.2:{port}")
    assert (found.brokerServiceUrl, found.proxy_through_service_url) == (f"pulsar://127.0.0.2:{port}", False)


def test_an_address_of_all_interfaces_belongs_to_its_listener(broker: EmbeddedBroker) -> None:
    port = ports(broker, "")[0]
    for host in ("127.0.0.1", "127.0.0.3"):
        assert looked_up(f"pulsar://{host}:{port}").brokerServiceUrl == "pulsar://inside.example.com:6650"


def test_clients_of_the_main_port_keep_the_address_that_they_have(broker: EmbeddedBroker) -> None:
    found = looked_up(broker.service_url)
    assert (found.brokerServiceUrl, found.proxy_through_service_url) == ("pulsar://inside.example.com:6650", True)


def test_a_lookup_over_http_gets_the_listener_of_its_address(broker: EmbeddedBroker) -> None:
    web = ports(broker, "127.0.0.2")[1]
    path = f"lookup/v2/topic/{TOPIC.replace('://', '/')}"
    with urllib.request.urlopen(f"http://127.0.0.2:{web}/{path}", timeout=60) as answer:
        assert json.load(answer)["brokerUrl"] == broker.broker.listeners.by_name["outside"].service_url
