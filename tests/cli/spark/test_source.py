"""The data source on our broker: rows, columns and bounds as Spark sees them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pulsar
import pytest

pytest.importorskip("pyspark")

from broker_core.names import NamespaceName
from broker_core.testing import EmbeddedBroker
from pulsarctl.spark import register
from tests.support.offloaded_topic import in_directory, offloaded_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name}"


class Source:
    def __init__(self, spark: "SparkSession", broker: EmbeddedBroker) -> None:
        register(spark)
        self._spark = spark
        self._broker = broker

    def __call__(self, **options: str) -> "DataFrame":
        where = {"service_url": self._broker.service_url, "admin_url": self._broker.http_url}
        return self._spark.read.format("pulsar").options(**where, **options).load()


@pytest.fixture
def source(spark: "SparkSession", pulsar_broker: EmbeddedBroker) -> Source:
    return Source(spark, pulsar_broker)


def publish(client: pulsar.Client, topic: str, *values: str, batched: bool = False) -> list[pulsar.MessageId]:
    producer = client.create_producer(topic, batching_enabled=batched, batching_max_publish_delay_ms=10_000)
    ids: list[pulsar.MessageId] = []
    for value in values:
        producer.send_async(value.encode(), lambda _, message_id: ids.append(message_id))
    producer.flush()
    producer.close()
    return ids


def values(frame: "DataFrame") -> list[str]:
    return sorted(bytes(row.value).decode() for row in frame.select("value").collect())


def test_a_row_has_the_producers_values(source: Source, client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, producer_name="teller", batching_enabled=False)
    sent = producer.send(
        b"hello",
        partition_key="k",
        ordering_key="o",
        properties={"a": "1"},
        event_timestamp=1_700_000_000_123,
        sequence_id=41,
    )
    (row,) = source(topic=topic).collect()
    assert (row.topic, row.partition, row.ledger_id, row.entry_id) == (topic, -1, sent.ledger_id(), sent.entry_id())
    assert (row.batch_index, row.messages, row.batch_size, row.subscription) == (-1, 1, 1, None)
    assert (row.key, row.key_is_base64, bytes(row.ordering_key), row.properties) == ("k", False, b"o", {"a": "1"})
    assert row.event_time.timestamp() == datetime(2023, 11, 14, 22, 13, 20, 123000, UTC).timestamp()
    assert (row.producer, row.sequence_id, bytes(row.value), row.value_size) == ("teller", 41, b"hello", 5)


def test_batches_are_split(source: Source, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a", "b", "c", batched=True)
    rows = source(topic=topic).orderBy("batch_index").collect()
    assert [(row.batch_index, bytes(row.value), row.batch_size) for row in rows] == [
        (0, b"a", 3),
        (1, b"b", 3),
        (2, b"c", 3),
    ]


def test_a_row_can_be_an_entry(source: Source, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a", "b", "c", batched=True)
    (row,) = source(topic=topic, unit="entry", columns="messages,batch_index,entry_size").collect()
    assert (row.messages, row.batch_index) == (3, -1)
    assert row.entry_size > 3


def test_only_the_requested_columns_are_returned(source: Source, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    assert source(topic=topic, columns="value,entry_id").columns == ["value", "entry_id"]


def test_all_partitions_are_read(
    source: Source, pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    for index in range(3):
        publish(client, f"{topic}-partition-{index}", f"in {index}")
    rows = source(topic=topic).collect()
    assert {(row.partition, bytes(row.value)) for row in rows} == {(index, b"in %d" % index) for index in range(3)}


def test_each_partition_has_a_task(
    source: Source, pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    for index in range(3):
        publish(client, f"{topic}-partition-{index}", "x")
    assert source(topic=topic).rdd.getNumPartitions() == 3


def test_only_unacknowledged_messages_of_a_subscription_are_read(
    source: Source, client: pulsar.Client, topic: str
) -> None:
    consumer = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    publish(client, topic, "a", "b", "c", "d")
    received = [consumer.receive(10_000) for _ in range(4)]
    consumer.acknowledge(received[0])
    consumer.acknowledge(received[2])
    consumer.close()
    assert values(source(topic=topic, subscriptions="s")) == ["b", "d"]


def test_a_message_has_a_row_for_each_subscription_that_needs_it(
    source: Source, client: pulsar.Client, topic: str
) -> None:
    first, second = (client.subscribe(topic, name) for name in ("first", "second"))
    publish(client, topic, "a")
    first.acknowledge_cumulative(first.receive(10_000))
    first.close()
    publish(client, topic, "b")
    second.close()
    rows = source(topic=topic, subscriptions="*").collect()
    assert sorted((row.subscription, bytes(row.value)) for row in rows) == [
        ("first", b"b"),
        ("second", b"a"),
        ("second", b"b"),
    ]


def test_start_and_end_are_positions(source: Source, client: pulsar.Client, topic: str) -> None:
    ids = publish(client, topic, "a", "b", "c", "d")
    start, end = (f"{each.ledger_id()}:{each.entry_id()}" for each in ids[1:3])
    assert values(source(topic=topic, start=start, end=end)) == ["b", "c"]


def test_start_and_end_are_times(source: Source, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    (row,) = source(topic=topic).collect()
    published_ms = int(row.publish_time.timestamp() * 1000)
    assert values(source(topic=topic, start=f"@{published_ms}", end=f"@{published_ms}")) == ["a"]
    assert values(source(topic=topic, start=f"@{published_ms + 1}")) == []


def test_all_topics_of_a_namespace_are_read(
    source: Source, pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    broker = pulsar_broker.broker
    pulsar_broker.call(broker.tenancy.create_namespace(NamespaceName.parse("public/whole")))
    publish(client, "persistent://public/whole/one", "a")
    publish(client, "persistent://public/whole/two", "b")
    assert values(source(namespace="public/whole")) == ["a", "b"]


def test_an_empty_topic_has_no_rows(source: Source, client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic).close()
    assert source(topic=topic).count() == 0


def test_offloaded_ledgers_are_read_from_their_store(spark: "SparkSession", tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path)) as one:
        one.publish([b"%d" % number for number in range(30)])
        one.offload()
        one.drop_files()
        reads = one.broker.broker.tier.reader.requests
        found = Source(spark, one.broker)(topic=one.name, tier_store=f"file://{tmp_path}")
        assert values(found) == sorted(map(str, range(30)))
        assert one.broker.broker.tier.reader.requests == reads, "the broker read nothing"
