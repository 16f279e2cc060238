"""Consumers of many topics, by list and by regular expression.

The wire tests show that a pattern finds later topics, since this client looks for them only once a minute.
"""

import re

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.receiving import consume, payloads

pytestmark = pytest.mark.feature("pattern_subscription", "multi_topics")


def send(client: pulsar.Client, topic: str, *payloads: bytes) -> None:
    producer = client.create_producer(topic)
    for payload in payloads:
        producer.send(payload)
    producer.close()


def test_a_consumer_of_several_topics_gets_all_their_messages(client: pulsar.Client, topic: str) -> None:
    topics = [f"{topic}-{index}" for index in range(3)]
    consumer = client.subscribe(topics, "s", initial_position=pulsar.InitialPosition.Earliest)
    for name in topics:
        send(client, name, name.encode())
    assert set(payloads(consume(consumer, 3))) == {name.encode() for name in topics}


def test_a_pattern_finds_existing_topics(client: pulsar.Client, topic: str) -> None:
    for name in ("red-1", "red-2", "blue"):
        send(client, f"{topic}-{name}", name.encode())
    consumer = client.subscribe(re.compile(f"{topic}-red-.*"), "s", initial_position=pulsar.InitialPosition.Earliest)
    assert set(payloads(consume(consumer, 2))) == {b"red-1", b"red-2"}
    consumer.close()


def test_a_pattern_finds_the_partitions_of_a_topic(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(f"{topic}-p", 2)
    consumer = client.subscribe(re.compile(f"{topic}-.*"), "s", initial_position=pulsar.InitialPosition.Earliest)
    send(client, f"{topic}-p", b"0", b"1")
    assert set(payloads(consume(consumer, 2))) == {b"0", b"1"}
    consumer.close()


def test_a_pattern_does_not_match_system_topics(client: pulsar.Client, pulsar_broker: EmbeddedBroker) -> None:
    namespace = "persistent://public/functions"
    for name in ("__change_events", "mine"):
        send(client, f"{namespace}/{name}", name.encode())
    pattern = re.compile(f"{namespace}/.*")
    consumer = client.subscribe(pattern, "s", initial_position=pulsar.InitialPosition.Earliest)
    assert set(payloads(consume(consumer, 1))) == {b"mine"}
    hidden = pulsar_broker.broker.topics.loaded[f"{namespace}/__change_events"]
    assert not hidden.subscriptions
    consumer.close()
