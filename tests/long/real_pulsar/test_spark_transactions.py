"""Spark writes exactly once to an Apache Pulsar with transactions, over repeated tasks and micro-batches."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pulsar
import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")

import pyarrow as pa

from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import CliError
from pulsarctl.tables.access import Access
from pulsarctl.tables.data_loss import end_of
from pulsarctl.tables.visible_end import visible_stats
from pulsarctl.tables.writing.commit_log import CommitLog
from pulsarctl.tables.writing.task_transactions import abort_all, commit_all
from pulsarctl.tables.writing.transaction_writer import TransactionWriter
from pulsarctl.tables.writing.write_options import WriteOptions
from tests.long.real_pulsar.conftest import running
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.official_client import connect

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

JOB_SECONDS = 600
TOPIC = "persistent://public/default/spark-writes"


@pytest.fixture(scope="module")
def transactional(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaPulsar]:
    folder = tmp_path_factory.mktemp("java-pulsar-transactions")
    yield from running(JavaPulsar(folder, {"transactionCoordinatorEnabled": "true"}))


def received(pulsar_broker: JavaPulsar, topic: str, count: int) -> list[int]:
    """That many numbers, and no more."""
    with closing(connect(pulsar_broker.service_url)) as client:
        reader = client.create_reader(topic, pulsar.MessageId.earliest)
        found = [int(reader.read_next(60_000).data()) for _ in range(count)]
        assert not reader.has_message_available()
        return sorted(found)


def test_a_task_that_spark_repeats_writes_its_rows_once(transactional: JavaPulsar) -> None:
    words = (transactional.service_url, transactional.http_url, f"{TOPIC}-job", "1000")
    subprocess.run([sys.executable, "-m", "tests.cli.spark.writing_job", *words], check=True, timeout=JOB_SECONDS)
    assert received(transactional, f"{TOPIC}-job", 1000) == list(range(1000))


def test_a_repeated_micro_batch_commits_what_is_missing(transactional: JavaPulsar) -> None:
    topic = f"{TOPIC}-stream"
    options = WriteOptions(topic, Access(transactional.service_url, transactional.http_url))
    log = CommitLog(options, "query")

    def written(first: int, last: int) -> TransactionId:
        values = pa.record_batch({"value": pa.array([str(number) for number in range(first, last)])})
        sent = TransactionWriter(options, lambda begun: log.begun(0, begun)).write([values])
        assert sent.transaction is not None
        return sent.transaction

    kept, lost = written(0, 10), written(10, 20)
    abort_all(options.access, [lost])
    with pytest.raises(CliError):
        log.commit(0, {0: kept, 1: lost}, 2)
    written(10, 20)  # the driver dies before its commit, and leaves this open
    for _ in range(2):
        log.commit(0, {0: written(0, 10), 1: written(10, 20)}, 2)
    assert received(transactional, topic, 20) == list(range(20))


def test_a_plan_ends_before_an_open_transaction_and_goes_on_after_it(transactional: JavaPulsar) -> None:
    topic = f"{TOPIC}-open"
    options = WriteOptions(topic, Access(transactional.service_url, transactional.http_url))
    values = pa.record_batch({"value": pa.array(["1", "2"])})
    with closing(connect(transactional.service_url)) as client, closing(options.access.admin()) as admin:
        producer = client.create_producer(topic)
        first = producer.send(b"0")
        sent = TransactionWriter(options).write([values])
        producer.send(b"3")
        assert end_of(visible_stats(admin, topic)) == (first.ledger_id(), first.entry_id())
        assert sent.transaction is not None
        commit_all(options.access, [sent.transaction])
        assert end_of(visible_stats(admin, topic)) > (first.ledger_id(), first.entry_id() + 2)
