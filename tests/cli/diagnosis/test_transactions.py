"""`describe`, `explain`, and `doctor` name the open transaction that messages wait for, on a real broker."""

import json
import re
from collections.abc import Callable, Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.commands.describe import describing
from pulsarctl.facts import topic as topic_facts
from pulsarctl.facts import topic_checks
from tests.cli.diagnosis.findings import findings
from tests.cli.open_transactions import acknowledge_first, began_ms, number, open_transaction, verb
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.runner import Cli

Later = Callable[[int], None]
ROOT = "/admin/v3/transactions"


@pytest.fixture
def raw(pulsar_broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as connected:
        yield connected


@pytest.fixture
def transaction(cli: Cli, raw: RawClient, topic: str) -> Iterator[dict[str, int]]:
    named = open_transaction(cli, raw, topic)
    yield named
    assert cli(*verb("abort-transaction", named)).exit_code == 0


@pytest.fixture
def later(cli: Cli, transaction: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> Later:
    """Sets the clock of the program to a time after the begin of the transaction, in seconds."""
    began = began_ms(cli, transaction)

    def set_clock(seconds: int) -> None:
        for module in (topic_facts, topic_checks, describing):
            monkeypatch.setattr(module, "now_ms", lambda: began + seconds * 1000)

    return set_clock


def test_explain_names_the_transaction_that_holds_back_a_topic(
    cli: Cli, topic: str, transaction: dict[str, int], later: Later
) -> None:
    later(20)
    found = findings(cli, "explain", topic)["transaction-open"]
    assert found == {
        "code": "transaction-open",
        "severity": "warning",
        "certainty": "exact",
        "topic": f"persistent://public/default/{topic}",
        "subscription": None,
        "finding": f"Transaction {number(transaction)} has been open for 20s, with a time-out of 1m, and holds back 2 "
        "entries: no consumer gets them before it ends.",
        "command": " ".join(("pulsarctl", *verb("transaction-metadata", transaction))),
    }


def test_a_transaction_that_has_just_begun_is_no_reason_to_act(cli: Cli, topic: str, later: Later) -> None:
    later(2)
    assert findings(cli, "explain", topic)["transaction-open"]["severity"] == "ok"


def test_explain_of_a_subscription_says_what_is_delivered_and_what_waits(
    cli: Cli, raw: RawClient, topic: str, transaction: dict[str, int], later: Later
) -> None:
    subscribe(raw, topic, name="billing")
    receive(raw, 1)
    later(20)
    lines = cli("explain", topic, "-s", "billing").stdout.splitlines()
    assert lines[:6] == [
        f"public/default/{topic}",
        f"  warning  Transaction {number(transaction)} has been open for 20s, with a time-out of 1m, and",
        "           holds back 2 entries: no consumer gets them before it ends.",
        f"           {' '.join(('pulsarctl', *verb('transaction-metadata', transaction)))}",
        "",
        f"public/default/{topic}, subscription billing",
    ]
    assert lines[6] == "  warning  1 entry of the backlog is delivered and not acknowledged by its"


def test_describe_says_what_waits_for_the_transaction(
    cli: Cli, topic: str, transaction: dict[str, int], later: Later
) -> None:
    later(20)
    page = json.loads(cli("describe", "topic", topic, "-o", "json").stdout)
    assert re.sub(r"\d+:0", "POSITION", page["transaction"]) == (
        f"{number(transaction)}, open for 20s, time-out 1m; 2 entries after POSITION wait"
    )


def test_doctor_names_the_oldest_holder_after_a_minute(
    cli: Cli, topic: str, transaction: dict[str, int], later: Later
) -> None:
    later(60)
    assert "transaction-open" not in findings(cli, "doctor")
    later(69)
    found = findings(cli, "doctor")["transaction-open"]
    assert (found["severity"], found["finding"]) == (
        "warning",
        f"Transaction {number(transaction)} has been open for 1m 9s, with a time-out of 1m, and holds back 2 entries "
        f"of 1 topic ('{topic}').",
    )


def test_doctor_reports_a_transaction_that_outlives_its_time_out(
    cli: Cli, topic: str, transaction: dict[str, int], later: Later
) -> None:
    later(300)
    found = findings(cli, "doctor")
    assert "transaction-open" not in found
    assert (found["transaction-overdue"]["severity"], found["transaction-overdue"]["finding"]) == (
        "problem",
        f"Transaction {number(transaction)} has been open for 5m, longer than its time-out of 1m, and holds back 2 "
        f"entries of 1 topic ('{topic}').",
    )
    assert found["transaction-overdue"]["command"] == " ".join(("pulsarctl", *verb("abort-transaction", transaction)))


def test_explain_says_that_acknowledgments_wait_for_a_transaction(
    cli: Cli, raw: RawClient, topic: str, transaction: dict[str, int], later: Later
) -> None:
    acknowledge_first(raw, topic, transaction)
    later(20)
    found = findings(cli, "explain", topic, "-s", "billing")
    assert found["acknowledged-in-transaction"]["finding"] == (
        f"Transaction {number(transaction)} has been open for 20s, with a time-out of 1m, and holds acknowledgments of "
        "the subscription: their messages stay in the backlog until it ends."
    )
    assert "unacknowledged" not in found


def test_nothing_is_said_without_transactions(cli: Cli, cli_alone: Cli) -> None:
    """A broker without them answers with status 503."""
    with HttpStub(_without_transactions) as stub:
        found = findings(cli_alone, "explain", "orders", "--admin-url", stub.url)
    assert set(found) == {"no-producer"}


def test_a_transaction_that_the_broker_does_not_list_is_not_named(cli_alone: Cli) -> None:
    with HttpStub(_without_a_list) as stub:
        found = findings(cli_alone, "explain", "orders", "--admin-url", stub.url)
    assert found["transaction-open"]["finding"] == (
        "An open transaction holds back 4 entries: no consumer gets them before it ends."
    )


def _without_transactions(request: Request) -> Reply:
    path = request.path.partition("?")[0]
    if path.startswith(ROOT):
        return Reply(503, {"reason": "This Broker is not configured with transactionCoordinatorEnabled=true."})
    return Reply(body={"partitions": 0} if path.endswith("/partitions") else {})


def _without_a_list(request: Request) -> Reply:
    path = request.path.partition("?")[0]
    if "/slowTransactions/" in path:
        return Reply(500, {"reason": "Internal Server Error"})
    if "/transactionBufferStats/" in path:
        return Reply(body={"ongoingTxnSize": 1, "maxReadPosition": "7:1"})
    if path.endswith("/internalStats"):
        ledgers = [{"ledgerId": 5, "entries": 9}, {"ledgerId": 7, "entries": 3}, {"ledgerId": 8, "entries": 0}]
        return Reply(body={"lastConfirmedEntry": "8:2", "ledgers": ledgers})
    return _without_transactions(request)
