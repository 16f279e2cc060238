"""What a query says about the rows that it needs of one reference to a topic.

Only conditions that every row of the result must meet count: the parts of `WHERE ... AND ...` in the SELECT that names
the topic, and those of an inner join. A comparison is never true for NULL, so pruning a table by a part of WHERE is
right on either side of an outer join, too. Whatever is not understood is no condition: the engine evaluates the whole
query, and conditions only save reading.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from pulsarctl.sql import constants
from pulsarctl.tables.bounds import FIRST, FROM_FIRST, LAST, TO_LAST, Bounds
from pulsarctl.values.message_ids import message_id_in

_MIRRORED: dict[Any, Any] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ}
_COMPARISONS: Any = (*_MIRRORED, exp.Between, exp.In)
_READERS = {
    "publish_time": constants.time_ms,
    "ledger_id": constants.integer,
    "entry_id": constants.integer,
    "partition": constants.integer,
    "message_id": constants.text,
}


@dataclass(frozen=True, slots=True)
class Span:
    """Values from `low` to `high`, both included; None is no limit. They may include more than the query asks for."""

    low: int | None = None
    high: int | None = None

    def both(self, other: "Span") -> "Span":
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Span(max(lows, default=None), min(highs, default=None))

    def has(self, value: int) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@dataclass(frozen=True, slots=True)
class Conditions:
    """`publish_time` is in milliseconds. `partitions`: those that may have rows; None: all."""

    publish_time: Span = Span()
    ledger_id: Span = Span()
    entry_id: Span = Span()
    partition: Span = Span()
    partitions: frozenset[int] | None = None

    def has_partition(self, index: int) -> bool:
        return self.partition.has(index) and (self.partitions is None or index in self.partitions)

    @property
    def start(self) -> Bounds:
        return FROM_FIRST if self.publish_time.low is None else Bounds(replace(FIRST, time_ms=self.publish_time.low))

    @property
    def end(self) -> Bounds:
        return TO_LAST if self.publish_time.high is None else Bounds(replace(LAST, time_ms=self.publish_time.high))


def conditions_of(table: Any, scope: Scope) -> Conditions:
    """The conditions on one table, from the scope that names the table."""
    found = Conditions()
    if _is_plain(table) and isinstance(scope.expression, exp.Select) and not _depends_on_rows(scope.expression):
        alone = len(scope.selected_sources) == 1 and not scope.expression.args.get("laterals")
        for part in _parts(scope.expression):
            for column, node in _about(part, table.alias_or_name, alone):
                found = _narrowed(found, column, node)
    return found


def _is_plain(table: Any) -> bool:
    """Neither renamed columns, nor a sample, nor a pivot: conditions would apply after them."""
    alias = table.args.get("alias")
    renamed = alias is not None and alias.args.get("columns")
    return not (renamed or table.args.get("sample") or table.args.get("pivots"))


def _depends_on_rows(select: Any) -> bool:
    """A sample, and a join of rows with the same number, take other rows if some are left out before."""
    joins = select.args.get("joins") or ()
    return bool(select.args.get("sample")) or any(join.method == "POSITIONAL" for join in joins)


def _parts(select: Any) -> Iterator[Any]:
    """What must be true for each row."""
    where = select.args.get("where")
    joins = [join for join in select.args.get("joins") or () if not join.side and join.kind in ("", "INNER", "CROSS")]
    for condition in [where and where.this, *(join.args.get("on") for join in joins)]:
        if condition is not None:
            yield from _conjuncts(condition)


def _conjuncts(condition: Any) -> Iterator[Any]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _about(part: Any, table: str, alone: bool) -> Iterator[tuple[str, Any]]:
    """The comparison with the column on its left, if it is about a column of the table."""
    for node in (part, _mirrored(part)):
        if node is None or not isinstance(node, _COMPARISONS) or node.args.get("symmetric"):
            continue
        column = node.this
        if isinstance(column, exp.Column) and column.name.lower() in _READERS and _is_of(column, table, alone):
            yield column.name.lower(), node


def _mirrored(node: Any) -> Any:
    kind: Any = _MIRRORED.get(type(node))
    return None if kind is None else kind(this=node.expression, expression=node.this)


def _is_of(column: Any, table: str, alone: bool) -> bool:
    """A name without a table is that of the only one; with several tables, it would be ambiguous."""
    if column.args.get("db"):
        return False
    return column.table.lower() == table.lower() if column.table else alone


def _narrowed(known: Conditions, column: str, node: Any) -> Conditions:
    if column == "message_id":
        return _with_message_id(known, node)
    values = _values(column, node)
    if any(value is None for value in values):
        return known
    if column == "partition" and isinstance(node, exp.In):
        among = frozenset(values)
        return replace(known, partitions=among if known.partitions is None else known.partitions & among)
    span: Span = getattr(known, column)
    return _with_spans(known, {column: span.both(_span(node, values))})


def _with_message_id(known: Conditions, node: Any) -> Conditions:
    """IDs are text, so only equality says where the message is."""
    text = constants.text(node.expression) if isinstance(node, exp.EQ) else None
    found = None if text is None else message_id_in(text)
    if found is None:
        return known
    (ledger_id, entry_id), partition = found.position, found.partition
    spans = {"ledger_id": ledger_id, "entry_id": entry_id, "partition": partition}
    return _with_spans(known, {name: getattr(known, name).both(Span(value, value)) for name, value in spans.items()})


def _with_spans(known: Conditions, spans: dict[str, Any]) -> Conditions:
    return replace(known, **spans)


def _values(column: str, node: Any) -> list[Any]:
    read = _READERS[column]
    if isinstance(node, exp.Between):
        return [read(node.args["low"]), read(node.args["high"])]
    if isinstance(node, exp.In):
        return [read(each) for each in node.expressions] or [None]  # a subquery
    return [read(node.expression)]


def _span(node: Any, values: list[Any]) -> Span:
    if isinstance(node, exp.LT | exp.LTE):
        return Span(high=values[0])
    if isinstance(node, exp.GT | exp.GTE):
        return Span(low=values[0])
    if isinstance(node, exp.Between):
        return Span(*values)
    return Span(min(values), max(values))
