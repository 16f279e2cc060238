"""A job in a process of its own, since only its own session repeats tasks: rows -> a topic.

    python -m tests.cli.spark.writing_job SERVICE_URL ADMIN_URL TOPIC ROWS

The first attempt of one of its two tasks fails after it has sent rows.
"""

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext

from pulsarctl.spark import register
from pulsarctl.spark.session import spark_session

ATTEMPTS = 4  # Spark's default on a cluster: a broker may close a producer while it loads the topic
SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "50", "spark.sql.shuffle.partitions": "2"}


def failing_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
    context = TaskContext.get()
    if context is not None and (context.partitionId(), context.attemptNumber()) == (1, 0):
        raise RuntimeError("the first attempt")


def main(service_url: str, admin_url: str, topic: str, rows: int) -> None:
    with spark_session("writing job", f"local[2,{ATTEMPTS}]", options=SETTINGS, short=True) as spark:
        register(spark)
        frame = spark.range(0, rows, 1, 2).selectExpr("cast(id as string) as value")
        written = frame.mapInArrow(failing_once, "value string").write.format("pulsar")
        options = {"service_url": service_url, "admin_url": admin_url, "topic": topic}
        written.options(**options, transaction="true").mode("append").save()


if __name__ == "__main__":
    service_url, admin_url, topic, rows = sys.argv[1:]
    main(service_url, admin_url, topic, int(rows))
