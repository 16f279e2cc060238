"""Sends files to a topic in Spark tasks, with the same senders as the local engine.

One task reads a file, and one task sends the rows of a target partition: a shuffle brings them there, sorted. So each
key keeps its order, whatever Spark repeats. A wave of files is stored before the next one begins.
"""

from collections.abc import Callable, Sequence

from pyspark import SparkContext

from pulsarctl.spark.jobs.task import Task
from pulsarctl.spark.jobs.watching import watched
from pulsarctl.transfer.routed_rows import Delivered, RouteFile, SendBlocks


def run_spark(
    context: SparkContext, route: RouteFile, send: SendBlocks, wave: Sequence[int], tell: Callable[[int], None]
) -> Delivered:
    """Returns when all rows of these files are stored. `tell` learns how many tasks are done."""
    with watched(context, "import", tell):
        routed = context.parallelize(wave, len(wave)).flatMap(Task(route))
        sorted_blocks = routed.repartitionAndSortWithinPartitions(len(send.target.partitions), _partition)
        delivered = sorted_blocks.mapPartitions(Task(send)).collect()
    return Delivered(sum(each.rows for each in delivered), sum(each.sent for each in delivered))


def _partition(key: tuple[int, int, int]) -> int:
    return key[0]
