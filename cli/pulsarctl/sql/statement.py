"""The text of a query -> the text for its engine, and its references to topics.

A topic is named `orders`, `"shop/eu/orders"`, `"persistent://shop/eu/orders"`, `shop.eu.orders`, or
`"shop/eu".orders`. The engine gets the query as it is written, except that each mention of a topic has a name of its
own, and that the time stands still.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from pulsarctl.errors import UsageProblem
from pulsarctl.sql.conditions import Conditions, conditions_of
from pulsarctl.sql.dialects import DIALECTS
from pulsarctl.sql.engine import SqlEngine
from pulsarctl.sql.fixed_time import Edit, edited, with_time
from pulsarctl.values.names import readable_topic

_READS = "specify a SELECT; to write messages, use produce, ops import, or ops replay"


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
        """The columns that the statement may need. There is at least one, because it counts the rows."""
        if self.names is None:
            return tuple(known)
        return tuple(name for name in known if name.lower() in self.names) or ("entry_id",)


@dataclass(frozen=True, slots=True)
class Statement:
    """`text` is for the engine, and names the references by their relations. `tree` is the query as it was written."""

    text: str
    tree: Any
    references: tuple[TopicReference, ...]


def parse(text: str, now: datetime, engine: SqlEngine = SqlEngine.LOCAL, *, bounded: bool = True) -> Statement:
    """`bounded` False: no conditions are looked for, and topics are read as a whole. Raises `UsageProblem`."""
    text, tree = _one_query(text, now.astimezone(UTC), engine)
    names = _column_names(tree)
    try:
        mentions = list(_mentions(tree))
    except OptimizeError as error:
        raise UsageProblem(f"cannot run the query: {error}") from error
    references, edits = [], []
    for number, (table, scope) in enumerate(mentions):
        written, topic = _topic(table)
        conditions = conditions_of(table, scope) if bounded else Conditions()
        references.append(TopicReference(f"topic_{number}", written, topic, conditions, names))
        edits.append(_renamed(table, f"topic_{number}", engine))
    return Statement(edited(text, edits), tree, tuple(references))


def _one_query(text: str, now: datetime, engine: SqlEngine) -> tuple[str, Any]:
    """With the time in its text."""
    dialect = DIALECTS[engine]
    try:
        text = with_time(text, now, engine)
        trees = [tree for tree in sqlglot.parse(text, dialect=dialect) if tree is not None]
    except SqlglotError as error:
        raise UsageProblem(f"cannot read the query: {_reason(error)}") from error
    if len(trees) != 1:
        raise UsageProblem(f"cannot run {len(trees)} statements at once", hint="specify one SELECT")
    if not isinstance(trees[0], exp.Query):
        word = trees[0].sql(dialect).partition(" ")[0].upper()
        raise UsageProblem(f"cannot run {word}: ops sql only reads", hint=_READS)
    return text, trees[0]


def _reason(error: SqlglotError) -> str:
    """Its own text has control sequences of a terminal."""
    for found in getattr(error, "errors", ()):
        return f"line {found['line']}, column {found['col']}, at '{found['highlight']}': {found['description']}"
    return str(error).partition("\n")[0]


def _mentions(tree: Any) -> Iterator[tuple[Any, Scope]]:
    """Each table that is no CTE and no function, with the scope that names it."""
    known: set[int] = set()
    for scope in traverse_scope(tree):
        for _, source in scope.selected_sources.values():
            if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier) and id(source) not in known:
                known.add(id(source))
                yield source, scope


def _topic(table: Any) -> tuple[str, str]:
    """As written, and its full name."""
    parts = [part.name for part in table.parts]
    if len(parts) == 3 and parts[0] == "pulsar" and "/" in parts[1]:  # as in Pulsar SQL
        del parts[0]
    written = "/".join(parts)
    if written.startswith("non-persistent://"):
        raise UsageProblem(f"cannot read {written}: a non-persistent topic keeps no messages")
    return written, readable_topic(written)


def _renamed(table: Any, relation: str, engine: SqlEngine) -> Edit:
    """Columns may still be qualified by the name of the topic."""
    if not table.alias:
        relation += f" AS {exp.to_identifier(table.name, quoted=True).sql(DIALECTS[engine])}"
    places = [part.meta for part in table.parts]
    return min(place["start"] for place in places), max(place["end"] for place in places) + 1, relation


def _column_names(tree: Any) -> frozenset[str] | None:
    stars = [star for star in tree.find_all(exp.Star, exp.Columns) if not isinstance(star.parent, exp.Count)]
    natural = [join for join in tree.find_all(exp.Join) if join.args.get("method")]
    renamed = [alias for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns")]
    if stars or natural or renamed or tree.find(exp.Pivot) or _has_whole_rows(tree):
        return None
    return frozenset(node.name.lower() for node in tree.find_all(exp.Identifier))


def _has_whole_rows(tree: Any) -> bool:
    """In `SELECT t FROM orders t`, `t` may be a struct of all columns."""
    tables = {table.alias_or_name.lower() for table in tree.find_all(exp.Table)}
    return any(not column.table and column.name.lower() in tables for column in tree.find_all(exp.Column))
