"""The local engine on random histories, compared with a count by an official reader."""

import random
from collections.abc import Iterator

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.config.broker import BrokerConfig, ServerConfig, StorageConfig
from broker_core.testing import EmbeddedBroker
from tests.backlog.histories import SUBSCRIPTIONS, History, acknowledge, counts, publish, report, take_inventory


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """Ledgers roll often, so that a topic has several."""
    storage = StorageConfig(max_entries_per_ledger=20, min_rollover_minutes=0)
    config = BrokerConfig(server=ServerConfig(broker_port=0, web_port=0), storage=storage)
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture(scope="module")
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    yield client
    client.close()


@pytest.mark.parametrize("seed", range(6))
def test_the_report_equals_a_count_by_an_official_reader(
    broker: EmbeddedBroker, client: pulsar.Client, seed: int
) -> None:
    chosen = random.Random(seed)
    history = History(f"persistent://public/default/history-{seed}")
    partitions = chosen.choice((0, 3))
    if partitions:
        broker.create_partitioned_topic(history.topic, partitions)
    for name in SUBSCRIPTIONS:
        client.subscribe(history.topic, name, pulsar.ConsumerType.Shared).close()
    publish(client, history, partitions, chosen)
    take_inventory(broker, client, history)
    acknowledge(client, history, chosen)
    found = {each.subscription: each for each in report(broker, history.topic)}
    assert {name: counts(each) for name, each in found.items()} == {
        name: history.counts(name) for name in SUBSCRIPTIONS
    }
