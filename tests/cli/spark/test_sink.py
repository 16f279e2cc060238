"""Rows become messages: their fields, their schema, and no duplicates over retries."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pulsar
import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.config.server import ServerConfig
from broker_core.testing import EmbeddedBroker
from pulsarctl.spark import register
from pulsarctl.tables.access import Access
from pulsarctl.tables.writing.topic_writer import TopicWriter
from pulsarctl.tables.writing.write_options import WriteOptions
from tests.support.official_client import connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DEDUPLICATION = DeduplicationConfig(enabled=True)
TIME = datetime(2026, 1, 31, 12, 0, 0, 123_456, UTC)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(
        config=BrokerConfig(server=ServerConfig(broker_port=0, web_port=0), deduplication=DEDUPLICATION)
    ) as broker:
        yield broker


@pytest.fixture
def topic() -> str:
    return f"persistent://public/default/{uuid.uuid4()}"


def where(broker: EmbeddedBroker) -> dict[str, str]:
    return {"service_url": broker.service_url, "admin_url": broker.http_url}


def save(frame: "DataFrame", broker: EmbeddedBroker, topic: str, **options: str) -> None:
    register(frame.sparkSession)
    frame.write.format("pulsar").options(**where(broker), topic=topic, **options).mode("append").save()


def received(broker: EmbeddedBroker, topic: str) -> list[pulsar.Message]:
    with closing(connect(broker.service_url)) as client:
        reader = client.create_reader(topic, pulsar.MessageId.earliest)
        found = []
        while reader.has_message_available():
            found.append(reader.read_next(20_000))
        return found


def keep(broker: EmbeddedBroker, topic: str) -> None:
    with closing(connect(broker.service_url)) as client:
        client.subscribe(topic, "keeper").close()


def test_a_row_becomes_a_message_with_its_fields(spark: "SparkSession", broker: EmbeddedBroker, topic: str) -> None:
    keep(broker, topic)
    frame = spark.createDataFrame([("v", "k", "o", {"a": "1"}, TIME)], "value string, key string, ordering_key string, "
        "properties map<string,string>, event_time timestamp")  # fmt: skip
    save(frame, broker, topic)
    (message,) = received(broker, topic)
    assert (message.data(), message.partition_key(), message.ordering_key()) == (b"v", "k", "o")
    assert (message.properties(), message.event_timestamp()) == ({"a": "1"}, int(TIME.timestamp() * 1000))


@pytest.mark.parametrize("schema", ["json", "avro"])
def test_a_struct_is_written_and_read_as_the_same_struct(
    spark: "SparkSession", broker: EmbeddedBroker, topic: str, schema: str
) -> None:
    keep(broker, topic)
    frame = spark.range(3).select(
        F.struct("id", F.array(F.lit("a")).alias("tags"), F.lit(TIME).alias("at")).alias("value"),
        F.col("id").cast("string").alias("key"),
    )
    save(frame, broker, topic, schema=schema)
    read = spark.read.format("pulsar").options(**where(broker), topic=topic, columns="value,key").load()
    assert sorted(read.collect()) == sorted(frame.collect())


def test_keys_stay_in_one_partition(spark: "SparkSession", broker: EmbeddedBroker, topic: str) -> None:
    broker.create_partitioned_topic(topic, 3)
    keep(broker, topic)
    save(spark.range(90).selectExpr("cast(id as string) as value", "cast(id % 9 as string) as key"), broker, topic)
    read = spark.read.format("pulsar").options(**where(broker), topic=topic).load()
    assert read.count() == 90
    assert read.groupBy("key").agg(F.count_distinct("partition").alias("n")).agg(F.max("n")).first()[0] == 1  # type: ignore[index]  # a row


def test_overwriting_a_topic_is_refused(spark: "SparkSession", broker: EmbeddedBroker, topic: str) -> None:
    frame = spark.range(1).selectExpr("cast(id as string) as value")
    with pytest.raises(AnalysisException, match="cannot overwrite a topic"):
        frame.write.format("pulsar").options(**where(broker), topic=topic).mode("overwrite").save()


@pytest.mark.parametrize("columns", ["cast(id as string) as text", "id as value", "'v' as value, id as color"])
def test_a_table_that_is_no_messages_is_refused(
    spark: "SparkSession", broker: EmbeddedBroker, topic: str, columns: str
) -> None:
    with pytest.raises(AnalysisException, match="cannot write"):
        save(spark.range(1).selectExpr(*columns.split(", ")), broker, topic)


def rows(first: int, last: int) -> list[pa.RecordBatch]:
    values: Any = [str(number) for number in range(first, last)]
    return [pa.record_batch({"value": pa.array(values), "key": pa.array(values)})]


def interrupted(first: int, last: int) -> Iterator[pa.RecordBatch]:
    yield from rows(first, last)
    raise RuntimeError


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_retried_task_repeats_no_message(broker: EmbeddedBroker, topic: str, partitions: int) -> None:
    if partitions:
        broker.create_partitioned_topic(topic, partitions)
    keep(broker, topic)
    options = WriteOptions(topic, Access(broker.service_url, broker.http_url))
    with pytest.raises(RuntimeError):
        TopicWriter(options, "job-0").write(interrupted(0, 5000))
    assert received(broker, topic)
    TopicWriter(options, "job-0").write(rows(0, 8000))
    found = [int(message.data()) for message in received(broker, topic)]
    assert sorted(found) == list(range(8000))


def test_the_next_batch_of_a_stream_counts_on(broker: EmbeddedBroker, topic: str) -> None:
    keep(broker, topic)
    options = WriteOptions(topic, Access(broker.service_url, broker.http_url))
    for batch in (0, 0, 1, 1):
        TopicWriter(options, "query-0", batch << 32).write(rows(10 * batch, 10 * batch + 10))
    assert [message.data().decode() for message in received(broker, topic)] == [str(number) for number in range(20)]
