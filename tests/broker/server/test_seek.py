"""SEEK, start positions of readers, and GET_LAST_MESSAGE_ID, command by command (docs/reference/protocol.md "Seek")."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.metadata.policies.values import RetentionPolicy
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer, entry_ids, receive, still_open
from tests.support.raw_publishing import publish_batches

TOPIC = "persistent://public/default/t"
EXCLUSIVE, SHARED, FAILOVER = pb.CommandSubscribe.Exclusive, pb.CommandSubscribe.Shared, pb.CommandSubscribe.Failover
EARLIEST = commands.message_id(-1, -1)
LATEST = commands.message_id((1 << 63) - 1, (1 << 63) - 1)


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        namespace = parse_topic(TOPIC).namespace
        keep = RetentionPolicy(-1, -1)
        broker.call(broker.broker.tenancy.set_namespace_policies(namespace, retention=keep))
        yield broker


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        yield client


def subscribe(client: RawClient, consumer_id: int = 1, name: str = "s", permits: int = 100, **fields: object) -> int:
    """Returns the ServerError, or 0 on success."""
    fields.setdefault("initial_position", pb.CommandSubscribe.Earliest)
    client.send(client_commands.subscribe(consumer_id, TOPIC, name, consumer_id, **fields))  # type: ignore[arg-type]  # by name
    answer = client.next()
    assert isinstance(answer, Command)
    if answer.type == BaseCommand.ERROR:
        return int(answer.message.error)
    assert answer.type == BaseCommand.SUCCESS
    client.send(client_commands.flow(consumer_id, permits))
    return 0


def seek(client: RawClient, position: pb.MessageIdData | None = None, publish_time_ms: int | None = None) -> None:
    client.send(client_commands.seek(1, 50, position=position, publish_time_ms=publish_time_ms))


@pytest.mark.parametrize("sub_type", [EXCLUSIVE, SHARED])
def test_a_consumer_is_closed_before_its_seek_is_answered(
    broker: EmbeddedBroker, client: RawClient, sub_type: int
) -> None:
    ids = publish_batches(broker.service_url, TOPIC, 0, 0, 0)
    subscribe(client, sub_type=sub_type)
    receive(client, 3)
    seek(client, ids[1])
    client.expect(BaseCommand.CLOSE_CONSUMER)
    assert client.expect(BaseCommand.SUCCESS).request_id == 50
    subscribe(client, sub_type=sub_type)
    assert entry_ids(receive(client, 2)) == [1, 2]


def test_a_seek_by_the_standby_of_a_failover_subscription_closes_the_active_consumer_only() -> None:
    config = BrokerConfig(server=FREE_PORTS, dispatch=DispatchConfig(failover_delay_ms=0))
    with (
        EmbeddedBroker(config=config) as broker,
        RawClient(broker.service_url) as a,
        RawClient(broker.service_url) as b,
    ):
        ids = publish_batches(broker.service_url, TOPIC, 0, 0, 0)
        for client, name in ((a, "a"), (b, "b")):
            subscribe(client, sub_type=FAILOVER, consumer_name=name)
        topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
        active = topic.subscriptions["s"].delivery.dispatcher.active_consumer
        assert active is not None
        served, standby = (a, b) if active.name == "a" else (b, a)
        passing_over(standby, BaseCommand.ACTIVE_CONSUMER_CHANGE)
        seek(standby, ids[2])
        passing_over(served, BaseCommand.CLOSE_CONSUMER)
        assert passing_over(standby, BaseCommand.SUCCESS).request_id == 50


def passing_over(client: RawClient, kind: int) -> Any:
    """The next command of that type; skips others."""
    while not (isinstance(item := client.next(), Command) and item.type == kind):
        pass
    return item.message


def test_a_seek_closes_all_consumers_of_a_shared_subscription(broker: EmbeddedBroker, client: RawClient) -> None:
    ids = publish_batches(broker.service_url, TOPIC, 0, 0)
    with RawClient(broker.service_url) as other:
        subscribe(client, sub_type=SHARED)
        receive(client, 2)
        subscribe(other, sub_type=SHARED)
        seek(client, ids[0])
        client.expect(BaseCommand.CLOSE_CONSUMER)
        other.expect(BaseCommand.CLOSE_CONSUMER)
        client.expect(BaseCommand.SUCCESS)
        subscribe(other, sub_type=SHARED)
        assert entry_ids(receive(other, 2)) == [0, 1]


@pytest.mark.parametrize(
    ("words", "entries", "ack_sets"),
    [([0b1100], [1, 2], [[0b1100], []]), ([0b1111], [1, 2], [[], []]), ([0b10000], [2], [[]]), ([], [1, 2], [[], []])],
)
def test_a_seek_goes_into_a_batch(
    broker: EmbeddedBroker, client: RawClient, words: list[int], entries: list[int], ack_sets: list[list[int]]
) -> None:
    ids = publish_batches(broker.service_url, TOPIC, 0, 4, 0)
    subscribe(client)
    receive(client, 3)
    seek(client, still_open(ids[1], words))
    client.expect(BaseCommand.CLOSE_CONSUMER)
    client.expect(BaseCommand.SUCCESS)
    subscribe(client)
    again = receive(client, len(entries))
    assert entry_ids(again) == entries
    assert [list(message.ack_set) for message in again] == ack_sets


def test_a_seek_without_position_or_time_is_refused(client: RawClient) -> None:
    seek(client)
    assert client.expect(BaseCommand.ERROR).error == pb.MetadataError


def test_a_seek_of_an_unknown_consumer_is_refused(client: RawClient) -> None:
    seek(client, EARLIEST)
    assert client.expect(BaseCommand.ERROR).error == pb.MetadataError


@pytest.mark.parametrize("durable", [True, False])
def test_the_rollback_of_the_start_position_applies_to_each_subscribe(
    broker: EmbeddedBroker, client: RawClient, durable: bool
) -> None:
    publish_batches(broker.service_url, TOPIC, 0, 0, 0)  # published at 1000, 1001, 1002
    now_s = broker.broker.clock.wall_ms() // 1000
    subscribe(client, durable=durable, start_rollback_seconds=60)
    client.send(close_consumer())
    client.expect(BaseCommand.SUCCESS)
    subscribe(client, durable=durable, start_rollback_seconds=now_s + 60)
    assert entry_ids(receive(client, 3)) == [0, 1, 2]


@pytest.mark.parametrize("first_durable", [True, False])
def test_a_durable_and_a_non_durable_subscription_cannot_share_a_name(
    broker: EmbeddedBroker, client: RawClient, first_durable: bool
) -> None:
    assert not subscribe(client, durable=first_durable)
    with RawClient(broker.service_url) as other:
        assert subscribe(other, durable=not first_durable) == pb.NotAllowedError


def test_a_name_is_free_when_its_non_durable_subscription_ends(broker: EmbeddedBroker, client: RawClient) -> None:
    with RawClient(broker.service_url) as reader:
        subscribe(reader, durable=False)
    topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
    wait_until(lambda: not topic.subscriptions, 10)
    assert not subscribe(client, durable=True)


# ---- GET_LAST_MESSAGE_ID: (ledger, entry, batch index) of the last message; (ledger, entry) of mark-delete


def last(client: RawClient, consumer_id: int = 1) -> tuple[tuple[int, int, int], tuple[int, int]]:
    client.send(client_commands.get_last_message_id(consumer_id, 9))
    answer = client.expect(BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE)
    found, stands = answer.last_message_id, answer.consumer_mark_delete_position
    return (signed(found.ledgerId), signed(found.entryId), found.batch_index), (
        signed(stands.ledgerId),
        signed(stands.entryId),
    )


def signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


@pytest.mark.parametrize("fields", [{}, {"durable": False}, {"durable": False, "start_message_id": EARLIEST}])
def test_an_empty_topic_has_no_last_message(client: RawClient, fields: dict[str, Any]) -> None:
    subscribe(client, permits=1, **fields)
    assert last(client) == ((-1, -1, -1), (-1, -1))


def test_the_last_message_is_the_last_of_its_batch(broker: EmbeddedBroker, client: RawClient) -> None:
    single = publish_batches(broker.service_url, TOPIC, 0)[0]
    subscribe(client, permits=1)
    receive(client)
    assert last(client)[0] == (single.ledgerId, 0, -1)
    batch = publish_batches(broker.service_url, TOPIC, 5)[0]
    assert last(client)[0] == (batch.ledgerId, 1, 4)


def test_a_trimmed_message_is_not_the_last_message(broker: EmbeddedBroker, client: RawClient) -> None:
    publish_batches(broker.service_url, TOPIC, 0, 0)
    subscribe(client, initial_position=pb.CommandSubscribe.Latest)
    namespace = parse_topic(TOPIC).namespace
    broker.call(broker.broker.tenancy.set_namespace_policies(namespace, retention=RetentionPolicy(0, 0)))
    wait_until(lambda: last(client)[0] == (-1, -1, -1), 10)


@pytest.mark.parametrize(
    ("start", "mark_delete"), [(EARLIEST, -1), (None, 2), (commands.message_id(0, 0), -1), (LATEST, 2)]
)
def test_a_reader_learns_its_position(
    broker: EmbeddedBroker, client: RawClient, start: pb.MessageIdData | None, mark_delete: int
) -> None:
    publish_batches(broker.service_url, TOPIC, 0, 0, 0)
    subscribe(client, permits=1, durable=False, start_message_id=start)
    if mark_delete < 2:
        receive(client)
    assert last(client)[1][1] == mark_delete


def test_an_unknown_consumer_cannot_ask_for_the_last_message(client: RawClient) -> None:
    client.send(client_commands.get_last_message_id(1, 9))
    assert client.expect(BaseCommand.ERROR).error == pb.MetadataError
