"""One task's share of a table, and how a task reads it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from pulsarctl.spark.jobs.task import freeze
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.topic_table import TopicTable

if TYPE_CHECKING:
    import pyarrow as pa


class RangePartition(InputPartition):
    def __init__(self, ledger_range: LedgerRange) -> None:
        super().__init__(None)
        self.ledger_range = ledger_range


def read_part(table: TopicTable, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
    """Returns no rows for the partition that Spark makes if the plan is empty."""
    freeze()
    if isinstance(partition, RangePartition):
        yield from table.read(partition.ledger_range)
