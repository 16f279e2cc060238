"""`pulsarctl transactions`, exact output of every verb on a broker with an open transaction."""

import json
import re
from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.commands.transactions import tables
from pulsarctl.values.times import utc
from tests.broker.transactions.commands import begin
from tests.cli.open_transactions import Named, acknowledge_first, began_ms, number, open_transaction, verb
from tests.support.raw_client import RawClient
from tests.support.runner import Cli, Outcome

TOPIC = "orders"
FULL = "persistent://public/default/orders"
Began = tuple[Named, int]


@pytest.fixture(scope="module")
def raw(pulsar_broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as connected:
        yield connected


@pytest.fixture(scope="module")
def begun(pulsar_broker: EmbeddedBroker, raw: RawClient, tmp_path_factory: pytest.TempPathFactory) -> Began:
    """The transaction, and the time when it began."""
    cli = Cli(tmp_path_factory.mktemp("home"), pulsar_broker.http_url, pulsar_broker.service_url)
    named = open_transaction(cli, raw, TOPIC)
    acknowledge_first(raw, TOPIC, named)
    return named, began_ms(cli, named)


@pytest.fixture
def transaction(begun: Began, monkeypatch: pytest.MonkeyPatch) -> Named:
    """The clock of the program is 20 seconds after its begin."""
    named, began = begun
    monkeypatch.setattr(tables, "now_ms", lambda: began + 20_000)
    return named


def table(cli: Cli, *words: str) -> list[str]:
    outcome = cli("transactions", *words, "-o", "table")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    return outcome.stdout.splitlines()


def cells(cli: Cli, *words: str) -> dict[str, str]:
    """A table of names and values."""
    heading, *rows = table(cli, *words)
    assert heading.split() == ["NAME", "VALUE"]
    return dict(re.split(" {2,}", row) for row in rows)


@pytest.mark.usefixtures("transaction")
def test_the_coordinators(cli: Cli, pulsar_broker: EmbeddedBroker) -> None:
    assert table(cli, "coordinators-list") == ["ID  BROKERSERVICEURL", f"0   {pulsar_broker.service_url}"]


def test_the_stats_of_all_coordinators_are_a_row_each(cli: Cli, transaction: Named) -> None:
    heading, row = table(cli, "coordinator-stats")
    assert re.split(" {2,}", heading) == ["COORDINATOR", "STATE", "OPEN", "LAST ID", "LOW-WATER MARK", "READY SINCE"]
    least = transaction["txnid_least_bits"]
    assert re.split(" {2,}", row)[:5] == ["0", "Ready", "1", str(least), str(least - 1)]
    assert cells(cli, "coordinator-stats", "-c", "0")["ongoingTxnSize"] == "1"
    assert list(json.loads(cli("transactions", "coordinator-stats", "-o", "json").stdout)) == ["0"]


def test_the_metadata_of_a_transaction_say_since_when_and_for_how_long_it_may_be_open(
    cli: Cli, begun: Began, transaction: Named
) -> None:
    shown = cells(cli, *verb("transaction-metadata", transaction)[1:])
    first = shown.pop(f"producedPartitions.{FULL}.startPosition")
    assert re.fullmatch(r"\d+:1", first)
    assert shown == {
        "txnId": number(transaction),
        "status": "OPEN",
        "openTimestamp": f"{utc(begun[1])[:19]}Z, 20s ago",
        "timeoutAt": "1m",
        f"producedPartitions.{FULL}.aborted": "no",
        f"ackedPartitions.{FULL}.billing": "-",
    }


def test_slow_transactions_are_a_row_each(cli: Cli, transaction: Named) -> None:
    name = number(transaction)
    assert table(cli, "slow-transactions", "-t", "0s") == [
        "ID     STATE  OPEN FOR  TIME-OUT  OWNER  PUBLISHES TO                        ACKNOWLEDGES",
        f"{name}  OPEN   20s       1m        -      {FULL}  {FULL} billing",
    ]
    assert table(cli, "slow-transactions", "-t", "1h") == ["no transactions"]
    assert cli("transactions", "slow-transactions", "-t", "1h").stdout == "{ }\n"


def test_the_oldest_transaction_comes_first(cli: Cli, raw: RawClient, transaction: Named) -> None:
    younger = begin(raw)
    found = json.loads(cli("transactions", "slow-transactions", "-t", "0s", "-o", "json").stdout)
    assert list(found) == [number(transaction), number(younger)]
    reverse = dict(reversed(found.items()))
    assert list(tables.oldest_first(reverse)) == list(found)
    assert cli(*verb("abort-transaction", younger)) == Outcome(0, "", "")


def test_what_a_transaction_published_to_a_topic(cli: Cli, transaction: Named) -> None:
    shown = cells(cli, *verb("transaction-in-buffer-stats", transaction)[1:], "-t", TOPIC)
    assert re.fullmatch(r"\d+:1", shown.pop("startPosition"))
    assert shown == {"aborted": "no"}


@pytest.mark.usefixtures("transaction")
def test_the_transactions_of_a_topic(cli: Cli) -> None:
    shown = cells(cli, "transaction-buffer-stats", "-t", TOPIC, "-l")
    assert re.fullmatch(r"\d+:0", shown["maxReadPosition"])
    assert (shown["state"], shown["ongoingTxnSize"], shown["totalAbortedTransactions"]) == ("Ready", "1", "0")
    assert shown["lowWaterMarks.0"].isdecimal()
    assert re.fullmatch(r"[\dT:-]{19}Z, \d+s ago", shown["recoverStartTime"])


@pytest.mark.usefixtures("transaction")
def test_the_transactions_that_acknowledge_messages_of_a_subscription(cli: Cli) -> None:
    shown = cells(cli, "pending-ack-stats", "-t", TOPIC, "-s", "billing")
    assert (shown["state"], shown["ongoingTxnSize"]) == ("Ready", "1")


def test_what_a_transaction_acknowledges_one_by_one_is_not_listed(cli: Cli, transaction: Named) -> None:
    words = (*verb("transaction-in-pending-ack-stats", transaction), "-t", TOPIC, "-s", "billing")
    assert cli(*words) == Outcome(0, "{ }\n", "")


def test_whether_a_transaction_holds_a_position(cli: Cli, transaction: Named) -> None:
    metadata = json.loads(cli(*verb("transaction-metadata", transaction), "-o", "json").stdout)
    ledger, _ = metadata["producedPartitions"][FULL]["startPosition"].split(":")
    of_billing = ("position-stats-in-pending-ack", "-t", TOPIC, "-s", "billing", "-l", ledger)
    assert cells(cli, *of_billing, "-e", "0") == {"state": "PendingAck"}
    assert cells(cli, *of_billing, "-e", "2") == {"state": "NotInPendingAck"}


@pytest.mark.usefixtures("transaction")
@pytest.mark.parametrize(
    "words",
    [
        ("coordinator-internal-stats", "-c", "0"),
        ("buffer-snapshot-internal-stats", "-t", TOPIC),
        ("pending-ack-internal-stats", "-t", TOPIC, "-s", "billing"),
    ],
)
def test_there_are_no_ledgers_of_transactions_to_show(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli("transactions", *words)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "Transactions of this broker are in its journal, and not in ledgers of their own" in outcome.stderr


def test_there_is_one_coordinator(cli: Cli) -> None:
    outcome = cli("transactions", "scale-transactionCoordinators", "-r", "16")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "This broker has 1 transaction coordinator, and cannot have more" in outcome.stderr


def test_a_transaction_is_aborted_once(cli: Cli, raw: RawClient) -> None:
    named = begin(raw)
    assert cli(*verb("abort-transaction", named)) == Outcome(0, "", "")
    again = cli(*verb("abort-transaction", named))
    assert (again.exit_code, number(named) in again.stderr) == (3, True)
