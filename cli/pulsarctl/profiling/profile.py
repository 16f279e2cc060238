"""The profile of a topic: the work of one task, and the report of all."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from pulsarctl.profiling.column_tally import ColumnTally, is_number
from pulsarctl.profiling.leaves import leaves
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.topic_table import TopicTable

DEFAULT_COLUMNS = ("key", "producer", "publish_time", "event_time", "value_size")
SHARES = {"p1": 0.01, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}
TOP = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Tallies = dict[str, ColumnTally]


@dataclass(frozen=True, slots=True)
class Profiling:
    """Small, and pickled to each task."""

    table: TopicTable

    def __call__(self, part: LedgerRange) -> Tallies:
        """Raises what reading raises."""
        found: Tallies = {}
        for batch in self.table.read(part):
            for name in self.table.columns:
                for leaf, array in leaves(name, batch.column(name)):
                    found.setdefault(leaf, ColumnTally(array.type)).add(array)
        return found


def merged(parts: Iterable[Tallies]) -> Tallies:
    """In the order of the plan."""
    found: Tallies = {}
    for part in parts:
        for name, tally in part.items():
            found.setdefault(name, ColumnTally(tally.type)).merge(tally)
    return found


def report(tallies: Tallies) -> list[dict[str, Any]]:
    """A JSON object for each column."""
    return [{"column": name, "type": str(tally.type), **_facts(tally)} for name, tally in tallies.items()]


def _facts(of: ColumnTally) -> dict[str, Any]:
    top = of.frequent.top(TOP)
    has_numbers = bool(of.values) and (is_number(of.type) or pa.types.is_timestamp(of.type))
    return {
        "rows": of.rows,
        "nulls": of.nulls,
        "distinct": of.distinct.estimate(),
        "distinctIsExact": of.distinct.is_exact,
        "min": of.low,
        "max": of.high,
        "mean": of.total / of.values if of.values and is_number(of.type) else None,
        "quantiles": _quantiles(of) if has_numbers else None,
        "quantilesAreExact": of.numbers.is_exact if has_numbers else None,
        "top": [{"value": value, "count": count, "share": count / of.values} for value, count in top],
        "topError": of.frequent.error,
    }


def _quantiles(of: ColumnTally) -> dict[str, Any]:
    values: list[Any] = of.numbers.at(list(SHARES.values()))
    if pa.types.is_timestamp(of.type):
        values = [(_EPOCH + timedelta(milliseconds=ms)).isoformat().replace("+00:00", "Z") for ms in values]
    return dict(zip(SHARES, values, strict=False))
