"""Spark: sessions, the `pulsar` data source, and jobs. Only what names pyspark; `tables` does the rest.

    import pulsarctl.spark

    pulsarctl.spark.register(spark)
    spark.read.format("pulsar").option("topic", "orders").load()

Needs the extra `spark`, and Java 17 or newer (or the extra `java`). Importing this package imports no pyspark.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: "SparkSession") -> None:
    """Makes `spark.read.format("pulsar")` known to this session."""
    from pulsarctl.spark.source import PulsarDataSource

    spark.dataSource.register(PulsarDataSource)
