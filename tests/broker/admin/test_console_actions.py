"""What the console changes: after a confirmation, with the rights of its user, and only if actions are switched on."""

from collections.abc import Iterator
from itertools import count

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.console import ConsoleConfig
from broker_core.config.server import ServerConfig
from broker_core.console.actions import ACTIONS
from broker_core.testing import EmbeddedBroker
from tests.broker.transactions.commands import begin
from tests.support.console_browser import Browser, Shown
from tests.support.raw_client import RawClient

NUMBERS = count()
PORTS = ServerConfig(broker_port=0, web_port=0)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=BrokerConfig(server=PORTS, console=ConsoleConfig(actions=True))) as found:
        yield found


@pytest.fixture(scope="module")
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    found = pulsar.Client(broker.service_url)
    yield found
    found.close()


@pytest.fixture
def browser(broker: EmbeddedBroker) -> Browser:
    return Browser(int(broker.http_url.rpartition(":")[2]))


@pytest.fixture
def topic(client: pulsar.Client) -> str:
    """A topic with ten messages for the subscription `s`, which has no consumer."""
    name = f"persistent://public/default/{next(NUMBERS)}"
    client.subscribe(name, "s").close()
    producer = client.create_producer(name, batching_enabled=False)
    for number in range(10):
        producer.send(str(number).encode(), partition_key="k")
    producer.close()
    return name


def backlog(browser: Browser, topic: str) -> str:
    text = browser.get("/console/subscription", topic=topic, name="s").outline.text
    return text.partition("Backlog (messages)")[2].partition("Delivered")[0].strip()


def act(browser: Browser, name: str, topic: str, **fields: str) -> Shown:
    """Opens the page that asks for confirmation, and sends its form."""
    target = {"topic": topic, "subscription": "s", "namespace": "", **fields}
    asked = browser.get("/console/action", do=name, **target)
    assert asked.status == 200
    sent = {one["name"]: one.get("value") or "" for one in asked.outline.named("input") if one.get("type") == "hidden"}
    return browser.post("/console/action", **{**{str(key): value for key, value in sent.items()}, **fields})


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [("skip", "3", "7"), ("clear-backlog", "", "0"), ("reset-cursor", "latest", "0")],
)
def test_an_action_on_a_subscription_takes_effect(
    browser: Browser, topic: str, name: str, value: str, left: str
) -> None:
    done = act(browser, name, topic, value=value)
    assert done.status == 303
    assert backlog(browser, topic) == left


def test_a_cursor_goes_back_to_the_start(browser: Browser, topic: str) -> None:
    act(browser, "clear-backlog", topic)
    assert act(browser, "reset-cursor", topic, value="earliest").status == 303
    assert backlog(browser, topic) == "10"


def test_the_page_after_an_action_says_that_it_is_done(browser: Browser, topic: str) -> None:
    where = act(browser, "skip", topic, value="1").headers["Location"]
    assert "Skip messages: done." in browser.get(where).outline.text


@pytest.mark.parametrize("name", ["unload", "compact"])
def test_an_action_on_a_topic_is_accepted(browser: Browser, topic: str, name: str) -> None:
    assert act(browser, name, topic, subscription="", value="1000").status == 303


def test_messages_that_are_too_young_do_not_expire(browser: Browser, topic: str) -> None:
    act(browser, "expire", topic, value="1000")
    act(browser, "expire-all", topic, subscription="", value="1000")
    assert backlog(browser, topic) == "10"


def test_a_topic_is_deleted_after_its_name_was_typed(browser: Browser, topic: str) -> None:
    wrong = act(browser, "delete", topic, subscription="", typed="another")
    assert wrong.status == 400 and "is another one" in wrong.outline.text
    assert browser.get("/console/topic", name=topic).status == 200
    done = act(browser, "delete", topic, subscription="", typed=topic)
    assert (done.status, done.headers["Location"]) == (303, "/console/topics?namespace=public%2Fdefault&done=delete")
    assert browser.get("/console/topic", name=topic).status == 404


def test_a_subscription_is_deleted_after_its_name_was_typed(browser: Browser, topic: str) -> None:
    assert act(browser, "unsubscribe", topic, typed="S").status == 400
    assert act(browser, "unsubscribe", topic, typed="s").status == 303
    assert browser.get("/console/subscription", topic=topic, name="s").status == 404


@pytest.mark.parametrize(
    ("name", "value"),
    [("skip", "0"), ("skip", "-1"), ("skip", "1e3"), ("skip", ""), ("skip", "9" * 5000), ("reset-cursor", "12")],
)
def test_a_wrong_value_is_refused_and_asked_for_again(browser: Browser, topic: str, name: str, value: str) -> None:
    shown = act(browser, name, topic, value=value)
    assert shown.status == 400
    assert "Cannot do that" in shown.outline.text
    assert backlog(browser, topic) == "10"


def test_a_refusal_of_the_broker_is_shown_with_its_reason(browser: Browser) -> None:
    shown = act(browser, "skip", "persistent://public/default/missing", value="1")
    assert shown.status == 404
    assert "not found" in shown.outline.text.lower()


def test_every_action_is_on_a_page(browser: Browser, broker: EmbeddedBroker, topic: str) -> None:
    broker.create_partitioned_topic("persistent://public/default/of-two", 2)
    act(browser, "skip", topic, value="1")
    with RawClient(broker.service_url) as raw:
        begin(raw)
    pages = (
        browser.get("/console/topic", name=topic),
        browser.get("/console/subscription", topic=topic, name="s"),
        browser.get("/console/topics", namespace="public/default"),
        browser.get("/console/topic", name="of-two"),
        browser.get("/console/transactions"),
    )
    links = [link for shown in pages for link in shown.outline.links if link.startswith("/console/action?")]
    assert {link.partition("do=")[2].partition("&")[0] for link in links} == {one.name for one in ACTIONS}
    for link in links:
        assert browser.get(link).status == 200


def test_a_read_only_console_offers_and_accepts_no_action() -> None:
    with EmbeddedBroker(config=BrokerConfig(server=PORTS)) as broker:
        browser = Browser(int(broker.http_url.rpartition(":")[2]))
        assert "Read-only" in browser.get("/").outline.text
        assert "/console/action" not in browser.get("/console/topics", namespace="public/default").text
        assert browser.get("/console/action", do="unload-namespace", namespace="public/default").status == 403
        form = {"do": "clear-namespace-backlog", "namespace": "public/default", "typed": "public/default"}
        shown = browser.post("/console/action", **form)
        assert shown.status == 403 and "--console-actions" in shown.outline.text


def test_a_console_that_is_switched_off_answers_nothing() -> None:
    with EmbeddedBroker(config=BrokerConfig(server=PORTS, console=ConsoleConfig(enabled=False))) as broker:
        browser = Browser(int(broker.http_url.rpartition(":")[2]))
        for path in ("/", "/console/topics", "/console/console.js", "/console/sign-in"):
            shown = browser.get(path)
            assert (shown.status, "consoleEnabled" in shown.text) == (404, True)
