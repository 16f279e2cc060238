"""Which brokers a client may name."""

import pytest

from broker_core.broker_client.addresses import Endpoint, configured_endpoints, parse_target
from broker_core.config.proxy import ProxyBrokersConfig
from broker_core.errors import InvalidConfiguration, InvalidValue
from broker_core.proxy.targets import Targets

BROKER = Endpoint("broker", 6650)


def targets(hosts: str = "*", addresses: str = "*", ports: str = "6650,6651") -> Targets:
    config = ProxyBrokersConfig(allowed_hosts=hosts, allowed_addresses=addresses, allowed_ports=ports)
    return Targets(config, [BROKER])


def test_only_the_configured_brokers_are_allowed_by_default() -> None:
    by_default = Targets(ProxyBrokersConfig(), [BROKER])
    assert by_default.refusal(BROKER) is None
    assert by_default.reachable(BROKER, ["127.0.0.1"]) == ["127.0.0.1"]
    assert "brokerProxyAllowedHostNames" in str(by_default.refusal(Endpoint("other", 6650)))
    assert by_default.refusal(Endpoint("broker", 22)) is not None


def test_a_pattern_allows_hosts_whatever_their_case() -> None:
    some = targets(hosts="Broker-*.internal, other")
    assert some.refusal(parse_target("BROKER-7.internal:6650")) is None
    assert some.refusal(Endpoint("other", 6651)) is None
    assert some.refusal(Endpoint("broker-7.internal.example", 6650)) is not None


def test_a_port_must_be_listed_too() -> None:
    assert "port 22 is not in" in str(targets().refusal(Endpoint("other", 22)))
    assert targets(ports="*").refusal(Endpoint("other", 22)) is None


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "100.100.100.200",
        "127.0.0.1",
        "::1",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "224.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "not an address",
    ],
)
def test_any_address_is_not_a_special_one(address: str) -> None:
    other = Endpoint("other", 6650)
    assert targets().reachable(other, [address, "10.1.2.3"]) == ["10.1.2.3"]
    assert targets(addresses="0.0.0.0/0, ::/0").reachable(other, [address]) == []


def test_a_special_address_can_be_named() -> None:
    other = Endpoint("other", 6650)
    assert targets(addresses="127.0.0.0/8").reachable(other, ["127.0.0.1", "10.1.2.3"]) == ["127.0.0.1"]
    assert targets(addresses="10.0.0.1-10.0.0.9").reachable(other, ["10.0.0.9", "10.0.0.10"]) == ["10.0.0.9"]
    assert targets(addresses="10.0.0.1").reachable(other, ["10.0.0.1", "::1"]) == ["10.0.0.1"]


@pytest.mark.parametrize("settings", [{"addresses": "10.0.0.0/33"}, {"addresses": "broker"}, {"ports": "pulsar"}])
def test_an_unreadable_list_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(InvalidConfiguration, match="brokerProxyAllowed"):
        targets(**settings)


@pytest.mark.parametrize("text", ["broker:6650", "pulsar://broker:6650", "pulsar+ssl://broker:6650/"])
def test_clients_may_name_a_broker_with_its_scheme(text: str) -> None:
    assert parse_target(text) == BROKER


@pytest.mark.parametrize(
    "text",
    [
        "broker",
        "broker:0",
        "broker:70000",
        "broker:x",
        "http://broker:6650",
        "user@broker:6650",
        "broker:6650/path",
        "broker:6650?q",
        "broker:6650#f",
        "[::1:6650",
        "bro ker:6650",
        "broker\n:6650",
        ":6650",
        "",
    ],
)
def test_what_is_no_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        parse_target(text)


def test_a_service_url_names_several_brokers() -> None:
    assert configured_endpoints("brokerServiceURL", "pulsar://a,B:1, [::1]:2,a:6650", "pulsar") == (
        ("a", 6650),
        ("b", 1),
        ("::1", 2),
    )


@pytest.mark.parametrize("url", ["http://a:1", "a:1", "pulsar://", "pulsar://a:x"])
def test_a_wrong_service_url_is_refused_with_its_key(url: str) -> None:
    with pytest.raises(InvalidConfiguration, match="brokerServiceURL"):
        configured_endpoints("brokerServiceURL", url, "pulsar")
