"""Writing rows to a topic: `df.write.format("pulsar").mode("append").save()` and `writeStream`.

The driver draws the name of a job once, and a stream has the ID of its query. With the place of a row in its task
they name producers and number messages, so that a retried task or batch repeats what it did (`tables.writing`).
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pulsarctl.errors import CliError
from pulsarctl.tables.writing.write_options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # before PySpark 4.1; source.py refuses streams below 4.2

    class DataSourceStreamArrowWriter:  # type: ignore[no-redef]  # never constructed
        pass


@dataclass
class Written(WriterCommitMessage):
    """What a task reports to the driver."""

    rows: int


class BatchSink(DataSourceArrowWriter):
    """Made on the driver once, and pickled to every attempt of every task."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options
        self.run = secrets.token_hex(8)

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        """Runs in a task. Raises `CliError`, which fails the attempt."""
        context = _task()
        return Written(_write(self.options, f"{self.run}-{context.partitionId()}", 0, iterator))


class StreamSink(DataSourceStreamArrowWriter):
    """Made for each micro-batch. A batch that is repeated after a failure has the same ID."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Written:
        context = _task()
        query = context.getLocalProperty("sql.streaming.queryId")
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        return Written(_write(self.options, f"{query}-{context.partitionId()}", batch << 32, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # Spark's name
        """Nothing is left to do: a message is stored when its task ends."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # Spark's name
        """What is stored stays, and the repeated batch skips it."""


def _write(options: WriteOptions, name: str, first: int, batches: Iterator["pa.RecordBatch"]) -> int:
    from pulsarctl.tables.writing.topic_writer import TopicWriter

    return TopicWriter(options, f"{options.producer_name}-{name}", first).write(batches)


def _task() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise CliError("cannot write outside of a Spark task")
    return context
