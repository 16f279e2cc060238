"""`pulsarctl console` in front of Apache Pulsar, in a real browser."""

from collections.abc import AsyncIterator, Iterator

import pulsar
import pytest
import pytest_asyncio

from broker_core.console.paths import BACKLOGS
from tests.cli.console.running import console
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.chromium import CHROMIUM, Chromium

TOPIC = "persistent://public/default/console-orders"
MESSAGES = 12

pytestmark = [
    pytest.mark.real_pulsar,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium browser on PATH"),
]


@pytest.fixture(scope="module")
def address(java_pulsar: JavaPulsar, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    client = pulsar.Client(java_pulsar.service_url)
    client.subscribe(TOPIC, "billing").close()
    producer = client.create_producer(TOPIC, batching_enabled=False)
    for number in range(MESSAGES):
        producer.send(f"order {number} <b>".encode())
    client.close()
    with console(tmp_path_factory.mktemp("home"), "--admin-url", java_pulsar.http_url) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chromium]:
    async with Chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


async def has(browser: Chromium, text: str) -> None:
    await browser.until(f"document.body.innerText.includes({text!r})")


async def test_a_subscription_is_found_peeked_at_and_skipped(address: str, browser: Chromium) -> None:
    await browser.open(address)
    await browser.click("public")
    await browser.click("public/default")
    await browser.click("console-orders")
    await browser.click("billing")
    await has(browser, "No consumer is connected.")
    await browser.click("Peek at its next messages")
    await has(browser, "order 0 <b>")
    await browser.click("billing")
    await browser.click("Skip messages")
    await browser.run("document.querySelector('#value').value = '5'")
    await browser.click("Skip messages")
    await has(browser, "Skip messages: done.")
    await browser.until(f"document.querySelector('[data-shown=backlog]').textContent === '{MESSAGES - 5}'")
    assert browser.messages == []


async def test_the_page_of_backlogs_reads_the_stats_of_the_whole_broker(address: str, browser: Chromium) -> None:
    await browser.open(address)
    await browser.open(f"{address.partition('/console')[0]}{BACKLOGS}")
    await browser.until("document.querySelector('h1') !== null")
    assert "cannot" not in await browser.run("document.body.innerText")
    assert browser.messages == []
