"""A job as a whole: its name in Spark's UI, its progress from Spark's status tracker, and its end by a signal."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext

from pulsarctl.spark.jobs.canceling import canceled_by_signals

TELL_SECONDS = 0.5


@contextmanager
def watched(context: SparkContext, name: str, tell: Callable[[int], None]) -> Iterator[None]:
    """Calls `tell` with the number of completed tasks, and cancels the job on a signal. `name` is the verb of `ops`.

    Spark itself would draw its bar between the lines of its log.
    """
    context.setJobGroup(f"pulsarctl-{name}", f"{name} of a topic", interruptOnCancel=True)
    tracker, ended = context.statusTracker(), threading.Event()

    def watch() -> None:
        while not ended.wait(TELL_SECONDS):
            stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage))]
            if stages:
                tell(sum(stage.numCompletedTasks for stage in stages))

    watcher = threading.Thread(target=watch, name="spark-progress", daemon=True)
    watcher.start()
    try:
        with canceled_by_signals(context):
            yield
    finally:
        ended.set()
        watcher.join(1.0)
