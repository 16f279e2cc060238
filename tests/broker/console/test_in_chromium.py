"""The console in a real browser: find a stuck subscription, look at its next message, skip it, and see the chart move.

`PULSARCTL_WRITE_SCREENSHOTS=1` writes the pictures of docs/how-to/console.md.
"""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pulsar
import pytest
import pytest_asyncio

from broker_core.config.broker import BrokerConfig
from broker_core.config.console import ConsoleConfig
from broker_core.config.server import ServerConfig
from broker_core.testing import EmbeddedBroker
from tests.support.chromium import CHROMIUM, Chromium

IMAGES = Path(__file__).parents[3] / "docs" / "images"
ORDERS = "persistent://public/default/orders"
MESSAGES = 12

pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on PATH"),
]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    server = ServerConfig(broker_port=0, web_port=0)
    with EmbeddedBroker(config=BrokerConfig(server=server, console=ConsoleConfig(actions=True))) as found:
        client = pulsar.Client(found.service_url)
        fill(client)
        client.close()
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chromium]:
    async with Chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


class Order(pulsar.schema.Record):  # type: ignore[misc]  # the library has no types
    id = pulsar.schema.Long()
    item = pulsar.schema.String()


def fill(client: pulsar.Client) -> None:
    for topic, subscription in ((ORDERS, "billing"), (ORDERS, "audit"), ("payments", "ledger")):
        client.subscribe(topic, subscription).close()
    producer = client.create_producer(ORDERS, schema=pulsar.schema.AvroSchema(Order), batching_enabled=False)
    for number in range(MESSAGES):
        producer.send(Order(id=4711 + number, item="tea <b>"), partition_key=f"customer-{number % 3}")


async def has(browser: Chromium, text: str) -> None:
    await browser.until(f"document.body.innerText.includes({text!r})")


async def picture(browser: Chromium, name: str, height: int, scheme: str) -> None:
    if os.environ.get("PULSARCTL_WRITE_SCREENSHOTS"):
        await browser.size(1000, height)
        await browser.screenshot(IMAGES / f"console-{name}-{scheme}.png", scheme)


async def test_a_stuck_subscription_is_found_peeked_at_and_skipped_and_the_chart_moves(
    broker: EmbeddedBroker, browser: Chromium
) -> None:
    await browser.size(1000, 1100)
    await browser.open(broker.http_url)
    await browser.click("public")
    await browser.click("public/default")
    await has(browser, "stuck")
    await browser.click("orders")
    await browser.click("billing")
    await has(browser, "No consumer is connected.")
    await browser.until(drawn(MESSAGES))
    await browser.click("Peek at its next messages")
    await has(browser, '"id": 4711')
    await has(browser, "tea <b>")
    await picture(browser, "messages", 620, "dark")
    await browser.click("billing")
    await browser.click("Skip messages")
    await browser.run("document.querySelector('#value').value = '5'")
    await browser.click("Skip messages")
    await has(browser, "Skip messages: done.")
    await browser.until(drawn(MESSAGES - 5))
    assert await browser.run(HEIGHTS) == 2
    assert f"{MESSAGES - 5} now, lowest {MESSAGES - 5}, highest {MESSAGES}" in await browser.run(SUMMARY)
    await browser.until(f"document.querySelector('[data-shown=backlog]').textContent === '{MESSAGES - 5}'")
    await picture(browser, "subscription", 1060, "light")
    assert browser.messages == []


SUMMARY = "document.querySelector('#backlog-said').textContent"
HEIGHTS = """
new Set(document.querySelector('.line').getAttribute('points').split(' ').map(point => point.split(',')[1])).size
"""


def drawn(backlog: int) -> str:
    """The chart has a sample with this backlog, and says so in its text."""
    return f"{SUMMARY}.startsWith('Backlog: {backlog} now')"


async def test_the_console_is_used_with_the_keyboard_alone(broker: EmbeddedBroker, browser: Chromium) -> None:
    """The first stop is the link to the content, and every stop is visible."""
    await browser.open(f"{broker.http_url}/console/topic?name={ORDERS}")
    stops = [await tab(browser) for _ in range(25)]
    assert stops[0] == "Skip to content"
    assert "billing" in stops
    assert await browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


async def tab(browser: Chromium) -> str:
    for kind in ("rawKeyDown", "keyUp"):
        await browser.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    return str(await browser.run("document.activeElement.textContent"))


async def test_light_and_dark_follow_the_system(broker: EmbeddedBroker, browser: Chromium) -> None:
    await browser.open(broker.http_url)
    colors = {}
    for scheme in ("light", "dark"):
        await browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colors[scheme] = await browser.run("getComputedStyle(document.body).backgroundColor")
    assert colors == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 24, 31)"}
