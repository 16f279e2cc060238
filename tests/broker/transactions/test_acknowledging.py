"""Messages acknowledged in transactions: no consumer gets them before the transaction ends, and its outcome decides."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topic.acks_in_transactions import IDS_MAX
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import ask, begin, end, publish
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, still_open, subscribe
from tests.support.raw_publishing import producer, send_batch

TOPIC = "persistent://public/default/acknowledged"
CONFIG = replace(BrokerConfig(server=FREE_PORTS), transactions=TransactionConfig(enabled=True))
SHARED, KEY_SHARED = pb.CommandSubscribe.Shared, pb.CommandSubscribe.Key_Shared
EARLIEST = pb.CommandSubscribe.Earliest
Id = pb.MessageIdData


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=CONFIG) as running:
        yield running


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as connected:
        yield connected


@pytest.fixture
def control(broker: EmbeddedBroker) -> Iterator[RawClient]:
    """Begins and ends transactions: on the connection of a consumer, messages would come between the answers."""
    with RawClient(broker.service_url) as connected:
        yield connected


def published(client: RawClient, count: int, topic: str = TOPIC) -> list[Id]:
    client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
    return [publish(client, number, b"m%d" % number).message_id for number in range(1, count + 1)]


def join(client: RawClient, sub_type: int = SHARED, **fields: Any) -> None:
    subscribe(client, TOPIC, sub_type=sub_type, initial_position=EARLIEST, **fields)


def entries(client: RawClient, count: int) -> list[int]:
    return [message.message_id.entryId for message in receive(client, count)]


def acknowledge(
    client: RawClient, transaction: dict[str, int], ids: Sequence[Id], *, cumulative: bool = False
) -> pb.CommandAckResponse:
    """Returns the answer, which may be an error."""
    named = transaction["txnid_most_bits"], transaction["txnid_least_bits"]
    client.send(client_commands.acknowledge(1, ids, cumulative=cumulative, request_id=7, transaction=named))
    answer: pb.CommandAckResponse = client.expect(BaseCommand.ACK_RESPONSE)
    assert (answer.request_id, answer.txnid_least_bits) == (7, transaction["txnid_least_bits"])
    return answer


async def loaded(broker: EmbeddedBroker) -> Topic:
    return await broker.broker.topics.get(parse_topic(TOPIC))


def backlog(broker: EmbeddedBroker) -> int:
    return broker.call(loaded(broker)).subscriptions["s"].cursor.backlog_entries


@pytest.mark.parametrize("sub_type", [SHARED, KEY_SHARED])
def test_an_abort_sends_exactly_the_held_messages_again_and_counts_that(
    client: RawClient, control: RawClient, sub_type: int
) -> None:
    ids = published(client, 3)
    join(client, sub_type)
    assert entries(client, 3) == [0, 1, 2]
    transaction = begin(control)
    assert not acknowledge(client, transaction, ids[:2]).HasField("error")
    end(control, transaction, commit=False)
    again = receive(client, 2)
    assert [(message.message_id.entryId, message.redelivery_count) for message in again] == [(0, 1), (1, 1)]


def test_a_key_stays_in_order_after_an_abort(client: RawClient, control: RawClient) -> None:
    ids = published(client, 2)  # without keys: the name of the producer is the same
    join(client, KEY_SHARED, permits=2)
    assert entries(client, 2) == [0, 1]
    transaction = begin(control)
    acknowledge(client, transaction, ids[:1])
    command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    command.redeliverUnacknowledgedMessages.consumer_id = 1
    client.send(frame(command))
    end(control, transaction, commit=False)
    client.send(client_commands.flow(1, 2))
    assert entries(client, 2) == [0, 1]


def test_an_abort_sends_everything_again_in_order_where_one_consumer_gets_all(
    client: RawClient, control: RawClient
) -> None:
    ids = published(client, 3)
    join(client, pb.CommandSubscribe.Exclusive)
    assert entries(client, 3) == [0, 1, 2]
    transaction = begin(control)
    acknowledge(client, transaction, ids[:2])
    end(control, transaction, commit=False)
    assert entries(client, 3) == [0, 1, 2]


def test_another_consumer_gets_only_what_is_not_held_and_a_commit_ends_that(
    broker: EmbeddedBroker, client: RawClient, control: RawClient
) -> None:
    ids = published(client, 3)
    join(client)
    entries(client, 3)
    transaction = begin(control)
    acknowledge(client, transaction, [ids[1]])
    with RawClient(broker.service_url) as first:
        client.close()
        join(first)
        assert entries(first, 2) == [0, 2]
        assert not end(control, transaction, commit=True).HasField("error")
    with RawClient(broker.service_url) as second:
        join(second)
        assert entries(second, 2) == [0, 2]


@pytest.mark.parametrize("held_before", [True, False])
def test_a_conflict_refuses_the_whole_acknowledgment(
    client: RawClient, control: RawClient, *, held_before: bool
) -> None:
    ids = published(client, 3)
    join(client)
    entries(client, 3)
    first, second = begin(control), begin(control)
    if held_before:
        acknowledge(client, first, [ids[1]])
    else:
        client.send(client_commands.acknowledge(1, [ids[1]], request_id=8))
        client.expect(BaseCommand.ACK_RESPONSE)
    refused = acknowledge(client, second, ids)
    assert refused.error == pb.TransactionConflict
    for known in (TOPIC, "[s]", str(second["txnid_least_bits"]), f"{ids[1].ledgerId}:1"):
        assert known in refused.message
    assert not acknowledge(client, first, [ids[0], ids[2]]).HasField("error")  # nothing was held by the other


def test_one_acknowledgment_cannot_name_a_message_twice(client: RawClient, control: RawClient) -> None:
    (first,) = published(client, 1)
    join(client)
    entries(client, 1)
    assert acknowledge(client, begin(control), [first, first]).error == pb.TransactionConflict


def test_messages_of_a_batch_are_held_one_by_one(client: RawClient, control: RawClient) -> None:
    client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    client.send(send_batch(1, 3))
    batch = client.expect(BaseCommand.SEND_RECEIPT).message_id
    join(client)
    entries(client, 1)
    first, second = begin(control), begin(control)
    assert not acknowledge(client, first, [still_open(batch, [0b110])]).HasField("error")
    assert not acknowledge(client, second, [still_open(batch, [0b101])]).HasField("error")
    assert acknowledge(client, second, [still_open(batch, [0b110])]).error == pb.TransactionConflict
    assert acknowledge(client, second, [batch]).error == pb.TransactionConflict
    end(control, second, commit=False)
    (again,) = receive(client)
    assert list(again.ack_set) == [0b110]  # the other two are open
    end(control, first, commit=True)


def test_a_batch_of_which_transactions_hold_everything_is_not_sent(client: RawClient, control: RawClient) -> None:
    client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    client.send(send_batch(1, 2))
    batch = client.expect(BaseCommand.SEND_RECEIPT).message_id
    publish(client, 3, b"after")
    join(client)
    entries(client, 2)
    for left in (0b10, 0b01):
        acknowledge(client, begin(control), [still_open(batch, [left])])
    command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    command.redeliverUnacknowledgedMessages.consumer_id = 1
    client.send(frame(command))
    assert entries(client, 1) == [1]


def test_a_cumulative_acknowledgment_is_held_by_one_transaction(
    broker: EmbeddedBroker, client: RawClient, control: RawClient
) -> None:
    ids = published(client, 4)
    join(client, pb.CommandSubscribe.Exclusive)
    entries(client, 4)
    first, second = begin(control), begin(control)
    assert not acknowledge(client, first, [ids[1]], cumulative=True).HasField("error")
    for transaction, position in ((first, 1), (first, 0), (second, 3)):
        answer = acknowledge(client, transaction, [ids[position]], cumulative=True)
        assert answer.error == pb.TransactionConflict
    assert not acknowledge(client, first, [ids[2]], cumulative=True).HasField("error")
    end(control, first, commit=True)
    assert backlog(broker) == 1
    assert acknowledge(client, second, [ids[2]], cumulative=True).error == pb.TransactionConflict


def test_a_consumer_that_joins_while_everything_is_held_gets_it_after_the_abort(
    broker: EmbeddedBroker, client: RawClient, control: RawClient
) -> None:
    ids = published(client, 3)
    join(client, pb.CommandSubscribe.Exclusive)
    entries(client, 3)
    transaction = begin(control)
    acknowledge(client, transaction, [ids[1]], cumulative=True)
    client.close()
    with RawClient(broker.service_url) as other:
        join(other, pb.CommandSubscribe.Exclusive)
        assert entries(other, 1) == [2]
        end(control, transaction, commit=False)
        assert entries(other, 3) == [0, 1, 2]


def test_the_consumer_that_acknowledged_cumulatively_gets_nothing_again_by_itself(
    client: RawClient, control: RawClient
) -> None:
    ids = published(client, 3)
    join(client, pb.CommandSubscribe.Exclusive)
    entries(client, 3)
    transaction = begin(control)
    acknowledge(client, transaction, [ids[1]], cumulative=True)
    end(control, transaction, commit=False)
    published(control, 1)
    assert entries(client, 1) == [3]


def test_a_cumulative_acknowledgment_does_not_reach_what_is_published_later(
    broker: EmbeddedBroker, client: RawClient, control: RawClient
) -> None:
    published(client, 2)
    join(client, pb.CommandSubscribe.Exclusive)
    entries(client, 2)
    transaction = begin(control)
    far = Id(ledgerId=1 << 62, entryId=5)
    assert not acknowledge(client, transaction, [far], cumulative=True).HasField("error")
    published(control, 1)
    end(control, transaction, commit=True)
    assert backlog(broker) == 1


def test_an_acknowledgment_that_leaves_all_messages_open_holds_nothing(client: RawClient, control: RawClient) -> None:
    (batch,) = published(client, 1)
    join(client)
    entries(client, 1)
    first, second = begin(control), begin(control)
    for transaction in (first, second):
        assert not acknowledge(client, transaction, [still_open(batch, [1])]).HasField("error")
        assert not end(control, transaction, commit=True).HasField("error")


def test_entries_that_do_not_exist_are_ignored(broker: EmbeddedBroker, client: RawClient, control: RawClient) -> None:
    ids = published(client, 1)
    join(client)
    entries(client, 1)
    transaction = begin(control)
    missing = [Id(ledgerId=1 << number, entryId=0) for number in range(40, 60)]
    assert not acknowledge(client, transaction, [*missing, Id(ledgerId=ids[0].ledgerId, entryId=9)]).HasField("error")
    assert not acknowledge(client, transaction, ids).HasField("error")
    end(control, transaction, commit=True)
    assert backlog(broker) == 0


def test_one_acknowledgment_names_a_limited_number_of_messages(client: RawClient, control: RawClient) -> None:
    (first,) = published(client, 1)
    join(client)
    entries(client, 1)
    refused = acknowledge(client, begin(control), [first] * (IDS_MAX + 1))
    assert refused.error == pb.NotAllowedError
    assert str(IDS_MAX) in refused.message


def test_a_client_that_leaves_at_once_causes_no_error(
    broker: EmbeddedBroker, client: RawClient, control: RawClient, caplog: pytest.LogCaptureFixture
) -> None:
    ids = published(client, 1)
    transaction = begin(control)
    named = transaction["txnid_most_bits"], transaction["txnid_least_bits"]
    for _ in range(20):
        with RawClient(broker.service_url) as leaving:
            join(leaving)
            leaving.send(client_commands.acknowledge(1, ids, request_id=7, transaction=named))
    assert not end(control, transaction, commit=True).HasField("error")
    assert not [record for record in caplog.records if record.exc_info]


def test_a_single_acknowledgment_is_committed_while_another_transaction_holds_a_cumulative_one(
    broker: EmbeddedBroker, client: RawClient, control: RawClient
) -> None:
    """Apache Pulsar 4.0 answers with success, and loses the acknowledgment."""
    ids = published(client, 4)
    join(client, pb.CommandSubscribe.Exclusive)
    entries(client, 4)
    cumulative, single = begin(control), begin(control)
    acknowledge(client, cumulative, [ids[0]], cumulative=True)
    acknowledge(client, single, [ids[2]])
    end(control, single, commit=True)
    end(control, cumulative, commit=True)
    assert backlog(broker) == 2


def test_an_acknowledgment_in_a_transaction_that_is_not_open_is_refused(client: RawClient, control: RawClient) -> None:
    ids = published(client, 1)
    join(client)
    entries(client, 1)
    ended = begin(control)
    end(control, ended, commit=True)
    never = {"txnid_most_bits": 0, "txnid_least_bits": 1 << 40}
    for transaction in (ended, never):
        assert acknowledge(client, transaction, ids).error == pb.NotAllowedError


def test_a_subscription_that_no_restart_keeps_has_no_transactions(client: RawClient, control: RawClient) -> None:
    ids = published(client, 1)
    join(client, durable=False)
    assert acknowledge(client, begin(control), ids).error == pb.NotAllowedError


def test_add_subscription_tells_whether_the_transaction_is_open(control: RawClient) -> None:
    transaction = begin(control)
    assert not ask(control, BaseCommand.ADD_SUBSCRIPTION_TO_TXN, **transaction).HasField("error")
    end(control, transaction, commit=False)
    refused = ask(control, BaseCommand.ADD_SUBSCRIPTION_TO_TXN, **transaction)
    assert refused.error == pb.TransactionNotFound


def test_a_transaction_acknowledges_a_limited_number_of_entries() -> None:
    config = replace(CONFIG, transactions=TransactionConfig(enabled=True, max_acknowledged=2))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        ids = published(client, 3)
        join(client)
        entries(client, 3)
        transaction = begin(client)
        assert not acknowledge(client, transaction, ids[:2]).HasField("error")
        refused = acknowledge(client, transaction, ids[2:])
        assert (refused.error, "maxAcknowledgedEntriesPerTransaction" in refused.message) == (
            pb.NotAllowedError,
            True,
        )


def test_a_killed_broker_still_holds_what_was_acknowledged(tmp_path: Path) -> None:
    process = BrokerProcess(tmp_path / "d", "transactionCoordinatorEnabled=true").start()
    try:
        with RawClient(process.service_url) as client:
            ids = published(client, 3)
            join(client)
            entries(client, 3)
            committed, open_one = begin(client), begin(client)
            acknowledge(client, committed, ids[:1])
            acknowledge(client, open_one, ids[1:2])
            end(client, committed, commit=True)
        process.kill()
        process.start()
        with RawClient(process.service_url) as client, RawClient(process.service_url) as control:
            join(client)
            assert entries(client, 1) == [2]
            end(control, open_one, commit=False)
            assert entries(client, 1) == [1]
    finally:
        process.kill()


def test_a_topic_that_is_not_loaded_gets_the_outcome(
    broker: EmbeddedBroker, client: RawClient, control: RawClient
) -> None:
    ids = published(client, 2)
    join(client)
    entries(client, 2)
    transaction = begin(control)
    acknowledge(client, transaction, ids[:1])
    client.close()
    broker.call(broker.broker.topics.unload(parse_topic(TOPIC)))
    with RawClient(broker.service_url) as other:
        end(control, transaction, commit=True)
        join(other)
        assert entries(other, 1) == [1]


def test_a_closed_topic_says_so(client: RawClient) -> None:
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.consumer_id, command.ack.request_id, command.ack.txnid_least_bits = 99, 3, 1
    command.ack.ack_type = pb.CommandAck.Individual
    client.send(frame(command))
    assert client.expect(BaseCommand.ACK_RESPONSE).error == pb.ConsumerNotFound
