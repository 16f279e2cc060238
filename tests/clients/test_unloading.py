"""Clients continue after an unload and when partitions are added."""

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS

pytestmark = pytest.mark.feature("unload", "partitioned_topics")


def test_producer_and_consumer_continue_after_an_unload(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    producer = client.create_producer(topic)
    consumer = client.subscribe(topic, "s")
    for round_ in range(3):
        producer.send(b"%d" % round_)
        while (message := consumer.receive(TIMEOUT_MS)).data() != b"%d" % round_:
            assert message.data() < b"%d" % round_  # its acknowledgment was not sent yet
        consumer.acknowledge_cumulative(message)
        pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))


def test_new_partitions_get_the_subscriptions_and_their_messages(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 1)
    consumer = client.subscribe(topic, "s")
    first = pulsar_broker.broker.topics.loaded[f"{topic}-partition-0"].subscriptions.find("s")
    pulsar_broker.call(first.set_properties({"team": "a"}))
    pulsar_broker.call(pulsar_broker.broker.partitioned.update(parse_topic(topic), 3))
    producer = client.create_producer(topic, message_routing_mode=pulsar.PartitionsRoutingMode.RoundRobinDistribution)
    for index in range(6):
        producer.send(b"%d" % index)
    consumer.close()  # it looks for partitions once a minute; a new client finds them at once
    consumer = client.subscribe(topic, "s")
    found = {consumer.receive(TIMEOUT_MS).data() for _ in range(6)}
    assert found == {b"%d" % index for index in range(6)}
    third = pulsar_broker.broker.topics.loaded[f"{topic}-partition-2"]
    assert third.subscriptions.find("s").cursor.properties == {"team": "a"}


def test_partitions_can_be_added_before_the_first_one_is_used(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    tenancy, name = pulsar_broker.broker.tenancy, parse_topic(topic)
    pulsar_broker.call(tenancy.partitioned.create(name, 1))
    pulsar_broker.call(pulsar_broker.broker.partitioned.update(name, 2))
    client.create_producer(topic).send(b"x")
    assert client.get_topic_partitions(topic) == [f"{topic}-partition-{index}" for index in range(2)]
