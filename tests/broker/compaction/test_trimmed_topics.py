"""Where consumers of a compacted topic begin once all its ledgers are trimmed, and only the compacted one is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.topic.topic import Topic
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support import raw_consuming
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import entry_ids, receive
from tests.support.raw_publishing import producer, publish_keys

TOPIC = "persistent://public/default/t"
EARLIEST, LATEST = pb.CommandSubscribe.Earliest, pb.CommandSubscribe.Latest


@pytest.fixture(params=["running", "restarted"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """Its topic had three entries; the compacted ledger has the entries 1 and 2."""
    with EmbeddedBroker(tmp_path) as broker:
        publish(broker, "a", "b", "a")
        compact_and_trim(broker)
        if request.param == "running":
            yield broker
            return
    with EmbeddedBroker(tmp_path) as broker:
        yield broker


def loaded(broker: EmbeddedBroker) -> Topic:
    return broker.call(broker.broker.topics.get(parse_topic(TOPIC)))


def compact_and_trim(broker: EmbeddedBroker) -> None:
    topic = loaded(broker)
    broker.call(_compact(topic))
    wait_until(lambda: not topic.compaction.is_running, 10)
    broker.call(topic.subscriptions.open("caught up", durable=True, start=None, earliest=False, properties={}))
    broker.call(topic.trim())
    assert not topic.ledger.ledger_infos()


async def _compact(topic: Topic) -> None:
    topic.compaction.start()


def publish(broker: EmbeddedBroker, *keys: str) -> None:
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish_keys(client, *keys)


def subscribe(client: RawClient, initial_position: int) -> None:
    raw_consuming.subscribe(client, TOPIC, read_compacted=True, initial_position=initial_position)


def test_a_consumer_from_the_latest_message_on_gets_new_messages_only(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        subscribe(client, LATEST)
        publish(broker, "c")
        assert entry_ids(receive(client)) == [0]


def test_a_consumer_from_the_earliest_message_on_gets_the_compacted_ones(broker: EmbeddedBroker) -> None:
    with RawClient(broker.service_url) as client:
        subscribe(client, EARLIEST)
        assert entry_ids(receive(client, 2)) == [1, 2]


@pytest.mark.parametrize("by_time", [False, True])
def test_a_seek_to_the_end_skips_the_compacted_messages(broker: EmbeddedBroker, by_time: bool) -> None:
    with RawClient(broker.service_url) as client:
        subscribe(client, EARLIEST)
        receive(client, 2)
        end = commands.message_id((1 << 63) - 1, (1 << 63) - 1)
        client.send(
            client_commands.seek(1, 5, publish_time_ms=broker.broker.clock.wall_ms())
            if by_time
            else client_commands.seek(1, 5, position=end)
        )
        client.expect(BaseCommand.CLOSE_CONSUMER)
        client.expect(BaseCommand.SUCCESS)
        subscribe(client, EARLIEST)
        publish(broker, "c")
        assert entry_ids(receive(client)) == [0]
