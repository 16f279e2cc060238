"""The values that a condition compares a column with: literals, and times computed from them."""

from typing import Any

import duckdb
from sqlglot import exp

from pulsarctl.sql.database import database
from pulsarctl.tables.arrays import TIME_MAX_MS

# A time is computed only from these, so that it does not depend on the engine.
_TIMES = (
    exp.Literal,
    exp.Cast,
    exp.DataType,
    exp.Interval,
    exp.Var,
    exp.Add,
    exp.Sub,
    exp.Paren,
    exp.TimestampTrunc,
)


def integer(node: Any) -> int | None:
    """None: it is no integer, or none that is known before the query runs."""
    try:
        if isinstance(node, exp.Neg):
            return -int(node.this.this)
        return int(node.this) if isinstance(node, exp.Literal) and not node.is_string else None
    except (TypeError, ValueError):
        return None


def text(node: Any) -> str | None:
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def time_ms(node: Any) -> int | None:
    """The millisecond that the time lies in, if messages can have it. A time without a zone is in UTC."""
    if not all(isinstance(each, _TIMES) for each in node.walk()):
        return None
    with database() as connection:
        try:
            query = f"SELECT epoch_us(CAST({node.sql('duckdb')} AS TIMESTAMPTZ))"
            found = connection.execute(query).fetchone()
        except duckdb.Error:
            return None
    ms = -1 if found is None or found[0] is None else int(found[0]) // 1000
    return ms if 0 <= ms <= TIME_MAX_MS else None
