"""The data to damage: a real load with the official client, after a kill and after a clean stop."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pulsar

from broker_core.config.broker import BrokerConfig
from broker_core.config.storage import StorageConfig
from broker_core.names import parse_topic
from broker_core.storage import filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.log.synced_mark import Mark, read_mark
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.long.damage.content import Content, read_content
from tests.support.condition import wait_until
from tests.support.official_client import connect

NAMESPACE = "public/default"
PREFIX = f"persistent://{NAMESPACE}/"
TOPICS = [PREFIX + name for name in ("plain", "batched", "keyed", "late")]
STORAGE = replace(StorageConfig(), max_entries_per_ledger=60, reserve_mb=0, checkpoint_seconds=3600.0)
CONFIG = BrokerConfig(server=FREE_PORTS, storage=STORAGE)
PATIENCE_SECONDS = 30.0
HOUR_MS = 3_600_000
MESSAGES = 150
KEYS = 20


@dataclass(frozen=True)
class Sample:
    """A data directory and its expected content."""

    name: str
    directory: Path
    content: Content


def make_samples(parent: Path) -> list[Sample]:
    """The same load, killed and stopped."""
    live = parent / "live"
    with EmbeddedBroker(live, config=CONFIG) as broker:
        client = connect(broker.service_url)
        publish(client, 0)
        compact(broker)
        broker.call(broker.broker.storage.checkpoint())
        publish(client, MESSAGES)
        client.close()
        content = broker.call(read_content(broker.broker, TOPICS, NAMESPACE))
        settle(broker)
        shutil.copytree(live, parent / "killed")
    live.rename(parent / "stopped")
    return [Sample(name, parent / name, content) for name in ("killed", "stopped")]


def compact(broker: EmbeddedBroker) -> None:
    compaction = broker.broker.topics.loaded[TOPICS[2]].compaction

    async def start() -> None:
        compaction.start()

    broker.call(start())
    wait_until(lambda: not compaction.is_running, PATIENCE_SECONDS)
    assert compaction.compacted is not None, compaction.last_error


def publish(client: pulsar.Client, first: int) -> None:
    """Publishes the same number of messages to each topic; one subscription acknowledges some, another one none."""
    for topic in TOPICS:
        batches = topic.endswith("batched")
        for name in ("some", "none"):
            client.subscribe(topic, name, pulsar.ConsumerType.Shared, initial_position=EARLIEST).close()
        producer = client.create_producer(topic, batching_enabled=batches, batching_max_messages=5)
        for number in range(first, first + MESSAGES):
            delay = {"deliver_at": HOUR_MS * 10**6 + number} if topic.endswith("late") else {}
            payload = f"{topic} {number} ".encode() * (1 + number % 40)
            producer.send_async(payload, _ignore, partition_key=f"k{number % KEYS}", **delay)
        producer.flush()
        producer.close()
        if not topic.endswith("late"):
            acknowledge_some(client, topic)


EARLIEST = pulsar.InitialPosition.Earliest


def _ignore(result: pulsar.Result, _: object) -> None:
    if result != pulsar.Result.Ok:
        raise AssertionError(f"a message was refused: {result}")


def acknowledge_some(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "some", pulsar.ConsumerType.Shared)
    for number in range(MESSAGES // 2):
        message = consumer.receive(round(PATIENCE_SECONDS * 1000))
        if number % 5:
            consumer.acknowledge(message)
    consumer.close()


def settle(broker: EmbeddedBroker) -> None:
    """Waits until everything is synced and marked."""
    storage = broker.broker.storage

    async def work() -> None:
        for name in TOPICS:
            topic = await broker.broker.topics.get(parse_topic(name))
            for cursor in topic.ledger.cursors.values():
                await cursor.flush()

    broker.call(work())
    mark = filenames.synced_file(broker.directory)
    wait_until(lambda: read_mark(RealDisk(), mark) == Mark(*storage.journal.synced_end), PATIENCE_SECONDS)
