"""What each subscription has not acknowledged: messages, entries, bytes, and how old they are.

Read, transform and write apart: `read` is the data source with one row for each stored entry and subscription,
`transform` is pure, `report` completes its few rows, one for each topic and subscription. Nothing else reaches the
driver.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pulsarctl.spark import register
from pulsarctl.tables.options import ALL_SUBSCRIPTIONS

AGE_LIMITS_SECONDS = (60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400)
"""Upper limits, excluded, of the histogram's buckets; one more bucket holds what is older."""

AGE_NAMES = ("1m", "10m", "1h", "6h", "1d", "7d", "30d", "older")

JOB_GROUP = "pulsarctl-backlog"
TELL_SECONDS = 1.0

Tell = Callable[[int, int], None]
"""Is told, now and then, how many of how many tasks of what is running are done."""

COLUMNS = ("topic", "partition", "subscription", "messages", "entry_size", "publish_time")


@dataclass(frozen=True, slots=True)
class SubscriptionBacklog:
    """`bytes` are stored ones. `oldest_publish_time_ms` is None without a backlog. `ages` are messages by bucket."""

    topic: str
    subscription: str
    messages: int
    entries: int
    bytes: int
    oldest_publish_time_ms: int | None
    ages: dict[str, int]


def read(session: SparkSession, target: Mapping[str, str], subscriptions: Sequence[str] = ()) -> DataFrame:
    """The unacknowledged entries. `target` has the source's options for where and what: `topic` or `namespace`."""
    register(session)
    tasks_min = max(8, 2 * session.sparkContext.defaultParallelism)
    return (
        session.read.format("pulsar")
        .options(**target)
        .option("subscriptions", ",".join(subscriptions) or ALL_SUBSCRIPTIONS)
        .option("unit", "entry")
        .option("columns", ",".join(COLUMNS))
        .option("tasks_min", str(tasks_min))
        .load()
    )


def transform(entries: DataFrame, now_ms: int) -> DataFrame:
    """One row for each topic (a partitioned one as a whole) and subscription that has a backlog; pure.

    Ages are counted from `now_ms` and never below 0: a producer's clock may be ahead.
    """
    age_seconds = F.greatest((F.lit(now_ms) - F.unix_millis("publish_time")) / 1000, F.lit(0))
    whole_topic = F.when(F.col("partition") >= 0, F.regexp_replace("topic", r"-partition-\d+$", "")).otherwise(
        F.col("topic")
    )
    return (
        entries.select(
            whole_topic.alias("topic"),
            "subscription",
            "messages",
            "entry_size",
            "publish_time",
            age_seconds.alias("age"),
        )
        .groupBy("topic", "subscription")
        .agg(
            F.sum("messages").alias("messages"),
            F.count("*").alias("entries"),
            F.sum("entry_size").alias("bytes"),
            F.unix_millis(F.min("publish_time")).alias("oldest_publish_time_ms"),
            *_age_buckets(),
        )
        .select("topic", "subscription", "messages", "entries", "bytes", "oldest_publish_time_ms", *AGE_NAMES)
    )


def _age_buckets() -> Iterable[Column]:
    lower: int = 0
    for name, upper in zip(AGE_NAMES, (*AGE_LIMITS_SECONDS, None), strict=True):
        inside = F.col("age") >= lower
        if upper is not None:
            inside &= F.col("age") < upper
            lower = upper
        yield F.sum(F.when(inside, F.col("messages")).otherwise(0)).alias(name)


def report(rows: Iterable[Row], known: Iterable[tuple[str, str]]) -> list[SubscriptionBacklog]:
    """Sorted by topic and subscription; a `known` (topic, subscription) without a row has no backlog."""
    nothing = dict.fromkeys(AGE_NAMES, 0)
    found = {each: SubscriptionBacklog(*each, 0, 0, 0, None, nothing) for each in known}
    for row in rows:
        values: dict[str, Any] = row.asDict()
        ages = {name: values.pop(name) for name in AGE_NAMES}
        backlog = SubscriptionBacklog(**values, ages=ages)
        found[backlog.topic, backlog.subscription] = backlog
    return [found[key] for key in sorted(found)]


def run(
    session: SparkSession,
    target: Mapping[str, str],
    known: Iterable[tuple[str, str]],
    *,
    subscriptions: Sequence[str] = (),
    now_ms: int,
    tell: Tell,
) -> tuple[list[SubscriptionBacklog], int]:
    """The report, and how many tasks read for it."""
    context = session.sparkContext
    context.setJobGroup(JOB_GROUP, "unacknowledged messages of each subscription")
    with _watched(context, tell):
        rows = transform(read(session, target, subscriptions), now_ms).collect()
    return report(rows, known), _reading_tasks(context)


@contextmanager
def _watched(context: SparkContext, tell: Tell) -> Iterator[None]:
    """Calls `tell` every second of the block; Spark itself would draw its own bar between the lines of its log."""
    tracker, ended = context.statusTracker(), threading.Event()

    def watch() -> None:
        while not ended.wait(TELL_SECONDS):
            stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage))]
            if stages:
                tell(sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages))

    watcher = threading.Thread(target=watch, name="backlog-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _reading_tasks(context: SparkContext) -> int:
    """Tasks of the first stage, which is the one that reads; 0 when there was nothing to read."""
    tracker = context.statusTracker()
    jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(JOB_GROUP)))
    stages = sorted({stage for job in jobs for stage in job.stageIds})
    first = tracker.getStageInfo(stages[0]) if stages else None
    return first.numTasks if first else 0
