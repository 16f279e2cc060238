"""The console of the broker: what its pages show, what they escape, and what they refuse."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pulsar
import pytest

from broker_core.admin.all_routes import served_routes
from broker_core.config.broker import BrokerConfig
from broker_core.config.console import ConsoleConfig
from broker_core.config.server import ServerConfig
from broker_core.console import console
from broker_core.testing import EmbeddedBroker
from tests.support.console_browser import Browser, Shown

HOSTILE = "<img src=x onerror=alert(1)>\"'&\u202e%2F+"
ORDERS = "persistent://public/default/orders"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    server = ServerConfig(broker_port=0, web_port=0)
    with EmbeddedBroker(config=BrokerConfig(server=server, console=ConsoleConfig(actions=True))) as found:
        yield found


@pytest.fixture(scope="module")
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    found = pulsar.Client(broker.service_url)
    yield found
    found.close()


def port_of(broker: EmbeddedBroker) -> int:
    return int(broker.http_url.rpartition(":")[2])


@pytest.fixture
def browser(broker: EmbeddedBroker) -> Browser:
    return Browser(port_of(broker))


def filled(client: pulsar.Client, topic: str, subscription: str, payloads: list[bytes], **sent: Any) -> None:
    """A topic whose subscription has these messages and no consumer, each in an entry."""
    client.subscribe(topic, subscription).close()
    producer = client.create_producer(topic, batching_enabled=False)
    for payload in payloads:
        producer.send(payload, **sent)
    producer.close()


@pytest.fixture(scope="module")
def stuck(client: pulsar.Client) -> str:
    filled(client, ORDERS, "billing", [f"order {number}".encode() for number in range(15)])
    return ORDERS


def follow(browser: Browser, shown: Shown, start: str) -> Shown:
    """Opens the first link of a page that begins with these words."""
    return browser.get(next(link for link in shown.outline.links if link.startswith(start)))


def test_every_page_form_and_file_of_the_console_has_a_route() -> None:
    routed = {(route.method, route.path) for route in served_routes().listed}
    assert routed >= {("GET", path) for path in (*console.PAGES, *console.FILES)}
    assert routed >= {("POST", path) for path in console.FORMS}


# What pages show


def test_links_lead_from_the_first_page_to_the_messages_of_a_subscription(browser: Browser, stuck: str) -> None:
    namespaces = follow(browser, browser.get("/"), "/console/namespaces?tenant=public")
    topics = follow(browser, namespaces, "/console/topics?namespace=public%2Fdefault")
    subscription = follow(browser, topics, f"/console/subscription?{urlencode({'topic': stuck, 'name': 'billing'})}")
    messages = follow(browser, subscription, "/console/messages")
    assert "No consumer is connected" in subscription.outline.text
    assert "order 0" in messages.outline.text and "order 9" in messages.outline.text
    assert "order 10" in follow(browser, messages, f"{messages_address(stuck)}&from=11").outline.text


def messages_address(topic: str) -> str:
    return f"/console/messages?{urlencode({'topic': topic, 'subscription': 'billing'})}"


def test_the_topic_page_lists_subscriptions_and_says_which_are_stuck(browser: Browser, stuck: str) -> None:
    text = browser.get("/console/topic", name=stuck).outline.text
    assert "1 subscription" in text
    assert "stuck: No consumer is connected." in text


def test_a_sample_holds_the_numbers_that_charts_draw(browser: Browser, stuck: str) -> None:
    shown = browser.get("/console/sample", topic=stuck, subscription="billing")
    assert json.loads(shown.text)["values"] == {"backlog": 15, "in": 15, "out": 0}
    assert json.loads(browser.get("/console/sample", topic=stuck).text)["values"]["backlog"] == 15


def test_the_largest_backlogs_come_first(browser: Browser, client: pulsar.Client, stuck: str) -> None:
    filled(client, "persistent://public/default/small", "s", [b"1", b"2"])
    text = browser.get("/console/backlogs").outline.text
    assert text.index("billing") < text.index("small")


def test_a_partitioned_topic_is_one_row_and_shows_its_partitions(broker: EmbeddedBroker, browser: Browser) -> None:
    broker.create_partitioned_topic("persistent://public/default/parted", 3)
    links = browser.get("/console/topics", namespace="public/default", filter="PARTED").outline.links
    assert [one for one in links if "parted" in one and "/console/topic?" in one] == [
        "/console/topic?name=persistent%3A%2F%2Fpublic%2Fdefault%2Fparted"
    ]
    assert "parted-partition-2" in browser.get("/console/topic", name="parted").outline.text


def test_messages_are_decoded_by_the_schema_of_their_version(browser: Browser, client: pulsar.Client) -> None:
    class Order(pulsar.schema.Record):  # type: ignore[misc]  # the library has no types
        id = pulsar.schema.Long()

    topic = "persistent://public/default/typed"
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic, schema=pulsar.schema.AvroSchema(Order))
    producer.send(Order(id=4711))
    producer.close()
    text = browser.get("/console/messages", topic=topic, subscription="s").outline.text
    assert '"id": 4711' in text and "AVRO" in text


def test_the_messages_of_a_batch_are_shown_one_by_one(browser: Browser, client: pulsar.Client) -> None:
    topic = "persistent://public/default/batched"
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=10_000)
    for number in range(3):
        producer.send_async(f"part {number}".encode(), None)
    producer.flush()
    producer.close()
    text = browser.get("/console/messages", topic=topic, subscription="s").outline.text
    assert all(f"part {number}" in text for number in range(3))


def test_pages_of_messages_end_with_the_last_entry(browser: Browser, client: pulsar.Client) -> None:
    topic = "persistent://public/default/pages"
    filled(client, topic, "s", [f"order {number}.".encode() for number in range(11)])
    first = browser.get("/console/messages", topic=topic)
    second = browser.get("/console/messages", **{"topic": topic, "from": "11"})
    third = browser.get("/console/messages", **{"topic": topic, "from": "21"})
    assert orders(first) == list(range(10)) and "Later" in first.outline.text
    assert orders(second) == [10] and "Later" not in second.outline.text
    assert orders(third) == [] and "There are no more messages." in third.outline.text


def orders(shown: Shown) -> list[int]:
    return [int(number) for number in re.findall(r"order (\d+)\.", shown.outline.text)]


def test_an_entry_of_two_messages_is_shown_once_and_its_backlog_counts_messages(
    browser: Browser, client: pulsar.Client
) -> None:
    topic = "persistent://public/default/one-batch"
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=10_000)
    for number in range(2):
        producer.send_async(f"order {number}.".encode(), None)
    producer.flush()
    producer.close()
    for subscription in ("", "s"):
        shown = browser.get("/console/messages", topic=topic, subscription=subscription)
        assert orders(shown) == [0, 1]
        assert "Later" not in shown.outline.text
    assert json.loads(browser.get("/console/sample", topic=topic).text)["values"]["backlog"] == 2
    text = browser.get("/console/subscription", topic=topic, name="s").outline.text
    assert "Backlog (messages)" in text and "entries" not in text
    assert "Backlog (messages)" in browser.get("/console/backlogs").outline.text


def test_the_messages_of_a_partitioned_topic_are_shown_by_partition(
    broker: EmbeddedBroker, browser: Browser, client: pulsar.Client
) -> None:
    topic = "persistent://public/default/browsed"
    broker.create_partitioned_topic(topic, 3)
    client.subscribe(topic, "s").close()
    for number in range(2):
        producer = client.create_producer(f"{topic}-partition-{number}", batching_enabled=False)
        for order in range(12) if number else ():
            producer.send(f"order {order}.".encode())
        producer.close()
    for page, query in (("topic", {"name": topic}), ("subscription", {"topic": topic, "name": "s"})):
        messages = follow(browser, browser.get(f"/console/{page}", **query), "/console/messages")
        assert "Partition (0 to 2)" in messages.outline.text and "There are no messages here." in messages.outline.text
        subscription = "s" if page == "subscription" else ""
        chosen = browser.get("/console/messages", topic=topic, subscription=subscription, partition="1")
        assert orders(chosen) == list(range(10))
        later = next(one for one in chosen.outline.links if "from=11" in one)
        assert orders(browser.get(later)) == [10, 11]


# What pages escape


def hostile_pages(client: pulsar.Client) -> Iterator[str]:
    topic = f"persistent://public/default/{HOSTILE}"
    filled(client, topic, HOSTILE, [HOSTILE.encode()], properties={HOSTILE: HOSTILE}, partition_key=HOSTILE)
    yield "/console/topics?namespace=public/default"
    yield f"/console/topics?{urlencode({'namespace': 'public/default', 'filter': HOSTILE})}"
    yield f"/console/topic?{urlencode({'name': topic})}"
    yield f"/console/subscription?{urlencode({'topic': topic, 'name': HOSTILE})}"
    yield f"/console/messages?{urlencode({'topic': topic, 'subscription': HOSTILE})}"
    yield "/console/backlogs"
    for name in ("unsubscribe", "skip"):
        yield f"/console/action?{urlencode({'do': name, 'topic': topic, 'subscription': HOSTILE})}"
    for page in console.PAGES:
        yield f"{page}?{urlencode({'tenant': HOSTILE, 'namespace': HOSTILE, 'topic': HOSTILE, 'do': HOSTILE})}"


def test_names_payloads_and_properties_cannot_add_elements(browser: Browser, client: pulsar.Client) -> None:
    shown = 0
    for address in hostile_pages(client):
        outline = browser.get(address).outline
        assert "img" not in [tag for tag, _ in outline.tags], address
        assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
        assert "\u202e" not in outline.text
        shown += "onerror=alert(1)" in outline.text
    assert shown > 6


@pytest.mark.parametrize(
    "path", ["/", "/console/topics?namespace=public/default", "/console/nothing", "/console/topic"]
)
def test_a_page_runs_no_inline_code_and_loads_nothing_from_elsewhere(browser: Browser, path: str) -> None:
    shown = browser.get(path)
    if shown.headers["Content-Type"].startswith("text/html"):
        policy = shown.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        outline = shown.outline
        assert [one.get("src") for one in outline.named("script")] == ["/console/console.js"]
        assert not outline.named("style")
        assert not [1 for _, attributes in outline.tags if "style" in attributes]


def test_every_page_has_landmarks_a_heading_and_labels(browser: Browser, stuck: str) -> None:
    query = urlencode({"topic": stuck, "subscription": "billing", "name": stuck, "do": "skip"})
    for page in console.PAGES:
        shown = browser.get(f"{page}?{query}&namespace=public/default&tenant=public")
        if shown.headers["Content-Type"] == "application/json":
            continue
        outline = shown.outline
        labels = {one.get("for") for one in outline.named("label")}
        inputs = [one for one in outline.named("input") if one.get("type") != "hidden"]
        assert [one for one in inputs if one.get("id") not in labels] == [], page
        assert [len(outline.named(tag)) for tag in ("main", "h1", "header", "footer")] == [1, 1, 1, 1], page
        assert len(outline.named("table")) == len(outline.named("caption")), page
        assert outline.links[0] == "#content", page


# What pages refuse


def test_looking_at_a_subscription_that_does_not_exist_creates_none(browser: Browser, stuck: str) -> None:
    shown = browser.get("/console/messages", topic=stuck, subscription="made-by-a-link")
    assert shown.status == 404
    assert "made-by-a-link" not in browser.get("/console/topic", name=stuck).outline.text


def test_a_page_of_another_site_gets_nothing(broker: EmbeddedBroker, stuck: str) -> None:
    other = Browser(port_of(broker), {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"})
    assert other.get("/").status == 403
    form = {"do": "clear-backlog", "topic": stuck, "subscription": "billing"}
    assert other.post("/console/action", **form).status == 403


def test_every_page_and_form_is_routed() -> None:
    routed = {(one.method, one.path) for one in served_routes().listed}
    assert {("GET", path) for path in (*console.PAGES, *console.FILES)} <= routed
    assert {("POST", path) for path in console.FORMS} <= routed


def test_a_request_with_many_fields_is_refused(browser: Browser) -> None:
    shown = browser.post("/console/action", **{f"f{number}": "x" for number in range(100)})
    assert shown.status == 400
