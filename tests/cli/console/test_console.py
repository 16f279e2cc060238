"""`pulsarctl console`: the pages of the broker in front of a cluster, for the browser that has the key."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.console.admin_api import Refused
from broker_core.testing import EmbeddedBroker
from pulsarctl.console.remote_api import RemoteAdminApi
from pulsarctl.settings.settings import resolve
from tests.cli.console.running import console
from tests.support.console_browser import Browser, Shown
from tests.support.runner import Cli

TOPIC = "persistent://public/default/orders"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as found:
        client = pulsar.Client(found.service_url)
        client.subscribe(TOPIC, "billing").close()
        producer = client.create_producer(TOPIC, batching_enabled=False)
        for number in range(5):
            producer.send(f"order {number}".encode())
        client.close()
        yield found


@pytest.fixture(scope="module")
def address(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with console(tmp_path_factory.mktemp("home"), "--admin-url", broker.http_url) as found:
        yield found


def browser_of(address: str) -> Browser:
    return Browser(int(address.partition("localhost:")[2].partition("/")[0]))


def opened(address: str) -> Browser:
    browser = browser_of(address)
    shown = browser.get(f"/{address.split('/', 3)[3]}")
    assert (shown.status, shown.headers["Location"]) == (303, "/")
    assert shown.headers["Set-Cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
    return browser


# Pages whose numbers do not change with time.
SAME = ("/", "/console/namespaces?tenant=public", f"/console/messages?topic={TOPIC}&subscription=billing")


@pytest.mark.parametrize("path", SAME)
def test_the_printed_address_opens_the_pages_of_the_broker(address: str, broker: EmbeddedBroker, path: str) -> None:
    there, here = opened(address).get(path), Browser(int(broker.http_url.rpartition(":")[2])).get(path)
    assert there.status == 200
    assert content(there) == content(here)


def content(shown: Shown) -> str:
    """A page without its header and its footer."""
    return shown.text.partition("<main")[2].partition("</main>")[0]


def test_the_largest_backlogs_come_from_the_stats_of_the_broker(address: str) -> None:
    assert "billing" in opened(address).get("/console/backlogs", namespace="public/default").outline.text
    assert "billing" not in opened(address).get("/console/backlogs", namespace="public/other").outline.text


@pytest.mark.parametrize("path", ["/", "/console/topics?namespace=public/default", "/console/open?key=wrong"])
def test_a_browser_without_the_key_gets_no_page(address: str, path: str) -> None:
    shown = browser_of(address).get(path)
    assert (shown.status, "with a key at its end" in shown.outline.text) == (401, True)


def test_an_action_needs_the_key_and_changes_the_cluster(address: str, broker: EmbeddedBroker) -> None:
    form = {"do": "skip", "topic": TOPIC, "subscription": "billing", "value": "2"}
    assert browser_of(address).post("/console/action", **form).status == 401
    assert opened(address).post("/console/action", **form).status == 303
    found = Browser(int(broker.http_url.rpartition(":")[2])).get("/console/sample", topic=TOPIC, subscription="billing")
    assert json.loads(found.text)["values"]["backlog"] == 3


def test_a_page_of_another_site_gets_nothing(address: str) -> None:
    browser = opened(address)
    browser.headers |= {"Sec-Fetch-Site": "cross-site"}
    assert browser.get("/").status == 403
    browser.headers |= {"Sec-Fetch-Site": "same-origin", "Host": "evil.example"}
    assert browser.get("/").status == 403


async def test_a_cluster_that_does_not_answer_is_refused_with_the_reason(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        api = RemoteAdminApi(resolve({"web_url": url}, {"HOME": str(tmp_path)}, tmp_path))
        with pytest.raises(Refused, match="cannot reach the broker") as refused:
            await api.ask("GET", "/admin/v2/tenants")
        assert refused.value.status == 502
        await asyncio.to_thread(api.close)


def test_a_dry_run_is_refused(tmp_path: Path) -> None:
    outcome = Cli(tmp_path)("--dry-run", "console")
    assert outcome.exit_code == 2


async def test_requests_side_by_side_keep_their_order(broker: EmbeddedBroker, tmp_path: Path) -> None:
    api = RemoteAdminApi(resolve({"web_url": broker.http_url}, {"HOME": str(tmp_path)}, tmp_path))
    try:
        paths = ["/admin/v2/tenants", "/admin/v2/nothing", "/admin/v2/clusters"] * 4
        found = await api.ask_all(paths)
        assert [getattr(one, "status", 200) for one in found] == [200, 404, 200] * 4
    finally:
        await asyncio.to_thread(api.close)
