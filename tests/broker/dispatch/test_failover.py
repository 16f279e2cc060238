"""Failover and consumer epochs, command by command."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.config.server import ConnectionConfig
from broker_core.names import parse_topic
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import entry_ids
from tests.support.raw_publishing import producer, publish

TOPIC = "persistent://public/default/t-partition-1"  # the second name in order is its active consumer
FAILOVER, EXCLUSIVE = pb.CommandSubscribe.Failover, pb.CommandSubscribe.Exclusive


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with started(failover_delay_ms=0) as broker:
        yield broker


def started(failover_delay_ms: float) -> EmbeddedBroker:
    config = BrokerConfig(
        server=FREE_PORTS,
        dispatch=DispatchConfig(failover_delay_ms=failover_delay_ms),
        connection=ConnectionConfig(liveness_timeout_ms=0),
    )
    return EmbeddedBroker(config=config)


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with publisher(broker) as client:
        yield client


def publisher(broker: EmbeddedBroker) -> RawClient:
    client = RawClient(broker.service_url)
    client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
    return client


class Member(RawClient):
    """A consumer with its own connection."""

    def __init__(
        self, broker: EmbeddedBroker, name: str, *, priority: int = 0, epoch: int | None = None, kind: int = FAILOVER
    ) -> None:
        super().__init__(broker.service_url)
        command = BaseCommand(type=BaseCommand.SUBSCRIBE)
        body = command.subscribe
        body.topic, body.subscription, body.consumer_id, body.request_id = TOPIC, "s", 1, 1
        body.subType, body.consumer_name, body.priority_level = kind, name, priority  # type: ignore[assignment] # numbers
        body.initialPosition = pb.CommandSubscribe.Earliest
        if epoch is not None:
            body.consumer_epoch = epoch
        self.send(frame(command))
        self.expect(BaseCommand.SUCCESS)
        self.send(client_commands.flow(1, 100))

    def is_told(self) -> bool:
        told: bool = self.expect(BaseCommand.ACTIVE_CONSUMER_CHANGE).is_active
        return told

    def gets(self, count: int) -> list[pb.CommandMessage]:
        return [self.expect(BaseCommand.MESSAGE) for _ in range(count)]

    def gets_nothing(self) -> bool:
        self.send(client_commands.get_last_message_id(1, 99))
        return self.expect(BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE) is not None

    def redeliver(self, epoch: int | None = None) -> None:
        command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
        command.redeliverUnacknowledgedMessages.consumer_id = 1
        if epoch is not None:
            command.redeliverUnacknowledgedMessages.consumer_epoch = epoch
        self.send(frame(command))


def test_without_a_delay_the_first_consumer_is_active_at_once(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, "a") as only:
        assert only.is_told()
        publish(raw, 1)
        only.gets(1)


def test_a_new_consumer_learns_that_it_is_inactive(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, "b"), Member(broker, "a", priority=1) as standby:
        assert not standby.is_told()


def test_all_consumers_learn_of_a_change_of_the_active_one(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, "a") as first, Member(broker, "b") as second:
        assert [first.is_told(), first.is_told(), second.is_told()] == [True, False, True]
        publish(raw, 2)
        assert entry_ids(second.gets(2)) == [0, 1]
        second.close()
        assert first.is_told()
        assert entry_ids(first.gets(2)) == [0, 1]


def test_a_consumer_with_a_better_priority_takes_over(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, "z", priority=1) as low, Member(broker, "y", priority=0) as high:
        assert [low.is_told(), low.is_told(), high.is_told()] == [True, False, True]


def test_of_consumers_that_subscribe_at_the_same_time_one_gets_all_messages() -> None:
    """The Rust client's test of Failover subscribes two consumers while a producer sends."""
    with started(failover_delay_ms=300) as broker, publisher(broker) as raw:
        publish(raw, 2)
        with Member(broker, "a") as first, Member(broker, "b") as second:
            assert second.is_told()
            assert entry_ids(second.gets(2)) == [0, 1]
            assert not first.is_told()
            assert first.gets_nothing()


def test_the_new_active_consumer_waits_for_acknowledgments_of_the_old_one() -> None:
    with started(failover_delay_ms=300) as broker, publisher(broker) as raw, Member(broker, "a") as old:
        assert old.is_told()
        publish(raw, 3)
        got = old.gets(3)
        with Member(broker, "b") as new:
            old.send(client_commands.acknowledge(1, [got[0].message_id, got[1].message_id]))
            assert new.gets_nothing()
            assert new.is_told()
            assert entry_ids(new.gets(1)) == [2]
            assert not old.is_told()


def test_only_the_active_consumer_may_request_redelivery(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, "b") as active, Member(broker, "a", priority=1) as standby:
        assert (active.is_told(), standby.is_told()) == (True, False)
        publish(raw, 2)
        active.gets(2)
        standby.redeliver()
        assert standby.gets_nothing()
        assert active.gets_nothing()
        active.redeliver()
        assert entry_ids(active.gets(2)) == [0, 1]


@pytest.mark.parametrize("kind", [EXCLUSIVE, FAILOVER])
def test_messages_carry_the_epoch_of_the_consumers_request(broker: EmbeddedBroker, raw: RawClient, kind: int) -> None:
    with Member(broker, "a", epoch=0, kind=kind) as consumer:
        assert kind == EXCLUSIVE or consumer.is_told()
        publish(raw, 2)
        assert [message.consumer_epoch for message in consumer.gets(2)] == [0, 0]
        consumer.redeliver(epoch=5)
        assert [message.consumer_epoch for message in consumer.gets(2)] == [5, 5]
        consumer.redeliver(epoch=4)
        assert [message.consumer_epoch for message in consumer.gets(2)] == [5, 5]


def test_without_an_epoch_messages_carry_none(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, "a") as consumer:
        assert consumer.is_told()
        publish(raw, 1)
        assert not consumer.gets(1)[0].HasField("consumer_epoch")


def test_a_read_that_began_before_a_seek_does_not_move_the_cursor(
    broker: EmbeddedBroker, raw: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer that takes over reads from the disk while the seek is written to the journal."""
    topic = broker.call(broker.broker.topics.get(parse_topic(TOPIC)))
    monkeypatch.setattr(topic.ledger, "read_cached", lambda *_: None)
    with Member(broker, "a") as standby, Member(broker, "b") as active:
        assert active.is_told()
        publish(raw, 300)
        target = active.gets(100)[50].message_id
        subscription = topic.subscriptions["s"]
        cursors = subscription.cursor._owner
        written = cursors.cursor_reset

        async def slowly(cursor: ManagedCursor, record: bytes, failed: Callable[[], None]) -> None:
            subscription.consumers[0].flow(100)
            await asyncio.sleep(0.2)  # a slow journal, during which a read could deliver the old position
            await written(cursor, record, failed)

        monkeypatch.setattr(cursors, "cursor_reset", slowly)
        active.send(client_commands.seek(1, 7, position=target))
        active.expect(BaseCommand.CLOSE_CONSUMER)
        active.expect(BaseCommand.SUCCESS)
        assert [standby.is_told() for _ in range(3)] == [True, False, True]
        got = entry_ids(standby.gets(200))
        first = got.index(50, got.index(50) + 1) if got[0] == 0 else 0  # deliveries before the seek do not count
        assert got[first:] == list(range(50, 50 + len(got) - first))
