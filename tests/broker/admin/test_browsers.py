"""Requests of web pages, recognized by the headers that browsers send."""

import asyncio
import http.client
import json
import socket

import pytest

from broker_core.admin.browsers import BrowserRules, is_loopback
from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from tests.broker.admin.conftest import Admin

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
RULES = BrowserRules.of(["Box.lan", "broker.example"], "front.example, Other.example")
PEEK = "/admin/v2/persistent/acme/shop/plain/subscription/s/position/1"
CREATE = "/admin/v2/persistent/acme/shop/made/partitions?checkAllowAutoCreation=true"


def refused(over_loopback: bool = True, **headers: str) -> str | None:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return RULES.refusal(given, over_loopback=over_loopback)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8080",
        "localhost:8080",
        "LOCALHOST",
        "localhost.:8080",
        "app.localhost:8080",
        "[::1]:8080",
        "127.8.9.1",
        "10.0.0.7:8080",
        "box.lan:8080",
        "broker.example",
        "front.example:443",
        "host.docker.internal:8080",
        "",
    ],
)
def test_a_tool_may_use_any_name_of_the_broker(host: str) -> None:
    assert refused(Host=host, User_Agent="curl/8.0") is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
    ],
)
def test_a_foreign_name_is_refused_over_loopback(host: str) -> None:
    name = host.partition(":")[0]
    assert f"-X webServiceAllowedHosts={name}" in (refused(Host=host) or "")
    assert refused(over_loopback=False, Host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        "localhost:1@evil.example",
        "localhost@evil.example",
        "localhost:8080:evil.example",
        "[::1]evil.example",
        "[::1]@evil.example:8080",
        "localhost/evil.example",
        "localhost, evil.example",
        "localhost:80 evil.example",
    ],
)
def test_what_only_begins_with_a_name_of_the_broker_is_refused_over_loopback(host: str) -> None:
    assert "is not a host name and a port" in (refused(Host=host) or "")
    assert refused(Host=host, Origin=f"http://{host}") is not None
    assert refused(False, Host=host, Origin=f"http://{host}") is not None


def test_any_name_is_accepted_when_the_operator_allows_it() -> None:
    rules = BrowserRules.of([], "*")
    assert rules.refusal({"Host": "anything.example"}, over_loopback=True) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:3000",
        "http://127.0.0.1:8080",
        "http://localhost",
        "file://",
        "",
    ],
)
@pytest.mark.parametrize("over_loopback", [True, False])
def test_a_page_of_another_origin_is_refused(origin: str, over_loopback: bool) -> None:
    assert "cannot answer a web page" in (refused(over_loopback, Host="localhost:8080", Origin=origin) or "")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8080", "http://localhost:8080"),
        ("box.lan:8080", "http://Box.lan:8080"),
        ("localhost:8080", "https://front.example"),
    ],
)
def test_pages_of_the_broker_and_of_allowed_hosts_are_accepted(host: str, origin: str) -> None:
    assert refused(Host=host, Origin=origin, Sec_Fetch_Site="same-origin") is None


def test_a_rebound_page_is_refused_over_the_network_too() -> None:
    assert refused(False, Host="evil.example:8080", Origin="http://evil.example:8080") is not None


@pytest.mark.parametrize(("site", "answered"), [("cross-site", False), ("same-site", False), ("none", True)])
def test_the_fetch_site_header_decides_about_pages_of_other_sites(site: str, answered: bool) -> None:
    assert (refused(Host="localhost:8080", Sec_Fetch_Site=site, User_Agent=FIREFOX) is None) == answered


def test_a_browser_request_without_an_origin_is_refused() -> None:
    """Browsers send `Sec-Fetch-Site` only to trustworthy origins; http:// with the machine's name is not one."""
    assert "the host name localhost, or curl" in (refused(Host="box.lan:8080", User_Agent=FIREFOX) or "")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_which_addresses_are_loopback(address: str, expected: bool) -> None:
    assert is_loopback(address) == expected


async def get(admin: Admin, path: str, headers: dict[str, str]) -> tuple[int, str]:
    def ask() -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", admin.server.web_port, timeout=10)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, str(json.loads(body)["reason"]) if response.status == 403 else ""

    return await asyncio.to_thread(ask)


@pytest.mark.parametrize("path", [PEEK, CREATE])
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"User-Agent": FIREFOX},
    ],
    ids=["host", "origin", "site", "silent"],
)
async def test_a_get_of_a_web_page_changes_nothing(shop: Admin, path: str, headers: dict[str, str]) -> None:
    await shop.publish("persistent://acme/shop/plain", [b"secret"])
    status, reason = await get(shop, path, headers)
    assert status == 403 and reason
    assert (await shop("GET", "persistent/acme/shop/plain/subscriptions")).json == []
    assert "persistent://acme/shop/made" not in (await shop("GET", "persistent/acme/shop")).json


async def test_the_host_name_of_the_machine_is_accepted(admin: Admin) -> None:
    assert (await get(admin, "/admin/v2/clusters", {"Host": f"{socket.gethostname()}:8080"}))[0] == 200


class TestWithAnAllowedName:
    @pytest.fixture
    def config(self) -> BrokerConfig:
        server = ServerConfig(broker_port=0, web_port=0, allowed_hosts="front.example", advertised_address="broker.lan")
        return BrokerConfig(server=server)

    @pytest.mark.parametrize("name", ["front.example", "broker.lan"])
    async def test_the_host_name_and_the_advertised_address_are_accepted(self, admin: Admin, name: str) -> None:
        assert (await get(admin, "/admin/v2/clusters", {"Host": name}))[0] == 200


async def ask_raw(admin: Admin, request: bytes) -> bytes:
    """Everything that the broker sends until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_delete_with_an_unframed_body_is_carried_out(shop: Admin) -> None:
    head = b"DELETE /admin/v2/persistent/acme/shop/plain HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = await ask_raw(shop, head + b"{}")
    assert answer.startswith(b"HTTP/1.1 204 ")
    assert b"400 Bad Request" in answer
    assert "persistent://acme/shop/plain" not in (await shop("GET", "persistent/acme/shop")).json
