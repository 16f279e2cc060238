"""The console's pages of scalable topics: their list, the drawing of the segments, subscriptions, and consumers."""

import http.client
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from broker_core.testing import EmbeddedBroker
from tests.broker.scalable.commands import register
from tests.support.condition import wait_until
from tests.support.console_browser import Browser
from tests.support.raw_client import RawClient
from tests.support.scalable_topic import ScalableTopic

PAGE = "/console/scalable-topic"
SECONDS = 10


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


@pytest.fixture
def browser(broker: EmbeddedBroker) -> Browser:
    return Browser(int(broker.http_url.rpartition(":")[2]))


@pytest.fixture(scope="module")
def orders(broker: EmbeddedBroker) -> ScalableTopic:
    """One segment that was split, with a message in it and in one of its children."""
    topic = ScalableTopic.create(broker, "orders")
    topic.subscribe("billing")
    topic.publish(0, ["a"])
    topic.split(0)
    topic.publish(2, ["b"])
    return topic


def test_the_namespace_leads_to_its_scalable_topics(browser: Browser, orders: ScalableTopic) -> None:
    where = {"namespace": "public/default"}
    address = f"/console/scalable-topics?{urlencode(where)}"
    assert address in browser.get("/console/topics", **where).outline.links
    listed = browser.get(address).outline
    assert f"{PAGE}?{urlencode({'name': orders.name})}" in listed.links
    assert "1 scalable topic" in listed.text


def test_a_namespace_without_scalable_topics_has_no_link_to_them(broker: EmbeddedBroker, browser: Browser) -> None:
    links = browser.get("/console/topics", namespace="pulsar/system").outline.links
    assert not [link for link in links if "scalable" in link]


def test_the_page_draws_each_segment_and_lists_it(browser: Browser, orders: ScalableTopic) -> None:
    shown = browser.get(PAGE, name=orders.name)
    for title in ("Segment 0, 0000-ffff, sealed", "Segment 1, 0000-7fff, active", "Segment 2, 8000-ffff, active"):
        assert f"<title>{title}</title>" in shown.text
    assert 'x="300" y="36" rx="2" width="298" height="34" class="segment active"' in shown.text
    assert "2 active, 1 sealed" in shown.outline.text


def test_the_page_has_subscriptions_and_consumers(browser: Browser, orders: ScalableTopic) -> None:
    def text() -> str:
        return browser.get(PAGE, name=orders.name).outline.text

    with RawClient(orders.broker.service_url) as client:
        register(client, orders.name, "ordered", "packer")
        wait_until(lambda: "packer" in text(), SECONDS)  # the record follows the answer
        for word in ("ordered", "STREAM", "billing", "QUEUE"):
            assert word in text()


@pytest.mark.parametrize("name", ["topic://public/default/orders", "segment://public/default/orders/0000-7fff-1"])
def test_the_field_for_a_topic_leads_to_the_page(browser: Browser, orders: ScalableTopic, name: str) -> None:
    connection = http.client.HTTPConnection(orders.broker.http_url.partition("://")[2], timeout=10)
    connection.request("GET", f"/console/topic?{urlencode({'name': name})}")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Location"]) == (303, f"{PAGE}?{urlencode({'name': orders.name})}")
    connection.close()


def test_an_unknown_topic_is_not_found(browser: Browser, orders: ScalableTopic) -> None:
    assert browser.get(PAGE, name="topic://public/default/unknown").status == 404
