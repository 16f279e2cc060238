"""Key_Shared, command by command: a key is with one consumer at a time and in order, while consumers join and leave."""

from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.config.server import ConnectionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.message import parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish_keys

TOPIC = "persistent://public/default/t"
LOW, HIGH = "key1", "key01"  # hashes 293 and 47652 of 65536
SPLIT = DispatchConfig(unblocking_ms=0, consistent_hashing=False)  # a new consumer takes the lower half


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    config = BrokerConfig(server=FREE_PORTS, dispatch=SPLIT, connection=ConnectionConfig(liveness_timeout_ms=0))
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        yield client


class Member(RawClient):
    """A Key_Shared consumer with its own connection; `held` has the IDs that it received."""

    def __init__(
        self,
        broker: EmbeddedBroker,
        *ranges: tuple[int, int],
        permits: int = 100,
        out_of_order: bool = False,
        kind: "pb.CommandSubscribe.SubType.ValueType" = pb.CommandSubscribe.Key_Shared,
    ) -> None:
        super().__init__(broker.service_url)
        command = BaseCommand(type=BaseCommand.SUBSCRIBE)
        body = command.subscribe
        body.topic, body.subscription, body.consumer_id, body.request_id = TOPIC, "s", 1, 1
        body.subType = kind
        body.keySharedMeta.keySharedMode = pb.STICKY if ranges else pb.AUTO_SPLIT
        body.keySharedMeta.allowOutOfOrderDelivery = out_of_order
        body.keySharedMeta.hashRanges.extend(pb.IntRange(start=start, end=end) for start, end in ranges)
        self.send(frame(command))
        self.answer = self.expect_any()
        self.held: list[pb.MessageIdData] = []
        if permits:
            self.send(client_commands.flow(1, permits))

    @property
    def refusal(self) -> int | None:
        return self.answer.error if isinstance(self.answer, pb.CommandError) else None

    def gets(self, *keys: str) -> list[int]:
        """Expects messages with these keys; returns their redelivery counts."""
        found = []
        for key in keys:
            item = self.expect_entry()
            assert parse_metadata(item.entry).partition_key == key
            self.held.append(item.message.message_id)
            found.append(item.message.redelivery_count)
        return found

    def entry_ids(self) -> list[int]:
        return [one.entryId for one in self.held]

    def gets_nothing(self) -> bool:
        """Pending deliveries would arrive before the answer to this request."""
        self.send(client_commands.get_last_message_id(1, 99))
        return self.expect(BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE) is not None

    def acknowledge(self, *indexes: int) -> None:
        self.send(client_commands.acknowledge(1, [self.held[index] for index in indexes]))

    def give_back(self, *indexes: int) -> None:
        command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
        command.redeliverUnacknowledgedMessages.consumer_id = 1
        command.redeliverUnacknowledgedMessages.message_ids.extend(self.held[index] for index in indexes)
        self.send(frame(command))


def test_keys_go_to_the_owners_of_their_hashes(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker) as upper, Member(broker) as lower:
        publish_keys(raw, LOW, HIGH, HIGH, LOW)
        assert lower.gets(LOW, LOW) == upper.gets(HIGH, HIGH) == [0, 0]


def test_a_key_that_moved_waits_until_its_old_consumer_has_acknowledged_it(
    broker: EmbeddedBroker, raw: RawClient
) -> None:
    with Member(broker) as old:
        publish_keys(raw, LOW, LOW, HIGH)
        old.gets(LOW, LOW, HIGH)
        with Member(broker) as new:
            publish_keys(raw, LOW, LOW)
            assert new.gets_nothing()
            old.acknowledge(0)
            assert new.gets_nothing()
            old.acknowledge(1)
            assert new.gets(LOW, LOW) == [0, 0]
            assert new.entry_ids() == [3, 4]


def test_redelivered_messages_go_to_the_new_owner_before_later_ones(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker) as old:
        publish_keys(raw, LOW, LOW)
        old.gets(LOW, LOW)
        with Member(broker) as new:
            publish_keys(raw, LOW)
            old.give_back(1)
            assert new.gets_nothing()
            old.give_back(0)
            assert new.gets(LOW, LOW, LOW) == [1, 1, 0]
            assert new.entry_ids() == [0, 1, 2]


def test_messages_of_a_lost_consumer_go_to_the_others_in_order(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker) as other:
        with Member(broker) as lost:
            publish_keys(raw, LOW, LOW, HIGH)
            lost.gets(LOW, LOW)
            other.gets(HIGH)
            publish_keys(raw, LOW)
            lost.gets(LOW)
        assert other.gets(LOW, LOW, LOW) == [0, 0, 0]
        assert other.entry_ids() == [2, 0, 1, 3]


def test_a_key_whose_range_returns_continues_at_once(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker) as old:
        publish_keys(raw, LOW)
        old.gets(LOW)
        with Member(broker) as new:
            publish_keys(raw, LOW)
            assert new.gets_nothing()
        assert old.gets(LOW) == [0]


def test_a_consumer_without_permits_does_not_block_other_keys(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker) as upper, Member(broker, permits=1) as lower:
        publish_keys(raw, LOW, LOW, LOW, HIGH)
        lower.gets(LOW)
        upper.gets(HIGH)
        lower.send(client_commands.flow(1, 100))
        lower.gets(LOW, LOW)
        assert lower.entry_ids() == [0, 1, 2]


def test_a_waiting_key_is_not_overtaken(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker) as upper, Member(broker, permits=2) as lower:
        publish_keys(raw, LOW, LOW, LOW)
        lower.gets(LOW, LOW)
        lower.give_back(0)
        publish_keys(raw, LOW, HIGH)
        upper.gets(HIGH)
        lower.send(client_commands.flow(1, 100))
        assert lower.gets(LOW, LOW, LOW) == [1, 0, 0]
        assert lower.entry_ids() == [0, 1, 0, 2, 3]


def test_reading_ahead_stops_at_its_limit() -> None:
    config = DispatchConfig(consistent_hashing=False, look_ahead_per_consumer=2)
    with (
        EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, dispatch=config)) as broker,
        RawClient(broker.service_url) as raw,
    ):
        raw.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        with Member(broker) as upper, Member(broker, permits=1) as lower:
            publish_keys(raw, LOW, LOW, LOW, LOW, LOW, LOW, HIGH)  # four entries may wait for two consumers
            lower.gets(LOW)
            assert upper.gets_nothing()
            lower.send(client_commands.flow(1, 2))
            upper.gets(HIGH)
            lower.gets(LOW, LOW)


def test_with_out_of_order_delivery_a_key_moves_at_once(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, out_of_order=True) as old:
        publish_keys(raw, LOW)
        old.gets(LOW)
        with Member(broker, out_of_order=True) as new:
            publish_keys(raw, LOW)
            assert new.gets(LOW) == [0]


def test_sticky_consumers_get_their_hashes_and_other_messages_wait(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker, (0, 1000)) as lower:
        publish_keys(raw, HIGH, LOW)
        lower.gets(LOW)
        with Member(broker, (1001, 65535)) as upper:
            upper.gets(HIGH)


@pytest.mark.parametrize("ranges", [[(500, 600)], [(5, 1)], [(70000, 70001)], [(2000, 3000), (3000, 4000)]])
def test_unavailable_sticky_ranges_are_refused(
    broker: EmbeddedBroker, raw: RawClient, ranges: list[tuple[int, int]]
) -> None:
    with Member(broker, (0, 1000)) as first, Member(broker, *ranges) as second:
        assert (first.refusal, second.refusal) == (None, pb.ConsumerAssignError)


def test_a_sticky_consumer_without_ranges_is_refused(broker: EmbeddedBroker, raw: RawClient) -> None:
    command = BaseCommand(type=BaseCommand.SUBSCRIBE)
    kind = pb.CommandSubscribe.Key_Shared
    command.subscribe.CopyFrom(
        pb.CommandSubscribe(topic=TOPIC, subscription="s", consumer_id=1, request_id=1, subType=kind)
    )
    command.subscribe.keySharedMeta.keySharedMode = pb.STICKY
    assert raw.ask(command, BaseCommand.ERROR).error == pb.ConsumerAssignError


def test_a_dead_consumer_loses_its_sticky_ranges() -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(liveness_timeout_ms=100))
    with EmbeddedBroker(config=config) as broker, Member(broker, (0, 1000)) as silent:
        with Member(broker, (0, 10)) as second:
            assert second.refusal is None
        assert silent.is_closed()


def test_consumers_with_different_modes_are_refused(broker: EmbeddedBroker, raw: RawClient) -> None:
    with (
        Member(broker),
        Member(broker, (0, 10)) as sticky,
        Member(broker, out_of_order=True) as out_of_order,
    ):
        assert sticky.refusal == out_of_order.refusal == pb.ConsumerBusy


def test_an_unused_subscription_takes_the_mode_of_the_next_consumer(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Member(broker) as first:
        publish_keys(raw, LOW)
        first.gets(LOW)
    subscription = broker.broker.topics.loaded[TOPIC].subscriptions["s"]
    wait_until(lambda: not subscription.consumers, 5)
    with Member(broker, (0, 1000)) as second:
        assert second.gets(LOW) == [0]


def test_the_first_consumer_after_all_have_left_gets_all_unacknowledged_messages(
    broker: EmbeddedBroker, raw: RawClient
) -> None:
    with Member(broker) as first:
        publish_keys(raw, LOW, HIGH, LOW)
        first.gets(LOW, HIGH, LOW)
        first.acknowledge(1)
        assert first.gets_nothing()
    with Member(broker) as second:
        assert second.gets(LOW, LOW) == [0, 0]


def test_key_shared_can_be_disabled() -> None:
    config = BrokerConfig(server=FREE_PORTS, dispatch=DispatchConfig(key_shared=False))
    with EmbeddedBroker(config=config) as broker, Member(broker) as member:
        assert member.refusal == pb.NotAllowedError


def test_an_exclusive_consumer_can_request_a_range_of_keys(broker: EmbeddedBroker, raw: RawClient) -> None:
    publish_keys(raw, LOW)
    with Member(broker, (40_000, 65_535), kind=pb.CommandSubscribe.Exclusive, permits=2) as reader:
        publish_keys(raw, LOW, HIGH, LOW, HIGH, LOW)
        reader.gets(HIGH, HIGH)
        assert reader.gets_nothing()
