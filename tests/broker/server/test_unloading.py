"""An unload tells clients where to find the topic, if they support it."""

from collections.abc import Iterator

import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.connections import connections
from tests.support.raw_client import RawClient

TOPIC = "persistent://public/default/unloaded"


@pytest.fixture
def raw(pulsar_broker: EmbeddedBroker) -> Iterator[RawClient]:
    """A producer and a consumer on one connection."""
    with RawClient(pulsar_broker.service_url) as raw:
        command = BaseCommand(type=BaseCommand.PRODUCER)
        command.producer.topic, command.producer.producer_id, command.producer.request_id = TOPIC, 1, 1
        raw.ask(command, BaseCommand.PRODUCER_SUCCESS)
        raw.send(client_commands.subscribe(2, TOPIC, "s", 1))
        raw.expect(BaseCommand.SUCCESS)
        yield raw


def speak(broker: EmbeddedBroker, version: int) -> None:
    for connection in connections(broker.broker):
        connection.session.protocol_version = version


def hints(raw: RawClient) -> list[str]:
    return [
        raw.expect(BaseCommand.CLOSE_PRODUCER).assignedBrokerServiceUrl,
        raw.expect(BaseCommand.CLOSE_CONSUMER).assignedBrokerServiceUrl,
    ]


@pytest.mark.parametrize(("version", "told"), [(20, False), (21, True)])
def test_an_unload_sends_the_new_address_to_clients_that_support_it(
    pulsar_broker: EmbeddedBroker, raw: RawClient, version: int, told: bool
) -> None:
    speak(pulsar_broker, version)
    pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(TOPIC)))
    assert hints(raw) == [pulsar_broker.service_url if told else ""] * 2


def test_a_deletion_sends_no_address(pulsar_broker: EmbeddedBroker, raw: RawClient) -> None:
    speak(pulsar_broker, 21)
    pulsar_broker.call(pulsar_broker.broker.topics.delete(parse_topic(TOPIC), force=True))
    assert hints(raw) == ["", ""]


def test_a_client_that_reconnects_at_once_waits_for_the_unload(pulsar_broker: EmbeddedBroker, raw: RawClient) -> None:
    speak(pulsar_broker, 21)
    command = BaseCommand(type=BaseCommand.PRODUCER)
    command.producer.topic, command.producer.producer_id, command.producer.request_id = TOPIC, 1, 9
    command.producer.epoch = 1
    unloading = pulsar_broker.broker.topics.unload(parse_topic(TOPIC))
    pulsar_broker.call(unloading)
    hints(raw)
    raw.send(frame(command))
    assert raw.expect(BaseCommand.PRODUCER_SUCCESS).request_id == 9
