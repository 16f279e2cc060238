"""Regular topics for clients of the V5 API: synthetic layouts, and consumers that share partitions."""

from collections.abc import Iterator
from itertools import count

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.names import parse_topic
from broker_core.scalable.topics import resolved
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import assigned, lookup, next_assignment, register, send, unregister, update
from tests.broker.scalable.requests import Requests
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer
from tests.support.raw_publishing import producer

NUMBERS = count()


@pytest.fixture
def topic(broker: EmbeddedBroker) -> str:
    """A topic of 4 partitions."""
    name = f"persistent://public/default/parted-{next(NUMBERS)}"
    broker.create_partitioned_topic(name, 4)
    return name


def subscribe(client: RawClient, topic: str, subscription: str, consumer_id: int) -> None:
    command = BaseCommand(type=BaseCommand.SUBSCRIBE)
    body = command.subscribe
    body.topic, body.subscription, body.subType = topic, subscription, pb.CommandSubscribe.Exclusive
    body.consumer_id, body.request_id = consumer_id, 9
    client.ask(command, BaseCommand.SUCCESS)


def test_the_broker_says_that_it_serves_these_clients(client: RawClient) -> None:
    assert client.connected.feature_flags.supports_scalable_topics


def test_each_partition_is_a_segment(client: RawClient, topic: str, broker: EmbeddedBroker) -> None:
    update = lookup(client, topic)
    assert update.resolved_topic_name == topic.replace("persistent:", "topic:")
    assert [one.legacy_topic_name for one in update.dag.segments] == [f"{topic}-partition-{k}" for k in range(4)]
    assert {one.broker_url for one in update.dag.segment_brokers} == {broker.service_url}
    assert update.dag.controller_broker_url == broker.service_url


def test_a_topic_without_partitions_is_one_segment(client: RawClient) -> None:
    update = lookup(client, "plain")
    assert [one.legacy_topic_name for one in update.dag.segments] == ["persistent://public/default/plain"]


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("non-persistent://public/default/x", pb.NotAllowedError, "has no segments"),
        ("persistent://public/default/x-partition-3", pb.TopicNotFound, "one part of a topic"),
        ("persistent://public/none/x", pb.TopicNotFound, "does not exist"),
        ("topic://public/default/none", pb.TopicNotFound, "Scalable topic not found"),
        ("other://public/default/x", pb.InvalidTopicName, "Invalid topic domain"),
    ],
)
def test_a_lookup_that_fails_says_why_and_keeps_the_connection(
    client: RawClient, name: str, error: int, reason: str
) -> None:
    update = lookup(client, name, create_if_missing=False)
    assert update.error == error
    assert reason in update.message
    assert lookup(client, "plain").dag.segments


def test_a_session_ends_and_its_id_is_free(client: RawClient) -> None:
    lookup(client, "plain", 7)
    assert "exists already" in lookup(client, "plain", 7).message
    send(client, BaseCommand.SCALABLE_TOPIC_CLOSE, session_id=7)
    assert lookup(client, "plain", 7).dag.segments


@pytest.fixture
def other(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as raw:
        yield raw


def partitions(names: list[str]) -> str:
    return "".join(name[-1] for name in names)


def test_clients_learn_of_added_partitions(client: RawClient, topic: str, admin: Requests) -> None:
    lookup(client, topic)
    register(client, topic, "s", "a")
    assert admin("POST", f"{topic.replace('://', '/')}/partitions", 6).status == 204
    assert len(update(client).dag.segments) == 6
    assert partitions(next_assignment(client)) == "012345"


def test_stream_consumers_share_the_partitions(client: RawClient, other: RawClient, topic: str) -> None:
    assert partitions(assigned(register(client, topic, "s", "a"))) == "0123"
    assert partitions(assigned(register(other, topic, "s", "b"))) == "23"
    assert partitions(next_assignment(client)) == "01"


def test_checkpoint_consumers_have_a_group_of_their_own_kind(client: RawClient, topic: str) -> None:
    register(client, topic, "s", "a")
    answer = register(client, topic, "s", "b", 2, pb.CHECKPOINT)
    assert (answer.error, "another type" in answer.message) == (pb.NotAllowedError, True)


def test_a_consumer_that_unsubscribes_hands_over_at_once(client: RawClient, other: RawClient, topic: str) -> None:
    register(client, topic, "s", "a")
    register(other, topic, "s", "b")
    unregister(other)
    assert partitions(next_assignment(client)) == "01"
    assert partitions(next_assignment(client)) == "0123"
    unregister(other)  # again: it has left already


def test_a_request_about_a_scalable_topic_expels_no_consumer_of_a_regular_one(
    client: RawClient, topic: str, broker: EmbeddedBroker
) -> None:
    register(client, topic, "s", "a")
    path = f"scalable/public/default/{topic.rpartition('/')[2]}/subscriptions/s"
    assert Requests(broker)("DELETE", path).status == 404
    assert list(broker.broker.scalable.groups.of(resolved(parse_topic(topic)))["s"].consumers) == ["a"]


def test_a_segment_moves_once_its_consumer_has_closed_it(client: RawClient, other: RawClient, topic: str) -> None:
    register(client, topic, "s", "a")
    for partition in range(4):
        subscribe(client, f"{topic}-partition-{partition}", "s", partition)
    assert assigned(register(other, topic, "s", "b")) == []
    assert partitions(next_assignment(client)) == "01"
    for partition in (2, 3):
        send(client, BaseCommand.CLOSE_CONSUMER, consumer_id=partition, request_id=3)
        client.expect(BaseCommand.SUCCESS)
    assert partitions(next_assignment(other)) == "2"
    assert partitions(next_assignment(other)) == "23"


def test_a_consumer_that_finds_its_segment_busy_gets_it_again_once_it_is_free(
    client: RawClient, other: RawClient, topic: str
) -> None:
    subscribe(other, f"{topic}-partition-0", "s", 1)  # its client has yet to register, as after a restart
    assert partitions(assigned(register(client, topic, "s", "a"))) == "0123"
    client.send(client_commands.subscribe(2, f"{topic}-partition-0", "s", 2, consumer_name="a-seg-0"))
    other.expect(BaseCommand.PING)
    other.send(commands.pong())
    assert client.expect(BaseCommand.ERROR).error == pb.ConsumerBusy
    assert partitions(next_assignment(client)) == "123", "clients of 5.0.0-M1 do not repeat a failed subscribe"
    other.send(close_consumer())
    assert partitions(next_assignment(client)) == "0123"


def test_a_lost_consumer_keeps_its_segments_until_it_returns(broker: EmbeddedBroker, topic: str) -> None:
    with RawClient(broker.service_url) as stays:
        register(stays, topic, "s", "a")
        with RawClient(broker.service_url) as lost:
            kept = assigned(register(lost, topic, "s", "b"))
            subscribe(lost, f"{topic}-partition-2", "s", 7)
        next_assignment(stays)
        with RawClient(broker.service_url) as returned:
            assert assigned(register(returned, topic, "s", "b")) == kept


def test_a_lost_consumer_keeps_its_segments_if_it_had_them_on_another_connection(
    broker: EmbeddedBroker, topic: str
) -> None:
    with RawClient(broker.service_url) as stays, RawClient(broker.service_url) as registered:
        register(stays, topic, "s", "a")
        register(registered, topic, "s", "b")
        with RawClient(broker.service_url) as lost:
            subscribe(lost, f"{topic}-partition-2", "s", 7)
        partition = broker.broker.topics.loaded[f"{topic}-partition-2"]
        wait_until(lambda: not partition.subscriptions["s"].consumers, 5)
        group = broker.broker.scalable.groups.of(resolved(parse_topic(topic)))["s"]
        registered.close()
        wait_until(lambda: any(one.outbound is None for one in group.consumers.values()), 5)
        assert set(group.consumers) == {"a", "b"}


def test_a_consumer_that_closed_its_segments_before_its_connection_has_left(broker: EmbeddedBroker, topic: str) -> None:
    with RawClient(broker.service_url) as stays:
        register(stays, topic, "s", "a")
        with RawClient(broker.service_url) as leaves:
            register(leaves, topic, "s", "b")
        assert partitions(next_assignment(stays)) == "01"
        assert partitions(next_assignment(stays)) == "0123"


def test_the_segments_of_a_consumer_that_does_not_return_are_shared_again() -> None:
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(grace_seconds=0.01))
    with EmbeddedBroker(config=config) as broker:
        name = "persistent://public/default/short"
        broker.create_partitioned_topic(name, 2)
        with RawClient(broker.service_url) as stays:
            register(stays, name, "s", "a")
            with RawClient(broker.service_url) as lost:
                register(lost, name, "s", "b")
                subscribe(lost, f"{name}-partition-1", "s", 7)
            assert len(next_assignment(stays)) == 1
            assert len(next_assignment(stays)) == 2


def test_where_scalable_topics_are_disabled_nothing_differs_from_before() -> None:
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        assert not client.connected.feature_flags.supports_scalable_topics
        assert lookup(client, "plain").error == pb.NotAllowedError
        assert register(client, "plain", "s", "a").error == pb.NotAllowedError
        client.send(frame(producer("topic://public/default/x")))
        assert client.expect(BaseCommand.ERROR).error == pb.InvalidTopicName
