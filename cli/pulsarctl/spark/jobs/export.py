"""Writes the parts of an export in Spark tasks, with the same code as the local engine."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark import SparkContext

from pulsarctl.spark.jobs.watching import watched
from pulsarctl.transfer.exporting import Export, Part, Written

JOB_GROUP = "pulsarctl-export"


@dataclass(frozen=True, slots=True)
class _Task:
    """Exports a part."""

    export: Export

    def __call__(self, part: Part) -> Written:
        if not gc.get_freeze_count():  # PySpark collects garbage after every task, over all imported modules
            gc.freeze()
        return self.export(part)


def run_spark(
    context: SparkContext, export: Export, parts: Sequence[Part], tell: Callable[[int, int], None]
) -> list[Written]:
    """The files of each part, in the order of the plan."""
    context.setJobGroup(JOB_GROUP, "export of a topic", interruptOnCancel=True)
    with watched(context, lambda done: tell(done, len(parts))):
        return context.parallelize(parts, max(len(parts), 1)).map(_Task(export)).collect()
