"""The local engine on random histories, compared with a count by an official reader."""

import random
from collections.abc import Iterator

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.config.storage import StorageConfig
from broker_core.testing import EmbeddedBroker
from pulsarctl.backlog.counting import Moment
from pulsarctl.backlog.part_count import PartCount
from tests.cli.backlog.histories import (
    SUBSCRIPTIONS,
    Addresses,
    History,
    acknowledge,
    counts,
    publish,
    report,
    survey_of,
    take_inventory,
)
from tests.support.condition import wait_until
from tests.support.cutting_relay import CuttingRelay


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


def test_what_is_trimmed_between_plan_and_reading_is_no_error(broker: EmbeddedBroker, client: pulsar.Client) -> None:
    topic = "persistent://public/default/trimmed"
    client.subscribe(topic, "s", pulsar.ConsumerType.Shared).close()
    producer = client.create_producer(topic, batching_enabled=False)
    last = [producer.send(b"value") for _ in range(50)][-1]
    surveyed, access = survey_of(broker, topic)
    consumer = client.subscribe(topic, "s")
    consumer.acknowledge_cumulative(last)
    consumer.close()
    admin = access.admin()
    admin.topics.trim(topic)
    wait_until(lambda: len(admin.topics.internal_stats(topic)["ledgers"]) == 1, seconds=20)
    admin.close()
    counted = [PartCount(access, Moment(0))(part) for part in surveyed.parts(tasks_min=4)]
    assert sum(tallies["s"].messages for tallies in counted) < 50


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
    with CuttingRelay(broker, iter([chosen.randint(1_000, 60_000) for _ in range(4)])) as relay:
        through = Addresses(relay.url, broker.http_url)
        found = {each.subscription: each for each in report(through, history.topic)}
    assert {name: counts(each) for name, each in found.items()} == {
        name: history.counts(name) for name in SUBSCRIPTIONS
    }
