"""The language of a query is that of the engine that runs it: DuckDB in this process, or Spark."""

from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark

from pulsarctl.sql.engine import SqlEngine


class AnsiSpark(Spark):  # type: ignore[misc]  # sqlglot's types are not followed
    """Double quotes quote names, as in Spark with spark.sql.ansi.doubleQuotedIdentifiers."""

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]  # the same
        QUOTES = ("'",)
        IDENTIFIERS = ("`", '"')


DIALECTS: dict[SqlEngine, type[Dialect]] = {SqlEngine.LOCAL: DuckDB, SqlEngine.SPARK: AnsiSpark}
ZONED = {SqlEngine.LOCAL: "TIMESTAMPTZ", SqlEngine.SPARK: "TIMESTAMP"}
"""The type of a time with a zone."""
SPARK_SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}
"""Overflow, and a cast that fails, are errors as in DuckDB. Double quotes quote names."""
