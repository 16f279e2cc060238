"""Tests against a real broker: the fixture `pulsar_broker` comes with the package.

The broker starts with the first test of a module and stops after the last one, so give each test its own topic.
"""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker


@pytest.fixture
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    yield client
    client.close()


def test_an_order_reaches_billing(client: pulsar.Client) -> None:
    consumer = client.subscribe("orders-sent", "billing")
    client.create_producer("orders-sent").send(b"12.50")
    assert consumer.receive(timeout_millis=10_000).data() == b"12.50"


def test_an_order_that_fails_is_delivered_again(client: pulsar.Client) -> None:
    shared = pulsar.ConsumerType.Shared  # counts redeliveries
    consumer = client.subscribe("orders-failing", "billing", shared, negative_ack_redelivery_delay_ms=100)
    client.create_producer("orders-failing").send(b"3.20")
    consumer.negative_acknowledge(consumer.receive(timeout_millis=10_000))
    again = consumer.receive(timeout_millis=10_000)
    assert (again.data(), again.redelivery_count()) == (b"3.20", 1)
