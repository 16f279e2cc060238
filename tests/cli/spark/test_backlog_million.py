"""A large backlog with gaps: the Spark job compared with a brute-force count by the official client.

`PULSARCTL_BACKLOG_MESSAGES` sets its size (default 1,000,000).
"""

import os
import pickle
import random
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pulsar
import pytest

pytest.importorskip("pyspark")

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.config.storage import StorageConfig
from broker_core.testing import EmbeddedBroker
from pulsarctl.backlog.counting import Moment
from pulsarctl.backlog.part_count import PartCount
from pulsarctl.backlog.report import SubscriptionBacklog, subscriptions
from pulsarctl.backlog.surveyor import survey
from pulsarctl.backlog.tally import AGE_LIMITS_SECONDS, AGE_NAMES
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.spark.jobs.parts import run_spark
from pulsarctl.tables.access import Access
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

MESSAGES = int(os.environ.get("PULSARCTL_BACKLOG_MESSAGES", "1000000"))
PARTITIONS = 4
SEGMENTS = 10  # of each partition; each has a different batch size
TOPIC = "persistent://public/default/large"
RECEIVE_MS = 20_000

Place = tuple[int, int, int]  # partition, ledger, entry


@dataclass(slots=True)
class Inventory:
    """By position: the number of messages that the official client counted in the entry, its size, its publish time.

    `acknowledged` is by subscription.
    """

    messages: Counter[Place] = field(default_factory=Counter)
    size: dict[Place, int] = field(default_factory=dict)
    published: dict[Place, int] = field(default_factory=dict)
    acknowledged: dict[str, set[Place]] = field(default_factory=dict)

    def backlog(self, subscription: str, now_ms: int) -> "Counted":
        """Counts by iterating over everything."""
        left = self.messages.keys() - self.acknowledged[subscription]
        ages: Counter[str] = Counter(dict.fromkeys(AGE_NAMES, 0))
        for place in left:
            age_seconds = (now_ms - self.published[place]) / 1000
            ages[AGE_NAMES[bisect_right(AGE_LIMITS_SECONDS, age_seconds)]] += self.messages[place]
        return Counted(
            messages=sum(self.messages[place] for place in left),
            entries=len(left),
            bytes=sum(self.size[place] for place in left),
            oldest_ms=min((self.published[place] for place in left), default=None),
            ages=list(ages.values()),
        )


@dataclass(frozen=True, slots=True)
class Counted:
    messages: int
    entries: int
    bytes: int
    oldest_ms: int | None
    ages: list[int]

    @classmethod
    def of(cls, backlog: SubscriptionBacklog) -> "Counted":
        tally = backlog.tally
        return cls(tally.messages, tally.entries, tally.bytes, tally.oldest_ms, tally.ages)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """Ledgers roll often, so that a partition has several."""
    storage = StorageConfig(max_entries_per_ledger=10_000, min_rollover_minutes=0)
    config = BrokerConfig(server=ServerConfig(broker_port=0, web_port=0), storage=storage)
    with EmbeddedBroker(config=config) as broker:
        broker.create_partitioned_topic(TOPIC, PARTITIONS)
        yield broker


@pytest.fixture(scope="module")
def client(broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    client = pulsar.Client(
        broker.service_url,
        operation_timeout_seconds=30,
        message_listener_threads=1,
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )
    yield client
    client.close()


@pytest.fixture(scope="module")
def stored(broker: EmbeddedBroker, client: pulsar.Client) -> Inventory:
    """Publishes and counts messages, and acknowledges some of them on two of three subscriptions."""
    chosen = random.Random(1)
    for name in ("nothing", "all", "holes"):
        client.subscribe(TOPIC, name, pulsar.ConsumerType.Shared).close()
    publish(client, chosen)
    found = take_inventory(broker, client)
    found.acknowledged = {
        "nothing": set(),
        "all": set(found.messages),
        "holes": {place for place in sorted(found.messages) if chosen.random() < 0.4},
    }
    for name, places in found.acknowledged.items():
        acknowledge(client, name, places)
    return found


def publish(client: pulsar.Client, chosen: random.Random) -> None:
    """Publishes batches of random sizes and single messages to each partition."""
    count = MESSAGES // (PARTITIONS * SEGMENTS)
    for partition in range(PARTITIONS):
        for segment in range(SEGMENTS):
            producer = client.create_producer(
                f"{TOPIC}-partition-{partition}",
                batching_enabled=segment > 0,
                batching_max_messages=chosen.randint(2, 200),
                batching_max_publish_delay_ms=5,
                block_if_queue_full=True,
                max_pending_messages=10_000,
                compression_type=chosen.choice((pulsar.CompressionType.NONE, pulsar.CompressionType.LZ4)),
            )
            for number in range(count):
                producer.send_async(b"message %d" % number, None)
            producer.flush()
            producer.close()


def take_inventory(broker: EmbeddedBroker, client: pulsar.Client) -> Inventory:
    found = Inventory()
    for partition in range(PARTITIONS):
        official = client.create_reader(
            f"{TOPIC}-partition-{partition}", pulsar.MessageId.earliest, receiver_queue_size=10_000
        )
        for _ in range(MESSAGES // PARTITIONS):
            message_id = official.read_next(RECEIVE_MS).message_id()
            found.messages[partition, message_id.ledger_id(), message_id.entry_id()] += 1
        official.close()
    with EntryReader(broker.service_url, TOPIC) as reader:
        for entry in reader.to_end():
            place = (entry.partition, entry.ledger_id, entry.entry_id)
            found.size[place], found.published[place] = entry.stored_bytes, entry.metadata.publish_time
    return found


def acknowledge(client: pulsar.Client, subscription: str, places: set[Place]) -> None:
    """Acknowledges single entries without receiving them."""
    for partition in range(PARTITIONS):
        consumer = client.subscribe(
            f"{TOPIC}-partition-{partition}", subscription, pulsar.ConsumerType.Shared, receiver_queue_size=1
        )
        for place in places:
            if place[0] == partition:
                consumer.acknowledge(pulsar.MessageId(*place, -1))
        consumer.close()


@pytest.mark.timeout(300)
def test_both_engines_match_a_brute_force_count(
    broker: EmbeddedBroker, stored: Inventory, spark: "SparkSession"
) -> None:
    access = Access(service_url=broker.service_url, admin_url=broker.http_url)
    admin = access.admin()
    surveyed = survey(admin, admin.topics.parts(TOPIC), ())
    admin.close()
    parts, moment = surveyed.parts(tasks_min=8), Moment(int(time.time() * 1000))
    work = PartCount(access, moment)
    on_spark = run_spark(spark.sparkContext, "backlog", work, parts, lambda done: None)
    found = subscriptions(surveyed, parts, on_spark)
    assert stored.messages.total() == MESSAGES
    assert len(parts) >= 8
    assert {each.subscription: Counted.of(each) for each in found} == {
        name: stored.backlog(name, moment.now_ms) for name in stored.acknowledged
    }
    assert [pickle.dumps(work(part)) for part in parts] == [pickle.dumps(each) for each in on_spark]


@pytest.mark.timeout(300)
def test_the_plan_is_small(broker: EmbeddedBroker, stored: Inventory) -> None:
    options = {"admin_url": broker.http_url, "topic": TOPIC, "subscriptions": "nothing"}
    plan = TopicTable(TableOptions.parse(options)).plan()
    assert sum(part.entries for part in plan) == len(stored.messages)
    assert len(pickle.dumps(plan)) < 1000 * len(plan)


@pytest.mark.timeout(300)
def test_a_task_carries_only_the_ack_ranges_of_its_entries(broker: EmbeddedBroker, stored: Inventory) -> None:
    options = {"admin_url": broker.http_url, "topic": TOPIC, "subscriptions": "holes"}
    plan = TopicTable(TableOptions.parse(options)).plan()
    assert len(plan) >= 8
    for part in plan:
        (wanting,) = part.subscriptions or ()
        assert len(wanting.acked) <= part.entries // 2 + 2
