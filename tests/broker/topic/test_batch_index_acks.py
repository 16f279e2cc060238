"""Acknowledging single messages of a batch, command by command (docs/reference/protocol.md "Acknowledgments")."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.topic import TopicConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support import raw_consuming
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, still_open
from tests.support.raw_publishing import publish_batches

TOPIC = "persistent://public/default/t"
EXCLUSIVE, SHARED, FAILOVER = pb.CommandSubscribe.Exclusive, pb.CommandSubscribe.Shared, pb.CommandSubscribe.Failover
KEY_SHARED = pb.CommandSubscribe.Key_Shared
EARLIEST = pb.CommandSubscribe.Earliest


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        yield client


def subscribe(client: RawClient, sub_type: int, consumer_id: int = 1, permits: int = 100) -> None:
    raw_consuming.subscribe(client, TOPIC, consumer_id, permits=permits, sub_type=sub_type, initial_position=EARLIEST)
    if sub_type == FAILOVER:
        client.expect(BaseCommand.ACTIVE_CONSUMER_CHANGE)


def acknowledge(client: RawClient, *ids: pb.MessageIdData, consumer_id: int = 1, cumulative: bool = False) -> None:
    client.send(client_commands.acknowledge(consumer_id, ids, request_id=5, cumulative=cumulative))
    assert not client.expect(BaseCommand.ACK_RESPONSE).HasField("error")


def give_back(client: RawClient, *ids: pb.MessageIdData, consumer_id: int = 1) -> None:
    command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    command.redeliverUnacknowledgedMessages.consumer_id = consumer_id
    command.redeliverUnacknowledgedMessages.message_ids.extend(ids)
    client.send(frame(command))


def stats(client: RawClient, consumer_id: int = 1) -> pb.CommandConsumerStatsResponse:
    command = BaseCommand(type=BaseCommand.CONSUMER_STATS)
    command.consumerStats.request_id = 9
    command.consumerStats.consumer_id = consumer_id
    answer: pb.CommandConsumerStatsResponse = client.ask(command, BaseCommand.CONSUMER_STATS_RESPONSE)
    return answer


@pytest.mark.parametrize("sub_type", [EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED])
def test_a_redelivered_batch_says_which_messages_are_open(
    broker: EmbeddedBroker, client: RawClient, sub_type: int
) -> None:
    first, long, last = publish_batches(broker.service_url, TOPIC, 3, 70, 0)
    subscribe(client, sub_type, permits=200)
    assert [list(message.ack_set) for message in receive(client, 3)] == [[], [], []]
    acknowledge(client, still_open(first, [0b101]), still_open(long, [-2, 0b111111]))
    give_back(client, *(() if sub_type in (EXCLUSIVE, FAILOVER) else (first, long, last)))
    again = receive(client, 3)
    assert [list(message.ack_set) for message in again] == [[0b101], [-2, 0b111111], []]


def test_a_batch_is_done_when_its_last_message_is_acknowledged(broker: EmbeddedBroker, client: RawClient) -> None:
    batch, last = publish_batches(broker.service_url, TOPIC, 3, 0)
    subscribe(client, SHARED)
    receive(client, 2)
    for words in ([0b110], [0b011], [0b101]):
        acknowledge(client, still_open(batch, words))
    give_back(client)
    assert receive(client)[0].message_id.entryId == last.entryId
    assert stats(client).msgBacklog == 1


def test_each_acknowledged_message_is_counted_once(broker: EmbeddedBroker, client: RawClient) -> None:
    single, batch = publish_batches(broker.service_url, TOPIC, 0, 4)
    subscribe(client, SHARED)
    receive(client, 2)
    assert stats(client).unackedMessages == 5
    for words, unacked in (([0b1110], 4), ([0b1110], 4), ([0b1100], 3)):
        acknowledge(client, still_open(batch, words))
        assert stats(client).unackedMessages == unacked
    acknowledge(client, batch, single)
    assert stats(client).unackedMessages == 0


def test_acknowledged_messages_of_a_redelivered_batch_use_no_permits(broker: EmbeddedBroker, client: RawClient) -> None:
    (batch,) = publish_batches(broker.service_url, TOPIC, 4)
    subscribe(client, SHARED)
    receive(client)
    acknowledge(client, still_open(batch, [0b1000]))
    give_back(client, batch)
    receive(client)
    assert stats(client).availablePermits == 100 - 4 - 1
    assert stats(client).unackedMessages == 1


def test_an_acknowledgment_by_another_consumer_counts_for_the_holder(broker: EmbeddedBroker, client: RawClient) -> None:
    (batch,) = publish_batches(broker.service_url, TOPIC, 4)
    subscribe(client, SHARED)
    receive(client)
    subscribe(client, SHARED, consumer_id=2)
    acknowledge(client, still_open(batch, [0b1000]), consumer_id=2)
    assert stats(client).unackedMessages == 1
    acknowledge(client, still_open(batch, [0b0111]), consumer_id=2)
    assert stats(client).unackedMessages == 0


def test_a_batch_of_a_closed_consumer_is_redelivered_with_its_acknowledgments(
    broker: EmbeddedBroker, client: RawClient
) -> None:
    (batch,) = publish_batches(broker.service_url, TOPIC, 4)
    with RawClient(broker.service_url) as leaving:
        subscribe(leaving, SHARED)
        receive(leaving)
        subscribe(client, SHARED)
        acknowledge(leaving, still_open(batch, [0b0110]))
    (message,) = receive(client)
    assert (list(message.ack_set), message.redelivery_count) == ([0b0110], 0)


def test_a_cumulative_acknowledgment_ends_inside_a_batch(broker: EmbeddedBroker, client: RawClient) -> None:
    _, middle, _ = publish_batches(broker.service_url, TOPIC, 4, 4, 4)
    subscribe(client, EXCLUSIVE)
    receive(client, 3)
    acknowledge(client, still_open(middle, [0b1100]), cumulative=True)
    give_back(client)
    again = receive(client, 2)
    assert [message.message_id.entryId for message in again] == [1, 2]
    assert [list(message.ack_set) for message in again] == [[0b1100], []]


@pytest.mark.parametrize("sub_type", [SHARED, KEY_SHARED])
@pytest.mark.parametrize("words", [[], [0b1100]])
def test_a_cumulative_acknowledgment_has_no_effect_on_a_shared_subscription(
    broker: EmbeddedBroker, client: RawClient, sub_type: int, words: list[int]
) -> None:
    batches = publish_batches(broker.service_url, TOPIC, 4, 4)
    subscribe(client, sub_type)
    receive(client, 2)
    acknowledge(client, still_open(batches[1], words), cumulative=True)
    assert (stats(client).unackedMessages, stats(client).msgBacklog) == (8, 2)


def test_a_cumulative_acknowledgment_of_several_ids_has_no_effect(broker: EmbeddedBroker, client: RawClient) -> None:
    batches = publish_batches(broker.service_url, TOPIC, 4, 4)
    subscribe(client, EXCLUSIVE)
    receive(client, 2)
    acknowledge(client, *batches, cumulative=True)
    assert stats(client).msgBacklog == 2


@pytest.mark.parametrize(
    "poison",
    [
        pytest.param(lambda batch: still_open(batch, [0b1111, -1, -1]), id="more words than the batch has messages"),
        pytest.param(lambda batch: still_open(batch, [-1]), id="nothing is acknowledged"),
        pytest.param(lambda batch: still_open(commands.message_id(batch.ledgerId, 99), [1]), id="no such entry"),
        pytest.param(lambda batch: still_open(commands.message_id(1 << 40, 0), [1]), id="no such ledger"),
        pytest.param(lambda batch: still_open(commands.message_id(-1, -1), [1]), id="the id of nothing"),
    ],
)
def test_invalid_bit_sets_acknowledge_nothing(
    broker: EmbeddedBroker, client: RawClient, poison: Callable[[pb.MessageIdData], pb.MessageIdData]
) -> None:
    (batch,) = publish_batches(broker.service_url, TOPIC, 4)
    subscribe(client, SHARED)
    receive(client)
    acknowledge(client, poison(batch))
    assert stats(client).unackedMessages == 4
    give_back(client, batch)
    assert list(receive(client)[0].ack_set) == []


def test_acknowledged_messages_of_a_batch_survive_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        batch, _ = publish_batches(broker.service_url, TOPIC, 3, 3)
        subscribe(client, EXCLUSIVE)
        receive(client, 2)
        acknowledge(client, still_open(batch, [0b010]))
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        subscribe(client, EXCLUSIVE)
        assert [list(message.ack_set) for message in receive(client, 2)] == [[0b010], []]


def test_without_batch_index_acknowledgment_the_whole_batch_is_redelivered() -> None:
    config = BrokerConfig(server=FREE_PORTS, topics=TopicConfig(batch_index_acks=False))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        batch, last = publish_batches(broker.service_url, TOPIC, 3, 0)
        subscribe(client, SHARED)
        receive(client, 2)
        acknowledge(client, still_open(batch, [0b010]), last)
        give_back(client, batch)
        assert list(receive(client)[0].ack_set) == []


@pytest.mark.parametrize("size", [-1, (1 << 31) - 1])
def test_an_impossible_batch_size_is_ignored(
    broker: EmbeddedBroker, client: RawClient, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """It takes no memory either, since the broker would have to read the entry to check it."""
    (batch,) = publish_batches(broker.service_url, TOPIC, 4)
    subscribe(client, SHARED)
    receive(client)
    cursor = broker.call(broker.broker.topics.get(parse_topic(TOPIC))).subscriptions["s"].cursor
    monkeypatch.setattr(cursor._owner.weights, "messages_of", lambda *_: 0)
    marked = still_open(batch, [0b1110])
    marked.batch_size = size
    acknowledge(client, marked)
    assert [open_batch.messages for _, _, open_batch in cursor.open_batches] == [0]
    give_back(client)
    assert list(receive(client)[0].ack_set) == [0b1110]
