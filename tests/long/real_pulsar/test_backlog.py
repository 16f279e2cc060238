"""Which messages the data source reads as unacknowledged, on our broker and on Apache Pulsar; planned without Spark."""

import random

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.testing import EmbeddedBroker
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from tests.cli.backlog import histories
from tests.cli.backlog.histories import SUBSCRIPTIONS, History, acknowledge, counts, report, take_inventory
from tests.long.real_pulsar.java_pulsar import JavaPulsar

pytestmark = [pytest.mark.real_pulsar, pytest.mark.timeout(1800)]

Place = tuple[int, int]  # ledger, entry
PUBLISHED = 2000


@pytest.fixture(params=["ours", "apache"])
def broker(request: pytest.FixtureRequest) -> EmbeddedBroker | JavaPulsar:
    found: EmbeddedBroker | JavaPulsar = request.getfixturevalue(
        "pulsar_broker" if request.param == "ours" else "java_pulsar"
    )
    return found


def test_acknowledgment_gaps_are_reported_for_each_entry(broker: EmbeddedBroker | JavaPulsar) -> None:
    topic = "persistent://public/default/backlog-with-holes"
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    consumer = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    publish(client, topic)
    messages = [consumer.receive(20_000) for _ in range(PUBLISHED)]
    acknowledged = some_entries(messages)
    for message in messages:
        if place(message) in acknowledged:
            consumer.acknowledge(message)
    consumer.close()
    wanted: dict[Place, int] = {}
    for message in messages:
        if place(message) not in acknowledged:
            wanted[place(message)] = wanted.get(place(message), 0) + 1
    client.close()
    assert unacknowledged(broker, topic) == wanted


def test_the_report_counts_every_durable_subscription(broker: EmbeddedBroker | JavaPulsar) -> None:
    """Also one that never acknowledged anything, whose cursor Apache Pulsar shows without a ledger."""
    history, chosen = History("persistent://public/default/backlog-history"), random.Random(7)
    client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    for name in SUBSCRIPTIONS:
        client.subscribe(history.topic, name, pulsar.ConsumerType.Shared).close()
    histories.publish(client, history, 0, chosen)
    take_inventory(broker, client, history)
    acknowledge(client, history, chosen, whole_entries=True)
    client.close()
    found = {each.subscription: counts(each) for each in report(broker, history.topic)}
    assert found == {name: history.counts(name) for name in SUBSCRIPTIONS}


def publish(client: pulsar.Client, topic: str) -> None:
    """Half in batches, half without."""
    for batched in (True, False):
        producer = client.create_producer(topic, batching_enabled=batched, batching_max_messages=7)
        for number in range(PUBLISHED // 2):
            producer.send_async(b"%d" % number, None)
        producer.flush()
        producer.close()


def place(message: pulsar.Message) -> Place:
    return message.message_id().ledger_id(), message.message_id().entry_id()


def some_entries(messages: list[pulsar.Message]) -> set[Place]:
    chosen = random.Random(3)
    return {each for each in sorted({place(message) for message in messages}) if chosen.random() < 0.5}


def unacknowledged(broker: EmbeddedBroker | JavaPulsar, topic: str) -> dict[Place, int]:
    """The messages that the source reads, by position."""
    options = {
        "service_url": broker.service_url,
        "admin_url": broker.http_url,
        "topic": topic,
        "subscriptions": "s",
        "unit": "entry",
        "columns": "ledger_id,entry_id,messages",
    }
    table = TopicTable(TableOptions.parse(options))
    rows = [row for part in table.plan() for batch in table.read(part) for row in batch.to_pylist()]
    return {(row["ledger_id"], row["entry_id"]): row["messages"] for row in rows}
