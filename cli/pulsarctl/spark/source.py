"""The `pulsar` data source: topics as a table, for batch reads (PySpark's Python Data Source API, Arrow batches).

    spark.dataSource.register(PulsarDataSource)
    spark.read.format("pulsar").option("topic", "orders").load()

The driver asks the admin API which ledgers and cursors there are and cuts them into ranges; each task reads its range
over the binary protocol with the raw entry reader. So it works on any Pulsar, leaves no trace there, and no data passes
through the driver. Options: `options.py`; columns: `columns.py`.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pulsarctl.admin.client import AdminClient
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.spark.columns import Row, columns_named, ddl, record_batches
from pulsarctl.spark.ledger_ranges import LedgerRange, ranges_of_topic, split
from pulsarctl.spark.options import ALL_SUBSCRIPTIONS, ReadOptions
from pulsarctl.values.message_ids import MessageId

if TYPE_CHECKING:
    import pyarrow as pa


class RangePartition(InputPartition):
    """One task's share."""

    def __init__(self, ledger_range: LedgerRange) -> None:
        super().__init__(None)
        self.ledger_range = ledger_range


class PulsarDataSource(DataSource):
    """Raises `UsageProblem` for options that make no sense."""

    @classmethod
    def name(cls) -> str:
        return "pulsar"

    def schema(self) -> str:
        return ddl(columns_named(ReadOptions.parse(self.options).columns))

    def reader(self, schema: StructType) -> "ProtocolReader":
        return ProtocolReader(ReadOptions.parse(self.options))


class ProtocolReader(DataSourceReader):
    """Reads any Pulsar through its binary protocol. It is pickled to each task, so it holds the options alone."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[RangePartition]:
        """The plan, as of now: at least one task for each topic partition and ledger that holds something to read.

        Raises `NotFound` for a topic that does not exist, and what the admin client raises.
        """
        options = self.options
        admin = AdminClient(options.settings())
        try:
            ranges = [each for part in topic_parts(admin, options) for each in self._ranges(admin, part)]
        finally:
            admin.close()
        cut = split(ranges, tasks_min=options.tasks_min, entries_max=options.entries_per_task)
        return [RangePartition(each) for each in cut]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """Runs in a task. Raises what the entry reader raises, which fails the task."""
        if isinstance(partition, RangePartition):  # of an empty plan Spark makes one partition of its own
            columns = columns_named(self.options.columns)
            yield from record_batches(self._rows(partition.ledger_range), columns)

    def _ranges(self, admin: AdminClient, topic: str) -> Iterator[LedgerRange]:
        options = self.options
        stats = admin.topics.internal_stats(topic)
        names: Sequence[str] | None = options.subscriptions or None
        if names == (ALL_SUBSCRIPTIONS,):
            names = sorted(stats["cursors"])
        yield from ranges_of_topic(
            topic, stats, subscriptions=names, start=options.start.position, end=options.end.position
        )

    def _rows(self, part: LedgerRange) -> Iterator[Row]:
        for entry in self._entries(part):
            wanting: Sequence[str | None] = (None,)
            if part.subscriptions is not None:
                wanting = [each.subscription for each in part.subscriptions if each.wants(entry.entry_id)]
            if wanting and self._in_time(entry):
                yield from self._rows_of_entry(entry, wanting)

    def _entries(self, part: LedgerRange) -> Iterator[Entry]:
        options = self.options
        with EntryReader(
            options.service_url,
            part.topic,
            start=MessageId(part.ledger_id, part.first),
            timeout_seconds=options.timeout_seconds,
            token=options.token or None,
        ) as reader:
            end = MessageId(part.ledger_id, part.last)
            yield from reader.to(dict.fromkeys(reader.partitions, end))

    def _rows_of_entry(self, entry: Entry, wanting: Sequence[str | None]) -> Iterator[Row]:
        if self.options.unit == "entry":
            message = entry.as_message(entry.value() if "value" in self.options.columns else None)
            for subscription in wanting:
                yield Row(entry, message, entry.message_count, subscription)
            return
        for message in entry.messages():
            for subscription in wanting:
                yield Row(entry, message, 1, subscription)

    def _in_time(self, entry: Entry) -> bool:
        start, end, published = self.options.start.time_ms, self.options.end.time_ms, entry.metadata.publish_time
        return (start is None or published >= start) and (end is None or published <= end)


def topic_parts(admin: AdminClient, options: ReadOptions) -> list[str]:
    """The full names of what is to be read: partitions, and topics without. Raises `NotFound`."""
    if options.namespace:
        listed = admin.topics.list(options.namespace, domain="persistent")
        return [name for name in listed if not name.rpartition("/")[2].startswith("__")]
    return [part for topic in options.topics for part in admin.topics.parts(topic)]
