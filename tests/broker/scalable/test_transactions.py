"""Transactions of clients of the V5 API: where the coordinator is, and transactions over a split."""

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import next_assignment, register, send
from tests.broker.scalable.requests import Requests
from tests.broker.transactions.commands import begin, end, publish
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer

X = "topic://public/default/x"
FIRST = "segment://public/default/x/0000-ffff-0"


def test_a_watch_of_coordinators_tells_that_there_is_one(client: RawClient, broker: EmbeddedBroker) -> None:
    assert client.connected.feature_flags.supports_tc_metadata_discovery
    send(client, BaseCommand.WATCH_TC_ASSIGNMENTS, watch_id=3)
    answer = client.expect(BaseCommand.WATCH_TC_ASSIGNMENTS_UPDATE)
    assert (answer.watch_id, answer.snapshot.parallelism) == (3, 1)
    assert [(one.tc_id, one.broker_service_url) for one in answer.snapshot.assignments] == [(0, broker.service_url)]


def test_without_transactions_there_is_no_coordinator_to_watch() -> None:
    config = BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        assert not client.connected.feature_flags.supports_tc_metadata_discovery
        send(client, BaseCommand.WATCH_TC_ASSIGNMENTS, watch_id=3)
        assert client.expect(BaseCommand.WATCH_TC_ASSIGNMENTS_UPDATE).error == pb.NotAllowedError


@pytest.mark.parametrize("commit", [True, False])
def test_children_wait_for_the_transactions_in_their_parent(
    broker: EmbeddedBroker, admin: Requests, client: RawClient, commit: bool
) -> None:
    admin("PUT", "scalable/public/default/x")
    register(client, X, "s", "a")
    subscribe(client, FIRST, name="s")
    with RawClient(broker.service_url) as other:
        other.ask(producer(FIRST), BaseCommand.PRODUCER_SUCCESS)
        transaction = begin(other)
        publish(other, 0, b"in", transaction)
        admin("POST", "scalable/public/default/x/split/0")
        assert next_assignment(client) == ["0000-ffff-0"]
        other.expect(BaseCommand.CLOSE_PRODUCER)
        end(other, transaction, commit=commit)
    if commit:
        message = receive(client)[0]
        client.send(client_commands.acknowledge(1, [message.message_id], cumulative=True))
    assert next_assignment(client) == ["0000-7fff-1", "8000-ffff-2"]


def test_a_message_in_a_transaction_is_not_taken_by_a_sealed_segment(admin: Requests, client: RawClient) -> None:
    admin("PUT", "scalable/public/default/x")
    admin("POST", "scalable/public/default/x/split/0")
    client.send(frame(producer(FIRST)))
    assert client.expect(BaseCommand.ERROR).error == pb.TopicTerminatedError
