"""The text of a query -> one statement, and its references to topics.

A topic is named `orders`, `"shop/eu/orders"`, `"persistent://shop/eu/orders"`, `shop.eu.orders`, or
`"shop/eu".orders`. Both double quotes and backticks quote a name. Within a statement, the time stands still: `now()`
and its relatives are one literal, so plans and engines agree about it. A number with a point is a double.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from pulsarctl.errors import UsageProblem
from pulsarctl.sql.conditions import Conditions, conditions_of
from pulsarctl.values.names import full_topic

TIMESTAMP, DATE = "timestamptz", "date"
_NAMED = (exp.Alias, exp.Column, exp.Dot)
_READS = "specify a SELECT; to write messages, use pulsarctl produce, ops import, or ops replay"


class TopicSql(Spark):  # type: ignore[misc]  # sqlglot's types are not followed
    """Spark SQL in which double quotes quote names, as in standard SQL."""

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]  # the same
        QUOTES = ("'",)
        IDENTIFIERS = ("`", '"')


@dataclass(frozen=True, slots=True)
class TopicReference:
    """One mention of a topic. `relation` is its name in the statements for the engines.

    `names` are all words of the statement that may name a column, in lower case; None: every column is needed.
    """

    relation: str
    written: str
    topic: str
    conditions: Conditions
    names: frozenset[str] | None

    def columns(self, known: Sequence[str]) -> tuple[str, ...]:
        """Those of the columns that the statement may need; at least one, because rows are counted by it."""
        if self.names is None:
            return tuple(known)
        return tuple(name for name in known if name.lower() in self.names) or ("entry_id",)


@dataclass(frozen=True, slots=True)
class Statement:
    """`tree` names the references by their relations. `names` are those of the result's columns, if they are known."""

    tree: Any
    references: tuple[TopicReference, ...]
    names: tuple[str, ...] | None

    def for_spark(self) -> str:
        return str(self.tree.sql("spark"))


def parse(text: str, now: datetime, *, bounded: bool = True) -> Statement:
    """`bounded` False: no conditions are looked for, and topics are read as a whole. Raises `UsageProblem`."""
    tree = _one_query(text)
    _name_columns(tree)
    _stop_time(tree, now.astimezone(UTC))
    _use_doubles(tree)
    names = _column_names(tree)
    references = []
    try:
        found = list(_mentions(tree))
    except OptimizeError as error:
        raise UsageProblem(f"cannot run the query: {error}") from error
    for number, (table, scope) in enumerate(found):
        topic = _topic(table)
        conditions = conditions_of(table, scope) if bounded else Conditions()
        references.append(TopicReference(f"topic_{number}", topic[0], topic[1], conditions, names))
    for (table, _), reference in zip(found, references, strict=True):
        _rename(table, reference.relation)
    return Statement(tree, tuple(references), _names(tree))


def _one_query(text: str) -> Any:
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=TopicSql) if tree is not None]
    except SqlglotError as error:
        raise UsageProblem(f"cannot read the query: {_reason(error)}") from error
    if len(trees) != 1:
        raise UsageProblem(f"cannot run {len(trees)} statements at once", hint="specify one SELECT")
    if not isinstance(trees[0], exp.Query):
        word = trees[0].sql(TopicSql).partition(" ")[0].upper()
        raise UsageProblem(f"cannot run {word}: ops sql only reads", hint=_READS)
    return trees[0]


def _reason(error: SqlglotError) -> str:
    """Its own text has control sequences of a terminal."""
    for found in getattr(error, "errors", ()):
        return f"line {found['line']}, column {found['col']}, at '{found['highlight']}': {found['description']}"
    return str(error).partition("\n")[0]


def _stop_time(tree: Any, now: datetime) -> None:
    for node in list(tree.find_all(exp.CurrentTimestamp, exp.CurrentDate, exp.Anonymous)):
        if isinstance(node, exp.Anonymous) and node.name.lower() != "now":
            continue
        of = DATE if isinstance(node, exp.CurrentDate) else TIMESTAMP
        text = now.date().isoformat() if of == DATE else now.isoformat(" ")
        node.replace(exp.cast(exp.Literal.string(text), of))


def _use_doubles(tree: Any) -> None:
    """Engines divide and round decimals in different ways, so a number with a point is a double."""
    for node in list(tree.find_all(exp.Literal)):
        if not node.is_string and "." in node.this and not isinstance(node.parent, exp.Cast):
            node.replace(exp.cast(node.copy(), "double"))


def _mentions(tree: Any) -> Iterator[tuple[Any, Scope]]:
    """Each table that is no CTE and no function, with the scope that names it."""
    for scope in traverse_scope(tree):
        for _, source in scope.selected_sources.values():
            if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
                yield source, scope


def _topic(table: Any) -> tuple[str, str]:
    """As written, and its full name."""
    parts = [part.name for part in table.parts]
    if len(parts) == 3 and parts[0] == "pulsar" and "/" in parts[1]:  # as in Pulsar SQL
        del parts[0]
    written = "/".join(parts)
    if written.startswith("non-persistent://"):
        raise UsageProblem(f"cannot read {written}: a non-persistent topic keeps no messages")
    return written, full_topic(written)


def _rename(table: Any, relation: str) -> None:
    """Columns may still be qualified by the name of the topic."""
    if not table.alias:
        table.set("alias", exp.TableAlias(this=table.this.copy()))
    table.set("this", exp.to_identifier(relation))
    table.set("db", None)
    table.set("catalog", None)


def _column_names(tree: Any) -> frozenset[str] | None:
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    natural = [join for join in tree.find_all(exp.Join) if join.args.get("method")]
    renamed = [alias for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns")]
    if stars or natural or renamed or tree.find(exp.Pivot) or _has_whole_rows(tree):
        return None
    return frozenset(node.name.lower() for node in tree.find_all(exp.Identifier))


def _has_whole_rows(tree: Any) -> bool:
    """In `SELECT t FROM orders t`, `t` may be a struct of all columns."""
    tables = {table.alias_or_name.lower() for table in tree.find_all(exp.Table)}
    return any(not column.table and column.name.lower() in tables for column in tree.find_all(exp.Column))


def _name_columns(tree: Any) -> None:
    """Engines name an expression in different ways. It gets its own text as its name."""
    for select in tree.find_all(exp.Select):
        for item in list(select.expressions):
            named = isinstance(item, exp.Alias | exp.Aliases | exp.Column | exp.Dot | exp.UDTF) or item.is_star
            if not named and not item.find(exp.Explode, exp.Posexplode, exp.Inline):
                item.replace(exp.alias_(item.copy(), item.sql(TopicSql, comments=False), quoted=True))


def _names(tree: Any) -> tuple[str, ...] | None:
    """As written: engines also disagree about the case of a column's name. None: a star has names of its own."""
    while isinstance(tree, exp.SetOperation):
        tree = tree.left
    tree = tree.unnest()
    if not isinstance(tree, exp.Select) or not all(isinstance(item, _NAMED) for item in tree.selects):
        return None
    return None if any(item.is_star for item in tree.selects) else tuple(item.alias_or_name for item in tree.selects)
