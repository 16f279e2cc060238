"""Topics as tables of a session: each query plans them again, so it sees the newest messages.

A temporary view would keep the plan of its first use. Spark gives the options of a table to its source when the table
is created and not when it is read, so each table has a source of its own that knows them. Table names have only
letters, digits, and underscores.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pulsarctl.spark.source import PulsarDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OTHER = re.compile(r"[^A-Za-z0-9_]")


def register_topics(spark: "SparkSession", topics: Iterable[str], options: Mapping[str, str]) -> None:
    """A table for each topic of `table_names`. `options` are those of the data source."""
    spark.dataSource.register(PulsarDataSource)
    for name, topic in table_names(topics).items():
        source = _source(f"pulsar_{name}", {**options, "topic": topic})
        spark.dataSource.register(source)
        spark.sql(f"CREATE TABLE `{name}` USING {source.name()}")


def table_names(topics: Iterable[str]) -> dict[str, str]:
    """The topic of each table: by its local name, or with its namespace if another topic has the same name."""
    tables: dict[str, str] = {}
    for topic in topics:
        _, _, path = topic.partition("://")
        names = [_OTHER.sub("_", text) for text in (path.split("/", 2)[2], path)]
        name = next((each for each in names if each not in tables), f"{names[1]}_{len(tables)}")
        tables[name] = topic
    return tables


def _source(name: str, options: Mapping[str, str]) -> type[PulsarDataSource]:
    class TopicSource(PulsarDataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def given(self) -> Mapping[str, str]:
            return options

    return TopicSource
