"""The addresses in service URLs."""

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.raw.broker_connection import broker_scheme
from pulsarctl.settings.addresses import Address, service_addresses


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("pulsar://localhost", [("localhost", 6650)]),
        ("pulsar+ssl://broker", [("broker", 6651)]),
        ("http://broker/admin", [("broker", 80)]),
        ("https://broker:8443", [("broker", 8443)]),
        ("pulsar://a:1,b,c:3/", [("a", 1), ("b", 6650), ("c", 3)]),
        ("pulsar://a, b:2", [("a", 6650), ("b", 2)]),
        ("pulsar://[::1]", [("::1", 6650)]),
        ("pulsar://[2001:db8::1]:6660,127.0.0.1", [("2001:db8::1", 6660), ("127.0.0.1", 6650)]),
    ],
)
def test_a_service_url_names_one_or_more_addresses(url: str, addresses: list[tuple[str, int]]) -> None:
    assert service_addresses(url) == addresses


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("localhost:6650", "'localhost:6650' is not a service URL"),
        ("amqp://localhost", "'amqp://localhost' is not a service URL"),
        ("pulsar://", "'pulsar://' is not a service URL: it names no host"),
        ("pulsar://a,", "'pulsar://a,' is not a service URL: it names no host"),
        ("pulsar://:6650", "'pulsar://:6650' is not a service URL: it names no host"),
        ("pulsar://a:0", "'pulsar://a:0' is not a service URL: the port must be a number from 1 to 65535"),
        ("pulsar://a:65536", "'pulsar://a:65536' is not a service URL: the port must be a number from 1 to 65535"),
        ("pulsar://a:x", "'pulsar://a:x' is not a service URL: the port must be a number from 1 to 65535"),
        ("pulsar://[::1", "'pulsar://[::1' is not a service URL: the brackets of an IPv6 address do not match"),
    ],
)
def test_a_url_without_a_usable_address_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        service_addresses(url)
    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ("url", "scheme"),
    [("http://broker:8080", "pulsar"), ("https://broker:8443", "pulsar+ssl"), ("pulsar://b", "pulsar")],
)
def test_every_service_url_leads_to_the_binary_protocol(url: str, scheme: str) -> None:
    assert broker_scheme(url) == scheme


def test_the_raw_reader_refuses_what_is_no_service_url() -> None:
    with pytest.raises(UsageProblem) as refused:
        broker_scheme("ftp://broker")
    assert str(refused.value) == "cannot read from 'ftp://broker': it is not a service URL"
    assert refused.value.hint == "use pulsar://HOST:PORT or pulsar+ssl://HOST:PORT, such as pulsar://localhost:6650"


@pytest.mark.parametrize(
    ("address", "text"), [(Address("broker", 6650), "broker:6650"), (Address("::1", 6650), "[::1]:6650")]
)
def test_an_ipv6_address_is_shown_in_brackets(address: Address, text: str) -> None:
    assert str(address) == text
