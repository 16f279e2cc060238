"""The console's page of open transactions, and its action to abort one."""

from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.console import ConsoleConfig
from broker_core.config.features import TransactionConfig
from broker_core.config.server import ServerConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import begin, end, publish
from tests.support.console_browser import Browser, Shown
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer

PORTS = ServerConfig(broker_port=0, web_port=0)
TOPIC = "persistent://public/default/orders"
PAGE = "/console/transactions"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=BrokerConfig(server=PORTS, console=ConsoleConfig(actions=True))) as running:
        yield running


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as connected:
        yield connected


def browser_of(broker: EmbeddedBroker) -> Browser:
    return Browser(int(broker.http_url.rpartition(":")[2]))


def open_transaction(raw: RawClient) -> dict[str, int]:
    """It publishes to the topic, and acknowledges its first message in `billing`."""
    raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    first = publish(raw, 1, b"1").message_id
    named = begin(raw)
    publish(raw, 2, b"2", named)
    subscribe(raw, TOPIC, name="billing", initial_position=1)
    receive(raw, 1)
    transaction = named["txnid_most_bits"], named["txnid_least_bits"]
    raw.send(client_commands.acknowledge(1, [first], request_id=7, transaction=transaction))
    raw.expect(BaseCommand.ACK_RESPONSE)
    return named


def number(named: dict[str, int]) -> str:
    return f"({named['txnid_most_bits']},{named['txnid_least_bits']})"


def abort(browser: Browser, transaction: str) -> Shown:
    """Follows the link of the page, and confirms."""
    encoded = transaction.replace("(", "%28").replace(",", "%2C").replace(")", "%29")
    link = next(one for one in browser.get(PAGE).outline.links if one.endswith(f"transaction={encoded}"))
    asked = browser.get(link)
    assert "Aborts the transaction." in asked.outline.text
    hidden = [one for one in asked.outline.named("input") if one.get("type") == "hidden"]
    return browser.post("/console/action", **{str(one["name"]): one["value"] or "" for one in hidden})


def test_an_open_transaction_is_listed_with_its_topic_and_its_subscription(
    broker: EmbeddedBroker, raw: RawClient
) -> None:
    named = open_transaction(raw)
    browser = browser_of(broker)
    shown = browser.get(PAGE)
    assert "1 open transaction" in shown.outline.text
    assert f"{number(named)}OPEN" in shown.outline.text
    assert "ordersbilling of orders" in shown.outline.text
    assert "/console/subscription?topic=persistent%3A%2F%2Fpublic%2Fdefault%2Forders&name=billing" in (
        shown.outline.links
    )
    assert PAGE in browser.get("/").outline.links
    assert end(raw, named, commit=False) is not None


def test_a_transaction_is_aborted_after_a_confirmation(broker: EmbeddedBroker, raw: RawClient) -> None:
    named = begin(raw)
    browser = browser_of(broker)
    done = abort(browser, number(named))
    assert (done.status, done.headers["Location"]) == (303, f"{PAGE}?done=abort-transaction")
    text = browser.get(done.headers["Location"]).outline.text
    assert "Abort: done." in text and "0 open transactions" in text


def test_an_action_on_what_is_no_transaction_is_refused(broker: EmbeddedBroker) -> None:
    shown = browser_of(broker).post("/console/action", do="abort-transaction", transaction="0/1/../2")
    assert (shown.status, "is not the ID of a transaction" in shown.outline.text) == (400, True)


def test_a_read_only_console_lists_transactions_and_offers_no_action() -> None:
    with EmbeddedBroker(config=BrokerConfig(server=PORTS)) as broker, RawClient(broker.service_url) as raw:
        named = begin(raw)
        shown = browser_of(broker).get(PAGE)
        assert number(named) in shown.outline.text
        assert "/console/action" not in shown.text


def test_a_broker_without_transactions_says_so() -> None:
    config = BrokerConfig(server=PORTS, transactions=TransactionConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker:
        shown = browser_of(broker).get(PAGE)
        assert (shown.status, "transactionCoordinatorEnabled" in shown.outline.text) == (503, True)
