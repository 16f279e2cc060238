"""Limits on producers, consumers, subscriptions, and topics refuse when reached, and admit again when one leaves."""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.config.topic import TopicConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.clients.policies import make_namespace, set_namespace_policies, set_topic_policies
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("limits")

SHARED = pulsar.ConsumerType.Shared


@pytest.fixture
def topics(pulsar_broker: EmbeddedBroker, request: pytest.FixtureRequest) -> str:
    """A namespace for this test; returns the prefix of its topic names."""
    return make_namespace(pulsar_broker, request.node.name.replace("[", "-").replace("]", ""))


@pytest.fixture
def raw(pulsar_broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as client:
        yield client


def subscribe(topic: str, name: str, consumer_id: int, *, durable: bool = True) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.SUBSCRIBE)
    command.subscribe.CopyFrom(
        pb.CommandSubscribe(
            topic=topic,
            subscription=name,
            subType=pb.CommandSubscribe.Shared,
            consumer_id=consumer_id,
            request_id=consumer_id,
            durable=durable,
        )
    )
    return command


def test_a_producer_over_the_limit_is_refused_until_one_leaves(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topics: str
) -> None:
    set_topic_policies(pulsar_broker, topics + "t", max_producers=1)
    first = client.create_producer(topics + "t")
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(topics + "t")
    first.close()
    client.create_producer(topics + "t").close()


def test_raising_or_removing_a_limit_takes_effect_at_once(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topics: str
) -> None:
    set_namespace_policies(pulsar_broker, topics + "t", max_producers=1)
    client.create_producer(topics + "t")
    set_topic_policies(pulsar_broker, topics + "t", max_producers=2)
    client.create_producer(topics + "t")
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(topics + "t")
    set_topic_policies(pulsar_broker, topics + "t", max_producers=None)
    set_namespace_policies(pulsar_broker, topics + "t", max_producers=None)
    client.create_producer(topics + "t")


def test_a_consumer_over_the_topics_limit_is_refused_until_one_leaves(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topics: str
) -> None:
    set_topic_policies(pulsar_broker, topics + "t", max_consumers=2)
    first = client.subscribe(topics + "t", "a", SHARED)
    client.subscribe(topics + "t", "b", SHARED)
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topics + "t", "b", SHARED)
    first.close()
    client.subscribe(topics + "t", "b", SHARED)


def test_a_consumer_over_the_subscriptions_limit_is_refused_only_there(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topics: str
) -> None:
    set_topic_policies(pulsar_broker, topics + "t", max_consumers_per_subscription=1)
    client.subscribe(topics + "t", "a", SHARED)
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topics + "t", "a", SHARED)
    client.subscribe(topics + "t", "b", SHARED)


@pytest.mark.parametrize("durable", [True, False])
def test_a_subscription_over_the_limit_is_refused_until_one_is_deleted(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, raw: RawClient, topics: str, durable: bool
) -> None:
    set_topic_policies(pulsar_broker, topics + "t", max_subscriptions=1)
    first = client.subscribe(topics + "t", "a", SHARED)
    refused = raw.ask(subscribe(topics + "t", "b", 1, durable=durable), BaseCommand.ERROR)
    assert refused.error == pb.NotAllowedError
    assert refused.message == f"Exceed the maximum number of subscriptions of the topic: {topics}t"
    first.unsubscribe()
    raw.ask(subscribe(topics + "t", "b", 2, durable=durable), BaseCommand.SUCCESS)


def test_a_topic_over_the_limit_is_refused_until_one_is_deleted(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, raw: RawClient, topics: str
) -> None:
    set_namespace_policies(pulsar_broker, topics + "t", max_topics=2)
    pulsar_broker.create_partitioned_topic(topics + "parted", 2)
    refused = raw.ask(subscribe(topics + "t", "s", 1), BaseCommand.ERROR)
    assert (refused.error, refused.message) == (pb.NotAllowedError, "Exceed maximum number of topics in namespace.")
    set_namespace_policies(pulsar_broker, topics + "t", max_topics=3)
    raw.ask(subscribe(topics + "t", "s", 2), BaseCommand.SUCCESS)


def test_producers_and_consumers_of_one_address_are_counted() -> None:
    limits = TopicConfig(max_same_address_producers=1, max_same_address_consumers=1)
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, topics=limits)) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        producer, consumer = client.create_producer("t"), client.subscribe("t", "s", SHARED)
        with pytest.raises(pulsar.ProducerBusy):
            client.create_producer("t")
        with pytest.raises(pulsar.ConsumerBusy):
            client.subscribe("t", "s", SHARED)
        producer.close()
        consumer.close()
        client.create_producer("t")
        client.subscribe("t", "s", SHARED)
        client.close()


def test_a_connection_over_the_limit_of_an_address_gets_an_error_and_is_closed() -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_connections_per_ip=1))
    with (
        EmbeddedBroker(config=config) as broker,
        RawClient(broker.service_url) as first,
        RawClient(broker.service_url, handshake=False) as second,
    ):
        refused = second.expect(BaseCommand.ERROR)
        assert refused.error == pb.NotAllowedError
        assert refused.message == "Reached the maximum number of connections on address /127.0.0.1"
        assert second.is_closed()
        first.close()
        wait_until(lambda: not broker.broker.connections, 5)
        RawClient(broker.service_url).close()
