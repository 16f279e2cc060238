"""What the broker tells about entries if it is configured to: the index of their messages, and when they arrived."""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import EntryMetadataConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.frame import MessageFrame
from broker_core.wire.message import MAGIC
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe
from pulsarctl.raw.entry_reader import EntryReader, StoredMessage
from tests.support.raw_client import RawClient
from tests.support.runner import Cli

BATCH = 4


@pytest.fixture(scope="module")
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    config = BrokerConfig(server=FREE_PORTS, entry_metadata=EntryMetadataConfig(exposed=True))
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture
def published(client: pulsar.Client, topic: str) -> list[bytes]:
    """Two single messages, and two batches."""
    values = [b"%d" % number for number in range(2 + 2 * BATCH)]
    producer = client.create_producer(topic, batching_enabled=False)
    for value in values[:2]:
        producer.send(value)
    producer.close()
    producer = client.create_producer(
        topic, batching_enabled=True, batching_max_messages=BATCH, batching_max_publish_delay_ms=60_000
    )
    for value in values[2:]:
        producer.send_async(value, lambda result, message_id: None)
    producer.flush()
    producer.close()
    return values


def messages(broker: EmbeddedBroker, topic: str) -> list[StoredMessage]:
    with EntryReader(broker.service_url, topic) as reader:
        return [message for entry in reader.to_end() for message in entry.messages()]


def test_every_message_has_its_index_and_the_time_of_its_arrival(
    pulsar_broker: EmbeddedBroker, topic: str, published: list[bytes]
) -> None:
    for _ in range(2):  # of the reader's own reads, and of what memory holds
        found = messages(pulsar_broker, topic)
        assert [message.value for message in found] == published
        assert [message.broker_index for message in found] == list(range(len(published)))
        delays = [(message.broker_time_ms or 0) - message.publish_time_ms for message in found]
        assert all(-50 <= delay < 60_000 for delay in delays), delays  # clients round their clock


def test_an_index_can_be_printed(cli: Cli, topic: str, published: list[bytes]) -> None:
    printed = cli("read", topic, "--from", "index:4", "-e", "-F", "%o{index} %v\\n").stdout
    assert printed.splitlines() == [f"{index} {index}" for index in range(4, len(published))]


def test_messages_that_are_sent_again_and_the_rest_of_a_batch_arrive_whole(
    client: pulsar.Client, topic: str, published: list[bytes]
) -> None:
    options = {"consumer_type": pulsar.ConsumerType.Shared, "batch_index_ack_enabled": True}
    consumer = client.subscribe(topic, "s", initial_position=pulsar.InitialPosition.Earliest, **options)
    taken = [consumer.receive(30_000) for _ in published]
    consumer.acknowledge(next(message for message in taken if message.data() == published[3]))
    consumer.close()
    consumer = client.subscribe(topic, "s", **options)
    again = [consumer.receive(30_000).data() for _ in published[1:]]
    assert sorted(again, key=int) == [value for value in published if value != published[3]]
    consumer.close()


def test_a_client_that_does_not_know_it_gets_entries_as_they_are_stored(
    pulsar_broker: EmbeddedBroker, topic: str, published: list[bytes]
) -> None:
    with RawClient(pulsar_broker.service_url) as raw:
        name = f"persistent://public/default/{topic}"
        raw.send(client_commands.subscribe(1, name, "s", 1, initial_position=CommandSubscribe.Earliest))
        raw.expect(BaseCommand.SUCCESS)
        raw.send(client_commands.flow(1, 100))
        found = [item for item in (raw.next() for _ in range(4)) if isinstance(item, MessageFrame)]
    assert [item.entry[:2] for item in found] == [MAGIC] * 4


def test_a_compacted_topic_has_the_indexes_of_the_original(
    pulsar_broker: EmbeddedBroker, cli: Cli, client: pulsar.Client, topic: str
) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    for key in "abab":
        producer.send(b"x", partition_key=key)
    assert cli("topics", "compact", topic, "--wait").exit_code == 0
    assert cli("read", topic, "-m", "earliest", "-e", "--compacted", "-F", "%o{index}\\n").stdout == "2\n3\n"
