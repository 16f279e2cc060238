"""Finds the last place of each key in Spark tasks, with the same code as in one process."""

from collections.abc import Callable, Sequence

from pyspark import SparkContext

from pulsarctl.compaction.last_places import BUCKETS, Bucket, Keys, KeysOfPart
from pulsarctl.spark.jobs.task import Task
from pulsarctl.spark.jobs.watching import watched
from pulsarctl.tables.ledger_ranges import LedgerRange


def run_spark(
    context: SparkContext, work: KeysOfPart, parts: Sequence[LedgerRange], tell: Callable[[int], None]
) -> dict[Bucket, Keys]:
    """The buckets of all parts, merged. Only places leave the executors, no keys."""
    with watched(context, "compact", tell):
        by_part = context.parallelize(parts, max(len(parts), 1)).flatMap(Task(work))
        merged = by_part.reduceByKey(Keys.merge, min(len(parts), BUCKETS))
        return dict(merged.mapValues(Keys.without_names).collect())
