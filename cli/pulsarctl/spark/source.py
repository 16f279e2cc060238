"""The `pulsar` data source: topics as a table (PySpark's Python Data Source API, Arrow batches).

    pulsarctl.spark.register(spark)
    spark.read.format("pulsar").option("topic", "orders").load()

The driver plans which ledger ranges there are, and each task reads its range; `tables` does both. No data passes
through the driver. Options: `tables.options`; columns: `tables.columns`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pulsarctl.errors import UsageProblem
from pulsarctl.spark.partitions import RangePartition, read_part
from pulsarctl.spark.sink import BatchSink, StreamSink
from pulsarctl.spark.types import ddl
from pulsarctl.spark.versions import require_streaming
from pulsarctl.tables.stream_options import SPARK_OPTIONS, StreamOptions, table_options
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.tables.writing.payloads import check_columns
from pulsarctl.tables.writing.write_options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.spark.stream import TableStreamReader


class PulsarDataSource(DataSource):
    """Raises `UsageProblem` for invalid options."""

    @classmethod
    def name(cls) -> str:
        return "pulsar"

    @cached_property
    def table(self) -> TopicTable:
        """Made once: Spark pickles this object after it asked for the schema."""
        return TopicTable.open(table_options(self.given()))

    def given(self) -> Mapping[str, str]:
        """The options of the table."""
        return self.options

    def schema(self) -> str:
        return ddl(self.table.schema)

    def reader(self, schema: StructType) -> "TableReader":
        return TableReader(self.table)

    def streamReader(self, schema: StructType) -> "TableStreamReader":  # Spark's name
        require_streaming()
        from pulsarctl.spark.stream import TableStreamReader

        return TableStreamReader(self.table, StreamOptions.parse(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> "BatchSink":
        return BatchSink(self._write_options(schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamSink":  # Spark's name
        require_streaming()
        return StreamSink(self._write_options(schema, overwrite))

    def _write_options(self, schema: StructType, overwrite: bool) -> WriteOptions:
        if overwrite:
            raise UsageProblem("cannot overwrite a topic", hint='use mode("append")')
        options = WriteOptions.parse({name: text for name, text in self.options.items() if name not in SPARK_OPTIONS})
        check_columns(to_arrow_schema(schema, timezone="UTC"), options.schema)
        return options


class TableReader(DataSourceReader):
    """It is pickled to each task."""

    def __init__(self, table: TopicTable) -> None:
        self.table = table

    def partitions(self) -> Sequence[RangePartition]:
        """The plan as of now."""
        return [RangePartition(each) for each in self.table.plan()]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """Runs in a task. An error fails the task."""
        yield from read_part(self.table, partition)
