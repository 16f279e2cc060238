"""Finds the last place of each key in Spark tasks, with the same code as in one process."""

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark import SparkContext

from pulsarctl.compaction.last_places import BUCKETS, Bucket, Keys, KeysOfPart
from pulsarctl.spark.jobs.watching import watched
from pulsarctl.tables.ledger_ranges import LedgerRange

JOB_GROUP = "pulsarctl-compact"


@dataclass(frozen=True, slots=True)
class _Task:
    """Finds the keys of a part."""

    work: KeysOfPart

    def __call__(self, part: LedgerRange) -> Iterator[tuple[Bucket, Keys]]:
        if not gc.get_freeze_count():  # PySpark collects garbage after every task, over all imported modules
            gc.freeze()
        return self.work(part)


def run_spark(
    context: SparkContext, work: KeysOfPart, parts: Sequence[LedgerRange], tell: Callable[[int, int], None]
) -> dict[Bucket, Keys]:
    """The buckets of all parts, merged. Only places leave the executors, no keys."""
    context.setJobGroup(JOB_GROUP, "last place of each key", interruptOnCancel=True)
    with watched(context, lambda done: tell(min(done, len(parts)), len(parts))):
        found = context.parallelize(parts, max(len(parts), 1)).flatMap(_Task(work))
        merged = found.reduceByKey(Keys.merge, min(len(parts), BUCKETS))
        return dict(merged.mapValues(_without_names).collect())


def _without_names(keys: Keys) -> Keys:
    """Numbers for the keys of a bucket: the driver needs none of them."""
    return Keys({str(number): place for number, place in enumerate(keys.last.values())}, keys.counted, keys.whole)
