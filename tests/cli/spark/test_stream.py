"""Topics as a stream: every message once, whatever stops the query."""

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulsar
import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")

from pyspark.errors import StreamingQueryException

from broker_core.testing import EmbeddedBroker
from pulsarctl.spark import register
from pulsarctl.tables.access import Access
from tests.support.condition import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

QUERY_SECONDS = 120


@pytest.fixture
def topic() -> str:
    return f"persistent://public/default/{uuid.uuid4()}"


class Stream:
    """A query that writes values into Parquet files."""

    def __init__(self, spark: "SparkSession", broker: EmbeddedBroker, folder: Path, topic: str) -> None:
        register(spark)
        self._spark, self._broker, self._folder, self._topic = spark, broker, folder, topic

    def start(self, **options: str) -> "StreamingQuery":
        where = {"service_url": self._broker.service_url, "admin_url": self._broker.http_url, "topic": self._topic}
        read = self._spark.readStream.format("pulsar").options(**where | {"start": "earliest"} | options).load()
        writer = read.selectExpr("cast(value as string) as value").writeStream.format("parquet")
        return writer.option("checkpointLocation", str(self._folder / "checkpoint")).start(str(self._folder / "out"))

    def run(self, **options: str) -> "StreamingQuery":
        """Everything that is there now."""
        where = {"service_url": self._broker.service_url, "admin_url": self._broker.http_url, "topic": self._topic}
        read = self._spark.readStream.format("pulsar").options(**where | {"start": "earliest"} | options).load()
        writer = read.selectExpr("cast(value as string) as value").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoint")).trigger(availableNow=True)
        query = writer.start(str(self._folder / "out"))
        assert query.awaitTermination(QUERY_SECONDS)
        return query

    def values(self) -> list[int]:
        return sorted(int(row.value) for row in self._spark.read.parquet(str(self._folder / "out")).collect())


@pytest.fixture
def stream(spark: "SparkSession", pulsar_broker: EmbeddedBroker, tmp_path: Path, topic: str) -> Stream:
    return Stream(spark, pulsar_broker, tmp_path, topic)


def publish(client: pulsar.Client, topic: str, first: int, last: int, *, batched: bool = False) -> None:
    producer = client.create_producer(topic, batching_enabled=batched, batching_max_messages=10)
    for number in range(first, last):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    producer.close()


def subscribe(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "keeper").close()


def rows_of_batches(query: "StreamingQuery") -> list[int]:
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def test_each_run_reads_what_is_new(stream: Stream, client: pulsar.Client, topic: str) -> None:
    subscribe(client, topic)
    publish(client, topic, 0, 50, batched=True)
    stream.run()
    assert stream.values() == list(range(50))
    publish(client, topic, 50, 70)
    stream.run()
    assert stream.values() == list(range(70))


def test_a_micro_batch_has_no_more_messages_than_allowed(stream: Stream, client: pulsar.Client, topic: str) -> None:
    subscribe(client, topic)
    publish(client, topic, 0, 100)
    query = stream.run(max_messages_per_trigger="40")
    assert rows_of_batches(query) == [40, 40, 20]
    assert stream.values() == list(range(100))


def test_new_partitions_are_read_from_their_start(
    stream: Stream, pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 1)
    subscribe(client, topic)
    publish(client, f"{topic}-partition-0", 0, 10)
    stream.run()
    more_partitions(pulsar_broker, topic, 2)
    subscribe(client, topic)
    publish(client, f"{topic}-partition-1", 10, 20)
    stream.run()
    assert stream.values() == list(range(20))


def more_partitions(broker: EmbeddedBroker, topic: str, count: int) -> None:
    admin = Access(broker.service_url, broker.http_url).admin()
    admin.topics.update_partitioned(topic, count)
    admin.close()


def test_a_batch_that_was_not_finished_is_repeated_with_the_same_messages(
    stream: Stream, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    subscribe(client, topic)
    publish(client, topic, 0, 30)
    stream.run()
    (tmp_path / "checkpoint" / "commits" / "0").unlink()
    (tmp_path / "checkpoint" / "commits" / ".0.crc").unlink()
    shutil.rmtree(tmp_path / "out")
    publish(client, topic, 30, 60)
    query = stream.run()
    assert rows_of_batches(query) == [30, 30]
    assert stream.values() == list(range(60))


def test_the_subscription_has_no_backlog_after_the_last_batch(
    stream: Stream, pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    subscribe(client, topic)
    publish(client, topic, 0, 25)
    stream.run(subscription="query", max_messages_per_trigger="10")
    assert backlog(pulsar_broker, topic, "query") == 0
    assert backlog(pulsar_broker, topic, "keeper") == 25


def backlog(broker: EmbeddedBroker, topic: str, subscription: str) -> int:
    admin = Access(broker.service_url, broker.http_url).admin()
    try:
        return int(admin.topics.stats(topic, getPreciseBacklog=True)["subscriptions"][subscription]["msgBacklog"])
    finally:
        admin.close()


def test_lost_messages_end_the_query(
    stream: Stream, pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    subscribe(client, topic)
    publish(client, topic, 0, 10)
    stream.run()
    publish(client, topic, 10, 20)
    lose_everything(pulsar_broker, client, topic)
    publish(client, topic, 20, 30)
    with pytest.raises(StreamingQueryException, match="cannot read all between two offsets"):
        stream.run()
    stream.run(fail_on_data_loss="false")
    assert stream.values() == [*range(10), *range(20, 30)]


def lose_everything(broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    admin = Access(broker.service_url, broker.http_url).admin()
    admin.topics.truncate(topic)
    admin.close()


def test_a_running_query_shows_its_lag(stream: Stream, client: pulsar.Client, topic: str) -> None:
    subscribe(client, topic)
    publish(client, topic, 0, 10)
    query = stream.start()
    try:
        wait_until(lambda: reported(query, lambda progress: progress.numInputRows == 10), QUERY_SECONDS)
        (source,) = query.lastProgress.sources  # type: ignore[union-attr]  # there is progress
        assert source.latestOffset is not None and topic in source.latestOffset
        publish(client, topic, 10, 15)
        wait_until(lambda: sum(rows_of_batches(query)) == 15, QUERY_SECONDS)
    finally:
        query.stop()
    assert stream.values() == list(range(15))


def reported(query: "StreamingQuery", condition: Callable[[Any], bool]) -> bool:
    return any(map(condition, query.recentProgress))
