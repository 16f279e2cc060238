"""A database of DuckDB in memory, in UTC as Spark's session."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb


@contextmanager
def database(scratch: str = "") -> Iterator["duckdb.DuckDBPyConnection"]:
    """`scratch` is a directory for what does not fit in memory."""
    with duckdb.connect(config={"temp_directory": scratch} if scratch else {}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
