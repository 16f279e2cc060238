"""Shared, command by command: which consumer is served, and limits on unacknowledged messages."""

from collections.abc import Iterator, Sequence

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.dispatch.unacked_limits import BrokerUnacked
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive
from tests.support.raw_publishing import producer, publish

TOPICS = [f"persistent://public/default/t{number}" for number in range(2)]


class Shared:
    """A broker, a producer on each of two topics, and one client with consumers on their subscriptions."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.client = RawClient(broker.service_url)
        self.publishers = [RawClient(broker.service_url) for _ in TOPICS]
        for publisher, topic in zip(self.publishers, TOPICS, strict=True):
            publisher.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)

    def join(self, consumer_id: int, permits: int = 100, *, priority: int = 0, topic: int = 0) -> None:
        command = BaseCommand(type=BaseCommand.SUBSCRIBE)
        body = command.subscribe
        body.topic, body.subscription, body.consumer_id, body.request_id = TOPICS[topic], "s", consumer_id, 1
        body.subType, body.priority_level = pb.CommandSubscribe.Shared, priority
        body.initialPosition = pb.CommandSubscribe.Earliest
        self.client.ask(command, BaseCommand.SUCCESS)
        if permits:
            self.client.send(client_commands.flow(consumer_id, permits))

    def publish(self, count: int, topic: int = 0) -> None:
        publish(self.publishers[topic], count)

    def got(self, count: int) -> list[pb.CommandMessage]:
        return receive(self.client, count)

    def nothing_comes(self, consumer_id: int = 1) -> bool:
        self.client.send(client_commands.get_last_message_id(consumer_id, 99))
        return self.client.expect(BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE) is not None

    def acknowledge(self, messages: Sequence[pb.CommandMessage]) -> None:
        for message in messages:
            self.client.send(client_commands.acknowledge(message.consumer_id, [message.message_id]))

    def give_back(self, consumer_id: int, messages: Sequence[pb.CommandMessage]) -> None:
        command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
        command.redeliverUnacknowledgedMessages.consumer_id = consumer_id
        command.redeliverUnacknowledgedMessages.message_ids.extend(message.message_id for message in messages)
        self.client.send(frame(command))

    def close(self) -> None:
        for client in (self.client, *self.publishers):
            client.close()


@pytest.fixture
def shared(request: pytest.FixtureRequest) -> Iterator[Shared]:
    config = BrokerConfig(server=FREE_PORTS, dispatch=getattr(request, "param", DispatchConfig()))
    with EmbeddedBroker(config=config) as broker:
        found = Shared(broker)
        yield found
        found.close()


def test_lower_priorities_are_served_when_higher_ones_have_no_permits(shared: Shared) -> None:
    for consumer_id, priority, permits in ((1, 0, 2), (2, 0, 1), (3, 0, 1), (4, 1, 2), (5, 1, 1)):
        shared.join(consumer_id, permits, priority=priority)
    served = []
    for _ in range(7):
        shared.publish(1)
        served += [message.consumer_id for message in shared.got(1)]
    assert served == [1, 2, 3, 1, 4, 5, 4]


def test_redelivered_messages_go_out_in_order_before_new_ones(shared: Shared) -> None:
    shared.join(1, permits=4)
    shared.publish(6)
    got = shared.got(4)
    shared.give_back(1, [got[2], got[0]])
    shared.client.send(client_commands.flow(1, 10))
    again = shared.got(4)
    assert [message.message_id.entryId for message in again] == [0, 2, 4, 5]
    assert [message.redelivery_count for message in again] == [1, 1, 0, 0]


def test_redelivering_all_messages_is_counted(shared: Shared) -> None:
    shared.join(1)
    shared.publish(2)
    shared.got(2)
    shared.give_back(1, [])
    assert [message.redelivery_count for message in shared.got(2)] == [1, 1]


@pytest.mark.parametrize("shared", [DispatchConfig(max_unacked_per_consumer=4)], indirect=True)
def test_a_blocked_consumer_continues_when_half_is_acknowledged(shared: Shared) -> None:
    shared.join(1, permits=4)
    shared.publish(8)
    got = shared.got(4)
    shared.client.send(client_commands.flow(1, 10))
    shared.acknowledge(got[:1])
    assert shared.nothing_comes()
    shared.acknowledge(got[1:2])
    assert [message.message_id.entryId for message in shared.got(2)] == [4, 5]
    assert shared.nothing_comes()


@pytest.mark.parametrize("shared", [DispatchConfig(max_unacked_per_consumer=4)], indirect=True)
def test_a_consumer_gets_no_more_than_it_may_have_unacknowledged(shared: Shared) -> None:
    shared.publish(10)
    shared.join(1, permits=100)
    got = shared.got(4)
    assert shared.nothing_comes()
    shared.acknowledge(got[:3])
    assert [message.message_id.entryId for message in shared.got(3)] == [4, 5, 6]
    assert shared.nothing_comes()


@pytest.mark.parametrize(
    "shared",
    [DispatchConfig(max_unacked_per_consumer=4), DispatchConfig(max_unacked_per_subscription=4)],
    indirect=True,
)
def test_a_consumer_at_its_limit_is_blocked_without_a_flow_command(shared: Shared) -> None:
    shared.join(1, permits=4)
    shared.publish(8)
    got = shared.got(4)
    asks = client_commands.flow(1, 10)
    shared.client.send(client_commands.acknowledge(1, [got[0].message_id]) + asks)
    assert shared.nothing_comes()


@pytest.mark.parametrize("shared", [DispatchConfig(max_unacked_per_subscription=4)], indirect=True)
def test_a_blocked_subscription_continues_when_less_than_half_is_left(shared: Shared) -> None:
    shared.join(1, permits=4)
    shared.join(2, permits=0)
    shared.publish(6)
    got = shared.got(4)
    shared.client.send(client_commands.flow(2, 10))
    shared.acknowledge(got[:2])
    assert shared.nothing_comes()
    shared.acknowledge(got[2:3])
    assert [message.message_id.entryId for message in shared.got(2)] == [4, 5]


@pytest.mark.parametrize(
    "shared",
    [
        DispatchConfig(max_unacked_per_consumer=1),
        DispatchConfig(max_unacked_per_subscription=1),
        DispatchConfig(max_unacked_per_broker=1),
    ],
    indirect=True,
)
def test_a_limit_of_one_message_lets_the_next_one_go_after_each(shared: Shared) -> None:
    shared.join(1, permits=1)
    shared.publish(3)
    for entry_id in range(3):
        got = shared.got(1)
        assert got[0].message_id.entryId == entry_id
        shared.client.send(client_commands.flow(1, 1))
        shared.acknowledge(got)


@pytest.mark.parametrize("shared", [DispatchConfig(max_unacked_per_broker=10, blocked_share=0.2)], indirect=True)
def test_a_full_broker_blocks_subscriptions_with_many_unacknowledged_messages(shared: Shared) -> None:
    shared.join(1, permits=9)
    shared.join(2, permits=1, topic=1)
    shared.publish(12)
    shared.publish(3, topic=1)
    got = shared.got(10)
    shared.client.send(client_commands.flow(1, 10) + client_commands.flow(2, 10))
    assert [message.consumer_id for message in shared.got(2)] == [2, 2]  # which has few unacknowledged messages
    many = [message for message in got if message.consumer_id == 1]
    shared.acknowledge(many[:5])
    assert shared.nothing_comes()
    shared.acknowledge(many[5:8])
    assert [message.consumer_id for message in shared.got(3)] == [1, 1, 1]


@pytest.mark.parametrize("shared", [DispatchConfig(max_unacked_per_broker=10, blocked_share=0.1)], indirect=True)
def test_redelivered_messages_no_longer_count_for_the_brokers_limit(shared: Shared) -> None:
    shared.join(1, permits=9)
    shared.join(2, permits=1, topic=1)
    shared.publish(9)
    shared.publish(2, topic=1)
    got = shared.got(10)
    shared.client.send(client_commands.flow(2, 10))
    assert shared.nothing_comes(2)
    shared.give_back(1, [message for message in got if message.consumer_id == 1])  # and sends no more permits
    assert [message.consumer_id for message in shared.got(1)] == [2]


def test_subscriptions_blocked_by_the_brokers_limit_are_woken() -> None:
    woken: list[str] = []
    limit = BrokerUnacked(10, 0.2)
    limit.changed(9)
    assert not limit.holds(9, False, lambda: woken.append("early"))
    limit.changed(1)
    assert limit.holds(8, False, lambda: woken.append("many"))
    assert not limit.holds(1, False, lambda: woken.append("few"))
    limit.changed(-5)
    assert not woken
    limit.changed(-1)
    assert woken == ["many"]
    assert BrokerUnacked.of(DispatchConfig()) is None
