"""A terminated topic accepts no messages and delivers all that it has."""

import json
import urllib.request
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe
from tests.clients.conftest import TIMEOUT_MS
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("termination")

JAVA = "Pulsar-Java-v4.0.7"


def terminate(broker: EmbeddedBroker, topic: str, of: str = "") -> Any:
    path = f"/admin/v2/{topic.replace('://', '/')}/terminate{of}"
    with urllib.request.urlopen(urllib.request.Request(broker.http_url + path, method="POST"), timeout=10) as answer:
        return json.load(answer)


def connected_as(broker: EmbeddedBroker, client_version: str) -> RawClient:
    raw = RawClient(broker.service_url, handshake=False)
    raw.send(client_commands.connect(client_version))
    raw.expect(BaseCommand.CONNECTED)
    return raw


def subscribe(raw: RawClient, topic: str, *, earliest: bool) -> None:
    position = CommandSubscribe.Earliest if earliest else CommandSubscribe.Latest
    raw.send(client_commands.subscribe(1, topic, "raw", 1, initial_position=position))
    raw.expect(BaseCommand.SUCCESS)
    raw.send(client_commands.flow(1, 100))


def test_a_producer_is_refused_and_earlier_messages_stay(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    producer = client.create_producer(topic)
    consumer = client.subscribe(topic, "s")
    sent = [producer.send(b"%d" % index) for index in range(3)]
    last = terminate(pulsar_broker, topic)
    assert (last["ledgerId"], last["entryId"]) == (sent[-1].ledger_id(), sent[-1].entry_id())
    assert terminate(pulsar_broker, topic) == last
    with pytest.raises(pulsar.TopicTerminated):
        producer.send(b"late")
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer(topic)
    assert [consumer.receive(TIMEOUT_MS).data() for _ in range(3)] == [b"0", b"1", b"2"]


def test_a_reader_reads_a_terminated_topic_to_its_end(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    producer = client.create_producer(topic)
    for index in range(3):
        producer.send(b"%d" % index)
    terminate(pulsar_broker, topic)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(TIMEOUT_MS).data())
    assert found == [b"0", b"1", b"2"]


def test_a_topic_stays_terminated_over_an_unload(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    client.create_producer(topic).send(b"only")
    terminate(pulsar_broker, topic)
    loaded = pulsar_broker.broker.topics.loaded[topic]
    pulsar_broker.call(pulsar_broker.broker.topics.unload(loaded.name))
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer(topic)


def test_each_partition_is_terminated(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    assert sorted(terminate(pulsar_broker, topic, "/partitions")) == ["0", "1"]
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer(topic)


def test_a_java_consumer_that_has_acknowledged_everything_learns_of_the_end_once(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    client.create_producer(topic).send(b"only")
    with connected_as(pulsar_broker, JAVA) as raw:
        subscribe(raw, topic, earliest=True)
        message_id = raw.expect(BaseCommand.MESSAGE).message_id
        terminate(pulsar_broker, topic)
        raw.send(client_commands.acknowledge(1, [message_id], request_id=5))
        assert raw.expect(BaseCommand.REACHED_END_OF_TOPIC).consumer_id == 1
        raw.expect(BaseCommand.ACK_RESPONSE)
        raw.send(client_commands.flow(1, 1))
        raw.send(commands.ping())
        raw.expect(BaseCommand.PONG)


def test_a_java_consumer_that_reaches_the_end_learns_of_it(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    client.create_producer(topic).send(b"only")
    terminate(pulsar_broker, topic)
    with connected_as(pulsar_broker, JAVA) as raw:
        subscribe(raw, topic, earliest=False)
        raw.expect(BaseCommand.REACHED_END_OF_TOPIC)


def test_other_clients_are_not_told_of_the_end(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    client.create_producer(topic).send(b"only")
    terminate(pulsar_broker, topic)
    with connected_as(pulsar_broker, "Pulsar-CPP-v4.2.0") as raw:
        subscribe(raw, topic, earliest=False)
        raw.send(commands.ping())
        raw.expect(BaseCommand.PONG)


def test_messages_before_the_end_have_receipts_and_lower_positions(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    """Publishes race with the termination: each is stored at or before the last ID, or refused."""
    producer = client.create_producer(topic)
    outcomes: dict[int, tuple[pulsar.Result, pulsar.MessageId]] = {}
    for index in range(200):
        if index == 100:
            last = terminate(pulsar_broker, topic)
        producer.send_async(b"x", lambda result, id, index=index: outcomes.update({index: (result, id)}))
    wait_until(lambda: len(outcomes) == 200, 10)
    stored = [id.entry_id() for result, id in outcomes.values() if result == pulsar.Result.Ok]
    assert stored == list(range(last["entryId"] + 1))
