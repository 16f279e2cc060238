"""Messages published in transactions: all of them are delivered after the commit, or none, ever."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.errors import ServerError
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import ask, begin, end, publish
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import subscribe
from tests.support.raw_publishing import producer, send

TOPIC = "persistent://public/default/transactions"
CONFIG = replace(BrokerConfig(server=FREE_PORTS), transactions=TransactionConfig(enabled=True))


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=CONFIG) as running:
        yield running


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[RawClient]:
    """Has a producer of the topic."""
    with RawClient(broker.service_url) as connected:
        connected.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        yield connected


def payload(consumer: RawClient) -> bytes:
    return parse_entry(consumer.expect_entry().entry)[1]


def received(broker: EmbeddedBroker, count: int, *, topic: str = TOPIC, name: str = "s") -> list[bytes]:
    """The first messages that a new consumer gets from the start of the topic."""
    with RawClient(broker.service_url) as consumer:
        subscribe(consumer, topic, name=name, initial_position=pb.CommandSubscribe.Earliest)
        return [payload(consumer) for _ in range(count)]


def last_message_id(broker: EmbeddedBroker, *, compacted: bool = False) -> tuple[int, int]:
    with RawClient(broker.service_url) as consumer:
        subscribe(consumer, TOPIC, name="last", permits=0, read_compacted=compacted)
        consumer.send(client_commands.get_last_message_id(1, 2))
        last = consumer.expect(BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE).last_message_id
        return last.ledgerId, last.entryId


def test_a_commit_shows_all_messages_in_the_order_of_the_log(broker: EmbeddedBroker, client: RawClient) -> None:
    transaction = begin(client)
    publish(client, 1, b"a", transaction)
    publish(client, 2, b"plain")
    publish(client, 3, b"b", transaction)
    assert not end(client, transaction, commit=True).HasField("error")
    assert received(broker, 3) == [b"a", b"plain", b"b"]


def test_an_abort_shows_none_and_lets_later_messages_go(broker: EmbeddedBroker, client: RawClient) -> None:
    transaction = begin(client)
    publish(client, 1, b"aborted", transaction)
    publish(client, 2, b"plain")
    end(client, transaction, commit=False)
    publish(client, 3, b"later")
    assert received(broker, 2) == [b"plain", b"later"]


def test_plain_messages_wait_behind_an_open_transaction(broker: EmbeddedBroker, client: RawClient) -> None:
    before = publish(client, 1, b"before").message_id
    transaction = begin(client)
    publish(client, 2, b"open", transaction)
    publish(client, 3, b"behind")
    assert last_message_id(broker) == (before.ledgerId, before.entryId)
    with RawClient(broker.service_url) as consumer:
        subscribe(consumer, TOPIC, name="waiting", initial_position=pb.CommandSubscribe.Earliest)
        assert payload(consumer) == b"before"
        end(client, transaction, commit=True)
        assert [payload(consumer) for _ in range(2)] == [b"open", b"behind"]


def test_the_last_message_id_is_that_of_a_message_that_was_not_aborted(
    broker: EmbeddedBroker, client: RawClient
) -> None:
    plain = publish(client, 1, b"plain").message_id
    transaction = begin(client)
    publish(client, 2, b"aborted", transaction)
    end(client, transaction, commit=False)
    assert last_message_id(broker) == (plain.ledgerId, plain.entryId)


@pytest.mark.parametrize("commit", [True, False])
def test_a_compacted_reader_does_not_take_a_marker_for_the_last_message(
    broker: EmbeddedBroker, client: RawClient, *, commit: bool
) -> None:
    plain = publish(client, 1, b"plain").message_id
    transaction = begin(client)
    written = publish(client, 2, b"written", transaction).message_id
    end(client, transaction, commit=commit)
    last = written if commit else plain
    assert last_message_id(broker, compacted=True) == (last.ledgerId, last.entryId)


def test_a_message_of_a_transaction_cannot_be_a_marker(client: RawClient) -> None:
    transaction = begin(client)
    marker = {**transaction, "marker_type": 10}  # of snapshots of replicated subscriptions
    bits: dict[str, Any] = dict(transaction)
    client.send(send(1, b"forged", metadata=marker, **bits))
    assert client.expect(BaseCommand.SEND_ERROR).error == ServerError.NOT_ALLOWED_ERROR


def test_transactions_that_are_left_when_they_are_disabled_time_out(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path, config=CONFIG) as broker, RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 1, b"open", begin(client, ttl_ms=1_000))
        publish(client, 2, b"plain")
    with EmbeddedBroker(tmp_path, config=BrokerConfig(server=FREE_PORTS)) as broker:
        assert received(broker, 1) == [b"plain"]


def test_a_repeated_end_succeeds_and_the_other_outcome_does_not(client: RawClient) -> None:
    transaction = begin(client)
    publish(client, 1, b"a", transaction)
    assert not end(client, transaction, commit=True).HasField("error")
    assert not end(client, transaction, commit=True).HasField("error")
    assert end(client, transaction, commit=False).error == ServerError.TRANSACTION_NOT_FOUND


@pytest.mark.parametrize("commit", [True, False])
def test_a_message_of_an_ended_transaction_is_refused(client: RawClient, *, commit: bool) -> None:
    transaction = begin(client)
    end(client, transaction, commit=commit)
    assert publish(client, 1, b"late", transaction).error == ServerError.NOT_ALLOWED_ERROR


def test_a_message_of_a_transaction_that_never_was_blocks_no_topic(broker: EmbeddedBroker, client: RawClient) -> None:
    invented = {"txnid_most_bits": 0, "txnid_least_bits": 4711}
    assert publish(client, 1, b"invented", invented).error == ServerError.NOT_ALLOWED_ERROR
    publish(client, 3, b"plain")
    assert received(broker, 1) == [b"plain"]


def test_a_transaction_that_times_out_is_aborted(broker: EmbeddedBroker, client: RawClient) -> None:
    transaction = begin(client, ttl_ms=1)
    publish(client, 1, b"late", transaction)
    publish(client, 2, b"plain")
    assert received(broker, 1) == [b"plain"]
    assert end(client, transaction, commit=True).error == ServerError.TRANSACTION_NOT_FOUND


def test_a_timeout_that_java_cannot_read_is_refused(client: RawClient) -> None:
    refused = ask(client, BaseCommand.NEW_TXN, tc_id=0, txn_ttl_millis=1 << 63)
    assert refused.error == pb.NotAllowedError
    begin(client, (1 << 63) - 1)


def test_a_topic_that_was_unloaded_still_hides_what_is_open(broker: EmbeddedBroker, client: RawClient) -> None:
    transaction = begin(client)
    publish(client, 1, b"a", transaction)
    broker.call(broker.broker.topics.unload(parse_topic(TOPIC)))
    client.expect(BaseCommand.CLOSE_PRODUCER)
    client.ask(producer(TOPIC, producer_id=2), BaseCommand.PRODUCER_SUCCESS)
    end(client, transaction, commit=True)
    assert received(broker, 1) == [b"a"]


def test_a_terminated_topic_shows_what_was_committed_after(broker: EmbeddedBroker, client: RawClient) -> None:
    transaction = begin(client)
    publish(client, 1, b"a", transaction)
    broker.call(broker.broker.topics.loaded[TOPIC].terminate())
    client.expect(BaseCommand.CLOSE_PRODUCER)
    assert not end(client, transaction, commit=True).HasField("error")
    assert received(broker, 1) == [b"a"]


def test_a_non_persistent_topic_refuses_messages_of_a_transaction(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        client.ask(producer("non-persistent://public/default/t"), BaseCommand.PRODUCER_SUCCESS)
        assert publish(client, 1, b"x", begin(client)).error == ServerError.NOT_ALLOWED_ERROR


def test_the_coordinator_has_one_partition_and_no_topic(broker: EmbeddedBroker, client: RawClient) -> None:
    assign = "persistent://pulsar/system/transaction_coordinator_assign"
    client.send(client_commands.partitioned_metadata(1, assign))
    assert client.expect(BaseCommand.PARTITIONED_METADATA_RESPONSE).partitions == 1
    assert not broker.broker.topics.exists(parse_topic(assign).partition_name(0))
    assert not ask(client, BaseCommand.TC_CLIENT_CONNECT_REQUEST, tc_id=0).HasField("error")
    other = ask(client, BaseCommand.TC_CLIENT_CONNECT_REQUEST, tc_id=1)
    assert other.error == ServerError.TRANSACTION_COORDINATOR_NOT_FOUND


def test_a_broker_refuses_more_open_transactions_than_configured() -> None:
    config = replace(CONFIG, transactions=TransactionConfig(enabled=True, max_active=2))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        first, _ = begin(client), begin(client)
        refused = ask(client, BaseCommand.NEW_TXN, tc_id=0, txn_ttl_millis=1000)
        assert refused.error == ServerError.TOO_MANY_REQUESTS
        end(client, first, commit=False)
        begin(client)


def test_a_broker_without_transactions_refuses_them_as_pulsar_does() -> None:
    disabled = replace(CONFIG, transactions=TransactionConfig(enabled=False))
    with EmbeddedBroker(config=disabled) as broker, RawClient(broker.service_url) as client:
        refused = ask(client, BaseCommand.NEW_TXN, tc_id=0, txn_ttl_millis=1000)
        assert isinstance(refused, pb.CommandError)
        assert refused.message == "Transactions are not enabled."
        client.ask(producer(TOPIC, txn_enabled=True), BaseCommand.PRODUCER_SUCCESS)
        of_one = {"txnid_most_bits": 0, "txnid_least_bits": 1}
        assert publish(client, 1, b"x", of_one).error == ServerError.NOT_ALLOWED_ERROR


def test_a_topic_without_transactions_has_none_of_their_objects(broker: EmbeddedBroker, client: RawClient) -> None:
    publish(client, 1, b"plain")
    log = broker.broker.topics.loaded[TOPIC].ledger.on_disk
    assert log is not None
    assert log.transactions is None
    assert not broker.broker.topics.loaded[TOPIC].special_entries.has_markers
