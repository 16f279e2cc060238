"""Rows are written once by transactions, whatever fails: an attempt, a task, or the driver."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulsar
import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")

import pyarrow as pa
from pyspark.errors import PySparkException

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import Conflict
from pulsarctl.raw.transaction import Transaction
from pulsarctl.spark import register
from pulsarctl.tables.access import Access
from pulsarctl.tables.writing.begun_log import BegunLog
from pulsarctl.tables.writing.commit_log import CommitLog
from pulsarctl.tables.writing.task_transactions import abort_all, commit_all
from pulsarctl.tables.writing.transaction_writer import TransactionWriter
from pulsarctl.tables.writing.write_options import WriteOptions
from tests.support.official_client import connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

QUERY_SECONDS = 240
JOB_SECONDS = 480
QUERY = "query"


@pytest.fixture
def topic() -> str:
    return f"persistent://public/default/{uuid.uuid4()}"


@pytest.fixture
def options(pulsar_broker: EmbeddedBroker, topic: str) -> WriteOptions:
    return WriteOptions(topic, Access(pulsar_broker.service_url, pulsar_broker.http_url))


def where(broker: EmbeddedBroker) -> dict[str, str]:
    return {"service_url": broker.service_url, "admin_url": broker.http_url}


def received(broker: EmbeddedBroker, topic: str) -> list[int]:
    """The numbers that a reader gets, in order of their size."""
    with closing(connect(broker.service_url)) as client:
        reader = client.create_reader(topic, pulsar.MessageId.earliest)
        found = []
        while reader.has_message_available():
            found.append(int(reader.read_next(20_000).data()))
        return sorted(found)


def open_now(broker: EmbeddedBroker, topic: str) -> int:
    """How many transactions the topic waits for."""
    with closing(Access(broker.service_url, broker.http_url).admin()) as admin:
        return int(admin.topics.stats(topic)["ongoingTxnCount"])


def rows(first: int, last: int) -> list[pa.RecordBatch]:
    values: Any = [str(number) for number in range(first, last)]
    return [pa.record_batch({"value": pa.array(values)})]


def interrupted(first: int, last: int) -> Iterator[pa.RecordBatch]:
    yield from rows(first, last)
    raise RuntimeError


def written(options: WriteOptions, first: int, last: int, batch: int = 0) -> TransactionId:
    """A task of the stream, as far as its end."""
    log = CommitLog(options, QUERY)
    sent = TransactionWriter(options, lambda begun: log.begun(batch, begun)).write(rows(first, last))
    assert sent.transaction is not None
    return sent.transaction


def test_an_attempt_that_fails_publishes_nothing(
    pulsar_broker: EmbeddedBroker, options: WriteOptions, topic: str
) -> None:
    with pytest.raises(RuntimeError):
        TransactionWriter(options).write(interrupted(0, 3000))
    assert open_now(pulsar_broker, topic) == 0
    sent = TransactionWriter(options).write(rows(0, 3000))
    assert received(pulsar_broker, topic) == []
    assert sent.transaction is not None
    commit_all(options.access, [sent.transaction])
    assert received(pulsar_broker, topic) == list(range(3000))


def test_the_driver_aborts_what_an_attempt_that_was_killed_left_open(
    pulsar_broker: EmbeddedBroker, options: WriteOptions, topic: str
) -> None:
    log = BegunLog(options, "job")
    killed, kept = (TransactionWriter(options, log.add).write(rows(0, 1)).transaction for _ in range(2))
    other = TransactionWriter(options, BegunLog(options, "other job").add).write(rows(1, 2)).transaction
    assert killed is not None and kept is not None and other is not None
    log.abort_others({kept})
    commit_all(options.access, [kept, other])
    assert (received(pulsar_broker, topic), open_now(pulsar_broker, topic)) == ([0, 1], 0)


def test_a_job_without_rows_begins_no_transaction(options: WriteOptions) -> None:
    assert TransactionWriter(options).write(rows(0, 0)) == (0, None)


def test_a_task_whose_time_is_over_lets_no_task_commit(
    pulsar_broker: EmbeddedBroker, options: WriteOptions, topic: str
) -> None:
    first, second = (written(options, number, number + 1) for number in range(2))
    abort_all(options.access, [first])
    with pytest.raises(Conflict, match="the broker has aborted transaction"):
        commit_all(options.access, [second, first])
    abort_all(options.access, [second])
    assert received(pulsar_broker, topic) == []


def test_a_task_that_spark_repeats_writes_its_rows_once(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    words = (pulsar_broker.service_url, pulsar_broker.http_url, topic, "1000")
    subprocess.run([sys.executable, "-m", "tests.cli.spark.writing_job", *words], check=True, timeout=JOB_SECONDS)
    assert received(pulsar_broker, topic) == list(range(1000))
    assert open_now(pulsar_broker, topic) == 0


def save(frame: "DataFrame", broker: EmbeddedBroker, topic: str, **options: str) -> None:
    register(frame.sparkSession)
    frame.write.format("pulsar").options(**where(broker), topic=topic, **options).mode("append").save()


def test_a_job_with_a_failing_task_publishes_nothing(
    spark: "SparkSession", pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    ids = spark.range(0, 40_000, 1, 2).where("id < 100 or id >= 20000")  # the other task ends long before the failure
    frame = ids.selectExpr("if(id = 39999, raise_error('failed'), cast(id as string)) as value")
    with pytest.raises(PySparkException, match="failed"):
        save(frame, pulsar_broker, topic)
    save(spark.range(1).selectExpr("cast(id as string) as value"), pulsar_broker, topic)
    assert (received(pulsar_broker, topic), open_now(pulsar_broker, topic)) == ([0], 0)


def test_a_broker_without_transactions_is_written_to_without_them(spark: "SparkSession", topic: str) -> None:
    config = BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker:
        frame = spark.range(3).selectExpr("cast(id as string) as value")
        with pytest.raises(PySparkException, match="transactions are disabled at the broker"):
            save(frame, broker, topic, transaction="true")
        save(frame, broker, topic)
        assert received(broker, topic) == [0, 1, 2]


def run(spark: "SparkSession", broker: EmbeddedBroker, topic: str, folder: Path) -> None:
    """A query over the files of a folder, until it has read all of them."""
    register(spark)
    source = spark.readStream.schema("value string").text(str(folder / "in"))
    writer = source.writeStream.format("pulsar").options(**where(broker), topic=topic, transaction="true")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(QUERY_SECONDS)


def test_a_stream_that_is_restarted_writes_its_last_batch_once(
    spark: "SparkSession", pulsar_broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for batch in range(2):
        (tmp_path / "in" / f"{batch}.txt").write_text("".join(f"{batch * 100 + line}\n" for line in range(100)))
        run(spark, pulsar_broker, topic, tmp_path)
    (tmp_path / "checkpoint" / "commits" / "1").unlink()  # as if the driver died after the commit of the sink
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    (tmp_path / "in" / "2.txt").write_text("200\n")
    run(spark, pulsar_broker, topic, tmp_path)
    assert received(pulsar_broker, topic) == list(range(201))
    assert open_now(pulsar_broker, topic) == 0


def test_a_batch_of_which_a_part_is_committed_is_completed(
    pulsar_broker: EmbeddedBroker, options: WriteOptions, topic: str
) -> None:
    log = CommitLog(options, QUERY)
    kept, lost = written(options, 0, 10), written(options, 10, 20)
    abort_all(options.access, [lost])
    with pytest.raises(Conflict, match="the broker has aborted"):
        log.commit(0, {0: kept, 1: lost}, 2)
    assert received(pulsar_broker, topic) == list(range(10))
    for _ in range(2):
        log.commit(0, {0: written(options, 0, 10), 1: written(options, 10, 20)}, 2)
        assert (received(pulsar_broker, topic), open_now(pulsar_broker, topic)) == (list(range(20)), 0)


def test_a_batch_of_which_a_part_is_committed_keeps_its_number_of_tasks(options: WriteOptions) -> None:
    log = CommitLog(options, QUERY)
    kept, lost = written(options, 0, 10), written(options, 10, 20)
    abort_all(options.access, [lost])
    with pytest.raises(Conflict, match="the broker has aborted"):
        log.commit(0, {0: kept, 1: lost}, 2)
    again = written(options, 0, 20)
    with pytest.raises(Conflict, match="an earlier run has committed 1 of 2 tasks, and now it has 1"):
        log.commit(0, {0: again}, 1)
    abort_all(options.access, [again])


def test_what_a_driver_that_died_left_open_is_aborted(
    pulsar_broker: EmbeddedBroker, options: WriteOptions, topic: str
) -> None:
    log = CommitLog(options, QUERY)
    log.commit(0, {0: written(options, 0, 10)}, 1)
    left = written(options, 10, 20, batch=1)
    with closing(options.access.lookup()) as lookup:  # the record that the task is done, without the commit
        transaction = Transaction(lookup, begun=left, timeout_seconds=20)
        log._write(lookup, transaction, {"batch": 1, "done": 0, "tasks": 1, "count": 1})
    log.commit(1, {0: written(options, 10, 20, batch=1)}, 1)
    assert (received(pulsar_broker, topic), open_now(pulsar_broker, topic)) == (list(range(20)), 0)


def test_the_log_keeps_the_records_of_the_last_batch_only(options: WriteOptions, topic: str) -> None:
    log = CommitLog(options, QUERY)
    for batch in range(3):
        log.commit(batch, {0: written(options, batch, batch + 1, batch)}, 1)
    with closing(options.access.admin()) as admin:
        backlog = admin.topics.stats(f"{topic}-spark-{QUERY}")["subscriptions"]["spark"]["msgBacklog"]
    assert backlog == 3  # the begin and the end of its task, and the marker of the commit
