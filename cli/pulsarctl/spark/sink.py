"""Writing rows to a topic: `df.write.format("pulsar").mode("append").save()` and `writeStream`.

Where the broker has transactions, each attempt of a task has one of its own, and the driver commits those that Spark
chooses. A stream keeps what it has committed in a topic (`commit_log`).

Elsewhere, the driver draws the name of a job once, and a stream has the ID of its query. With the place of a row in its
task they name producers and number messages, so that a retried task or batch repeats what it did (`topic_writer`).
"""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import CliError
from pulsarctl.tables.writing.write_options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.tables.writing.commit_log import CommitLog

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # before PySpark 4.1; source.py refuses streams below 4.2

    class DataSourceStreamArrowWriter:  # type: ignore[no-redef]  # never constructed
        pass


@dataclass
class Written(WriterCommitMessage):
    """What a task reports to the driver. `transaction` is None without rows, and without transactions."""

    rows: int
    task: int
    query: str = ""
    transaction: TransactionId | None = None


Messages = list[WriterCommitMessage | None]


class BatchSink(DataSourceArrowWriter):
    """Made on the driver once, and pickled to every attempt of every task."""

    def __init__(self, options: WriteOptions) -> None:
        from pulsarctl.tables.writing.begun_log import BegunLog

        self.options = options
        self.run = secrets.token_hex(8)
        self.begun = BegunLog(options, self.run)

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        """Runs in a task. Raises `CliError`, which fails the attempt."""
        task = _task().partitionId()
        if not _has_transactions(self.options):
            return Written(_write(self.options, f"{self.run}-{task}", 0, iterator), task)
        from pulsarctl.tables.writing.transaction_writer import TransactionWriter

        sent = TransactionWriter(self.options, self.begun.add).write(iterator)
        return Written(sent.rows, task, transaction=sent.transaction)

    def commit(self, messages: Messages) -> None:
        """Runs on the driver. Spark passes on one attempt of each task."""
        if written := _in_transactions(messages):
            from pulsarctl.tables.writing.task_transactions import commit_all

            commit_all(self.options.access, written.values())
            self.begun.abort_others(set(written.values()))

    def abort(self, messages: Messages) -> None:
        """Spark does not say what the failed attempts did."""
        with contextlib.suppress(CliError):  # the attempts have said it
            if _has_transactions(self.options):
                self.begun.abort_others(set())


class StreamSink(DataSourceStreamArrowWriter):
    """Made for each micro-batch. A batch that is repeated after a failure has the same ID."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        context = _task()
        task = context.partitionId()
        query = context.getLocalProperty("sql.streaming.queryId") or ""
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        if not _has_transactions(self.options):
            return Written(_write(self.options, f"{query}-{task}", batch << 32, iterator), task)
        from pulsarctl.tables.writing.commit_log import CommitLog
        from pulsarctl.tables.writing.transaction_writer import TransactionWriter

        log = CommitLog(self.options, query)
        sent = TransactionWriter(self.options, partial(log.begun, batch)).write(iterator)
        return Written(sent.rows, task, query, sent.transaction)

    def commit(self, messages: Messages, batchId: int) -> None:  # Spark's name
        """Without transactions, nothing is left to do: a message is visible when its task ends."""
        if written := _in_transactions(messages):
            _commit_log(self.options, messages).commit(batchId, written, len(messages))

    def abort(self, messages: Messages, batchId: int) -> None:  # Spark's name
        """Without transactions, what is stored stays, and the repeated batch skips it."""
        if _in_transactions(messages):
            _commit_log(self.options, messages).abort(batchId)


def _has_transactions(options: WriteOptions) -> bool:
    from pulsarctl.tables.writing.transaction_writer import has_transactions

    return has_transactions(options)


def _in_transactions(messages: Messages) -> dict[int, TransactionId]:
    """The transactions by task."""
    written = [message for message in messages if isinstance(message, Written)]
    return {message.task: message.transaction for message in written if message.transaction is not None}


def _commit_log(options: WriteOptions, messages: Messages) -> "CommitLog":
    from pulsarctl.tables.writing.commit_log import CommitLog

    query = next(message.query for message in messages if isinstance(message, Written) and message.query)
    return CommitLog(options, query)


def _write(options: WriteOptions, name: str, first: int, batches: Iterator["pa.RecordBatch"]) -> int:
    from pulsarctl.tables.writing.topic_writer import TopicWriter

    return TopicWriter(options, f"{options.producer_name}-{name}", first).write(batches)


def _task() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise CliError("cannot write outside of a Spark task")
    return context
