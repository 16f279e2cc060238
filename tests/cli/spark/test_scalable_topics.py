"""The data source over segments: a table, and a stream that continues after a split."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")

from broker_core.testing import EmbeddedBroker
from pulsarctl.spark import register
from tests.support.scalable_topic import ScalableTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

QUERY_SECONDS = 120


@pytest.fixture
def orders(spark: "SparkSession", pulsar_broker: EmbeddedBroker, request: pytest.FixtureRequest) -> ScalableTopic:
    register(spark)
    topic = ScalableTopic.create(pulsar_broker, request.node.name)
    topic.subscribe("keeps")
    topic.publish(0, ["a", "b"])
    return topic


def options(topic: ScalableTopic) -> dict[str, str]:
    where = {"service_url": topic.broker.service_url, "admin_url": topic.broker.http_url}
    return where | {"topic": topic.name, "start": "earliest"}


def stream_all(spark: "SparkSession", topic: ScalableTopic, folder: Path) -> list[str]:
    """Reads what is there now, and returns all that the stream has written so far."""
    read = spark.readStream.format("pulsar").options(**options(topic)).load()
    writer = read.selectExpr("key", "partition").writeStream.format("parquet").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start(str(folder / "out"))
    assert query.awaitTermination(QUERY_SECONDS)
    return sorted(f"{row.partition}:{row.key}" for row in spark.read.parquet(str(folder / "out")).collect())


def test_a_table_has_the_rows_of_all_segments(spark: "SparkSession", orders: ScalableTopic) -> None:
    orders.split(0)
    orders.publish(2, ["b"])
    rows = spark.read.format("pulsar").options(**options(orders)).load().select("topic", "partition", "key").collect()
    segments = orders.segments()
    expected = [(segments[0], 0, "a"), (segments[0], 0, "b"), (segments[2], 2, "b")]
    assert sorted((row.topic, row.partition, row.key) for row in rows) == sorted(expected)


def test_a_stream_has_each_message_once_over_a_split_and_a_deleted_segment(
    spark: "SparkSession", orders: ScalableTopic, tmp_path: Path
) -> None:
    assert stream_all(spark, orders, tmp_path) == ["0:a", "0:b"]
    orders.publish(0, ["c"])
    orders.split(0)
    orders.publish(1, ["a"])
    assert stream_all(spark, orders, tmp_path) == ["0:a", "0:b", "0:c", "1:a"]
    orders.skip_all("keeps")
    orders.collect()
    orders.publish(2, ["b"])
    assert stream_all(spark, orders, tmp_path) == ["0:a", "0:b", "0:c", "1:a", "2:b"]
