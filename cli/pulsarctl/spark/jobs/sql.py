"""Runs a statement on Spark, with the plan, the tables, and the readers of the local engine.

A reference becomes a view whose tasks read the parts of its plan. It does not use the data source: Spark would
plan each reference again, later, so that two references to one topic could see different messages.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from pulsarctl.spark.jobs.task import freeze
from pulsarctl.spark.jobs.watching import watched
from pulsarctl.spark.types import ddl
from pulsarctl.sql.planning import PlannedReference
from pulsarctl.sql.statement import Statement

if TYPE_CHECKING:
    import pyarrow as pa


def run_spark(
    context: SparkContext,
    statement: Statement,
    references: Sequence[PlannedReference],
    tell: Callable[[int], None],
) -> "pa.Table":
    """`tell` learns how many tasks are done."""
    session = SparkSession.builder.config(conf=context.getConf()).getOrCreate()
    for each in references:
        view(session, each).createOrReplaceTempView(each.reference.relation)
    with watched(context, "sql", tell):
        return session.sql(statement.text).toArrow()


def view(session: SparkSession, planned: PlannedReference) -> DataFrame:
    """One task for each part. Only the table and the parts of `planned` travel to tasks."""
    table, parts = planned.table, planned.parts

    def read(numbers: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        freeze()
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from table.read(parts[number])

    count = len(parts)
    return session.range(0, count, 1, max(count, 1)).mapInArrow(read, ddl(table.schema))
