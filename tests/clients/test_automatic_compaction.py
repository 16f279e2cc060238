"""The broker compacts a topic when its uncompacted messages exceed the threshold."""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.compaction.compaction import Compaction, CompactionState
from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.clients.publishing import publish_keyed
from tests.support import official_client
from tests.support.condition import wait_until

pytestmark = pytest.mark.feature("compaction")

THRESHOLD = 5_000
SECONDS = 10.0


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    config = BrokerConfig(server=FREE_PORTS, policies=PolicyConfig(compaction_threshold=THRESHOLD))
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = official_client.connect(broker.service_url)
    yield client
    client.close()


def publish(client: pulsar.Client, topic: str, generation: int) -> dict[str, str]:
    """Publishes more than the threshold to five keys; returns their last values."""
    messages = [(str(number % 5), f"{generation}:{number}") for number in range(200)]
    publish_keyed(client, topic, [(key, value.encode()) for key, value in messages])
    return dict(messages)


def compaction(broker: EmbeddedBroker, topic: str) -> Compaction:
    return broker.broker.topics.loaded[topic].compaction


def is_compacted(broker: EmbeddedBroker, topic: str) -> bool:
    found = compaction(broker, topic)
    return found.state is CompactionState.SUCCESS and found.compacted is not None


def test_automatic_compaction_starts_and_keeps_the_last_values(
    broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    values = publish(client, topic, 1)
    wait_until(lambda: is_compacted(broker, topic), SECONDS)
    view = client.create_table_view(topic)
    assert {key: view.get(key).decode() for key in values} == values
    assert compaction(broker, topic).last_removed == 195
    view.close()


def test_automatic_compaction_does_not_start_again_too_early(
    broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, 1)
    wait_until(lambda: is_compacted(broker, topic), SECONDS)
    began = compaction(broker, topic).last_start
    publish(client, topic, 2)
    publish(client, f"{topic}-later", 1)  # a topic that is checked later is compacted, so the first one was checked too
    wait_until(lambda: is_compacted(broker, f"{topic}-later"), SECONDS)
    assert compaction(broker, topic).last_start == began


def test_below_the_threshold_nothing_is_compacted(broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic).send(b"little")
    publish(client, f"{topic}-later", 1)
    wait_until(lambda: is_compacted(broker, f"{topic}-later"), SECONDS)
    assert compaction(broker, topic).state is CompactionState.NOT_RUN


def test_the_number_of_concurrent_compactions_is_limited(
    broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    client.create_producer(topic).send(b"x", partition_key="k")
    loaded = broker.call(broker.broker.topics.get(parse_topic(topic)))
    places = loaded.compaction._at_a_time

    async def occupied() -> bool:
        """Whether the compaction waits while others use all slots."""
        async with places, places:
            loaded.compaction.start()
            other = broker.broker.spawn(loaded.ledger.read(loaded.ledger.first_position, 1, 1))
            await other
            return places.locked() and loaded.compaction.is_running and loaded.compaction.compacted is None

    assert broker.call(occupied())
    wait_until(lambda: is_compacted(broker, topic), SECONDS)
