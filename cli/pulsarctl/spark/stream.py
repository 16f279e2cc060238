"""The `pulsar` source as a stream (PySpark 4.2 and newer). `tables.following` decides; this names Spark's classes.

Spark pickles the reader to its tasks, so what only the planning process needs is made on its first use.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from pulsarctl.spark.partitions import RangePartition, read_part
from pulsarctl.tables.following import Following, Offset
from pulsarctl.tables.stream_options import StreamOptions
from pulsarctl.tables.subscription_follower import SubscriptionFollower
from pulsarctl.tables.topic_table import TopicTable

if TYPE_CHECKING:
    import pyarrow as pa


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, table: TopicTable, limits: StreamOptions) -> None:
        self.table = table
        self.limits = limits

    def __getstate__(self) -> dict[str, Any]:
        return {"table": self.table, "limits": self.limits}

    @cached_property
    def following(self) -> Following:
        return Following(self.table.options, self.limits)

    @cached_property
    def follower(self) -> SubscriptionFollower | None:
        access = self.table.options.access
        return SubscriptionFollower(access, self.limits.subscription) if self.limits.subscription else None

    def initialOffset(self) -> Offset:  # Spark's name
        return self.following.first()

    def prepareForTriggerAvailableNow(self) -> None:  # Spark's name
        self.following.stop_at_latest()

    def getDefaultReadLimit(self) -> ReadLimit:  # Spark's name
        if self.limits.max_messages_per_trigger is not None:
            return ReadMaxRows(self.limits.max_messages_per_trigger)
        if self.limits.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self.limits.max_bytes_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # Spark's name
        """Spark asks after the batch that ends at `start`, also after the last one, so all of it is finished."""
        has_minimum = self.limits.min_messages_per_trigger > 0
        end = self.following.next_step(start, limited=has_minimum or not isinstance(limit, ReadAllAvailable))
        if self.follower is not None:  # a subscription that is made after a loss would hide it
            self.follower.follow(self.following.kept(start))
        return end

    def reportLatestOffset(self) -> Offset:  # Spark's name
        return self.following.latest()

    def partitions(self, start: Offset, end: Offset) -> Sequence[RangePartition]:
        return [RangePartition(each) for each in self.following.between(start, end)]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """Runs in a task. An error fails the task."""
        yield from read_part(self.table, partition)

    def commit(self, end: Offset) -> None:
        """`latestOffset` acknowledges earlier, and also the last batch of a run."""
