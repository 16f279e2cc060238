"""A topic with an open transaction, and the verbs of `pulsarctl transactions` for it."""

import json

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import begin, publish
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer
from tests.support.runner import Cli

Named = dict[str, int]


def open_transaction(cli: Cli, raw: RawClient, topic: str) -> Named:
    """It wrote the second of three messages of the topic. The subscription `billing` has all of them to receive."""
    raw.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
    assert cli("topics", "create-subscription", topic, "-s", "billing", "-m", "earliest").exit_code == 0
    named = begin(raw)
    publish(raw, 1, b"before")
    publish(raw, 2, b"of the transaction", named)
    publish(raw, 3, b"after it")
    return named


def acknowledge_first(raw: RawClient, topic: str, named: Named) -> None:
    """The transaction acknowledges the first message in `billing`."""
    subscribe(raw, topic, name="billing")
    (first,) = receive(raw, 1)
    transaction = named["txnid_most_bits"], named["txnid_least_bits"]
    raw.send(client_commands.acknowledge(1, [first.message_id], request_id=7, transaction=transaction))
    assert not raw.expect(BaseCommand.ACK_RESPONSE).HasField("error")


def verb(name: str, named: Named) -> tuple[str, ...]:
    return ("transactions", name, "-m", str(named["txnid_most_bits"]), "-l", str(named["txnid_least_bits"]))


def number(named: Named) -> str:
    return f"({named['txnid_most_bits']},{named['txnid_least_bits']})"


def began_ms(cli: Cli, named: Named) -> int:
    return int(json.loads(cli(*verb("transaction-metadata", named), "-o", "json").stdout)["openTimestamp"])
