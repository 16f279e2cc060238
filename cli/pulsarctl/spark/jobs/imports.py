"""Sends files to a topic in Spark tasks, with the same senders as the local engine.

One task reads a file, and one task sends the rows of a target partition: a shuffle brings them there, sorted. So each
key keeps its order, whatever Spark repeats. A wave of files is stored before the next one begins.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark import SparkContext

from pulsarctl.spark.jobs.watching import watched
from pulsarctl.transfer.routed_rows import Delivered, Routed, RouteFile, SendBlocks

JOB_GROUP = "pulsarctl-import"
SETTINGS = {"spark.speculation": "false"}
"""A second attempt beside the first would wait for the name of its producer."""


@dataclass(frozen=True, slots=True)
class _Read:
    """Reads a file."""

    route: RouteFile

    def __call__(self, number: int) -> Iterator[Routed]:
        _freeze()
        return self.route(number)


@dataclass(frozen=True, slots=True)
class _Send:
    """Sends what was read."""

    send: SendBlocks

    def __call__(self, blocks: Iterable[Routed]) -> Iterator[Delivered]:
        _freeze()
        return self.send(blocks)


def run_spark(
    context: SparkContext, route: RouteFile, send: SendBlocks, wave: Sequence[int], tell: Callable[[int], None]
) -> Delivered:
    """Returns when all rows of these files are stored. `tell` learns how many tasks are done."""
    context.setJobGroup(JOB_GROUP, "import into a topic", interruptOnCancel=True)
    routed = context.parallelize(wave, len(wave)).flatMap(_Read(route))
    sorted_blocks = routed.repartitionAndSortWithinPartitions(len(send.target.partitions), _partition)
    with watched(context, tell):
        found = sorted_blocks.mapPartitions(_Send(send)).collect()
    return Delivered(sum(each.rows for each in found), sum(each.sent for each in found))


def _partition(key: tuple[int, int, int]) -> int:
    return key[0]


def _freeze() -> None:
    if not gc.get_freeze_count():  # PySpark collects garbage after every task, over all imported modules
        gc.freeze()
