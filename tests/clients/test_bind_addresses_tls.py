"""Addresses of `bindAddresses` with TLS: `pulsar+ssl` and `https` beside plain ones, with the broker's certificate."""

import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.config.tls import TlsConfig
from broker_core.errors import InvalidConfiguration
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandLookupTopicResponse
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.loopback import has_more_loopback_addresses
from tests.support.authority import Authority
from tests.support.official_client import connect
from tests.support.raw_client import RawClient

pytestmark = [
    pytest.mark.feature("addresses"),
    pytest.mark.skipif(not has_more_loopback_addresses(), reason="this machine has only 127.0.0.1"),
]

TOPIC = "persistent://public/default/bound-with-tls"
BOUND = "outside:pulsar+ssl://127.0.0.2:0,outside:https://127.0.0.2:0,inside:pulsar://127.0.0.3:0"
ADVERTISED = "inside:pulsar://inside.example.com:6650,outside:pulsar+ssl://127.0.0.2:6651"
SERVER = ServerConfig(broker_port=0, web_port=0, advertised_listeners=ADVERTISED, bind_addresses=BOUND)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has `ca.pem`, and the broker's certificate for 127.0.0.2."""
    found = tmp_path_factory.mktemp("certificates")
    Authority(found).issue("server", address="127.0.0.2")
    return found


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[EmbeddedBroker]:
    """The listener `outside` is a free port of 127.0.0.2 that it advertises."""
    certificate, key = str(folder / "server.pem"), str(folder / "server.key")
    tls = TlsConfig(broker_port=0, web_port=0, certificate_file=certificate, key_file=key)
    with EmbeddedBroker(config=BrokerConfig(server=SERVER, tls=tls)) as broker:
        outside = broker.broker.listeners.by_name["outside"]
        own = outside._replace(service_url_tls=f"pulsar+ssl://127.0.0.2:{ports(broker)[0]}")
        broker.broker.listeners.by_name["outside"] = own
        yield broker


def ports(broker: EmbeddedBroker) -> list[int]:
    """The ports of the binary protocol and of HTTP at 127.0.0.2."""
    return [port for host, port in broker.broker.bound_listeners if host == "127.0.0.2"]


@pytest.fixture
def trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "ca.pem"))


def test_a_client_with_tls_stays_at_the_listener_by_which_it_came(broker: EmbeddedBroker, folder: Path) -> None:
    url = f"pulsar+ssl://127.0.0.2:{ports(broker)[0]}"
    client = connect(url, tls_trust_certs_file_path=str(folder / "ca.pem"), tls_validate_hostname=True)
    consumer = client.subscribe(TOPIC, "s")
    client.create_producer(TOPIC).send(b"here")
    assert consumer.receive(TIMEOUT_MS).data() == b"here"
    client.close()


def test_a_lookup_with_tls_answers_with_the_address_of_the_listener(
    broker: EmbeddedBroker, trusting: ssl.SSLContext
) -> None:
    url = f"pulsar+ssl://127.0.0.2:{ports(broker)[0]}"
    with RawClient(url, context=trusting) as raw:
        command = BaseCommand(type=BaseCommand.LOOKUP)
        command.lookupTopic.topic, command.lookupTopic.request_id = TOPIC, 1
        found: CommandLookupTopicResponse = raw.ask(command, BaseCommand.LOOKUP_RESPONSE)
    assert (found.brokerServiceUrl, found.brokerServiceUrlTls) == ("", url)


def test_a_lookup_over_https_gets_the_listener_of_its_address(broker: EmbeddedBroker, trusting: ssl.SSLContext) -> None:
    binary, web = ports(broker)
    url = f"https://127.0.0.2:{web}/lookup/v2/topic/{TOPIC.replace('://', '/')}"
    with urllib.request.urlopen(url, timeout=60, context=trusting) as answer:
        assert json.load(answer)["brokerUrlTls"] == f"pulsar+ssl://127.0.0.2:{binary}"


def test_an_address_with_tls_takes_no_plain_client(broker: EmbeddedBroker) -> None:
    raw = RawClient(f"pulsar://127.0.0.2:{ports(broker)[0]}", handshake=False)
    with raw.socket:
        raw.send(b"\0" * 8)
        assert raw.is_closed(60)


@pytest.mark.parametrize("address", ["outside:pulsar+ssl://127.0.0.2:0", "outside:https://127.0.0.2:0"])
def test_an_address_with_tls_needs_a_certificate(address: str, tmp_path: Path) -> None:
    server = ServerConfig(broker_port=0, web_port=0, advertised_listeners=ADVERTISED, bind_addresses=address)
    with pytest.raises(InvalidConfiguration, match="needs brokerServicePortTls or webServicePortTls"):
        EmbeddedBroker(tmp_path, config=BrokerConfig(server=server)).start()
