"""Runs the same work as the local engine on each part of a plan, in Spark tasks.

It uses RDDs: without SQL, a short job starts in half the time.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyspark import SparkContext

from pulsarctl.spark.jobs.task import Task
from pulsarctl.spark.jobs.watching import watched

Part = TypeVar("Part")
Result = TypeVar("Result")


def run_spark(
    context: SparkContext,
    name: str,
    work: Callable[[Part], Result],
    parts: Sequence[Part],
    tell: Callable[[int], None],
) -> list[Result]:
    """The results in the order of the parts, of which there is at least one. `work` is pickled."""
    with watched(context, name, tell):
        return context.parallelize(parts, len(parts)).map(Task(work)).collect()
