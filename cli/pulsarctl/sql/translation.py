"""Spark SQL -> DuckDB where sqlglot's translation would give other rows.

Spark reads bytes as UTF-8 when a query casts them to text, truncates a fraction that is cast to an integer, and finds
NULL in text that is no JSON, where DuckDB escapes, rounds, and fails. Some functions return another type.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from pulsarctl.sql.planning import PlannedReference
from pulsarctl.sql.statement import Statement

MACROS = (
    "CREATE TEMP MACRO pulsar_text(x) AS try(decode(x))",
    "CREATE TEMP MACRO pulsar_json(x) AS CASE WHEN json_valid(x) THEN x END",
    r"""CREATE TEMP MACRO pulsar_trim(x) AS
         regexp_replace(CAST(x AS VARCHAR), '^[\x00-\x20\x7f]+|[\x00-\x20\x7f]+$', '', 'g')""",
    # the digits before the point; a zero makes a number of '.5'
    r"""CREATE TEMP MACRO pulsar_whole(x) AS CASE
         WHEN typeof(x) = 'VARCHAR' THEN CASE
           WHEN regexp_full_match(pulsar_trim(x), '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)')
           THEN TRY_CAST(regexp_replace(pulsar_trim(x), '^([+-]?)([0-9]*).*', '\10\2') AS HUGEINT) END
         WHEN typeof(x) IN ('BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT')
         THEN TRY_CAST(x AS HUGEINT) ELSE TRY_CAST(trunc(TRY_CAST(x AS DOUBLE)) AS HUGEINT) END""",
    # a month and a year are their first day; a word such as 'infinity' is none
    """CREATE TEMP MACRO pulsar_day(x) AS CASE
         WHEN NOT regexp_matches(pulsar_trim(x), '^[-+T]?[0-9]') THEN NULL
         WHEN regexp_full_match(pulsar_trim(x), '[0-9]{4}') THEN pulsar_trim(x) || '-01-01'
         WHEN regexp_full_match(pulsar_trim(x), '[0-9]{4}-[0-9]{1,2}') THEN pulsar_trim(x) || '-01'
         ELSE pulsar_trim(x) END""",
    """CREATE TEMP MACRO pulsar_time(x) AS CASE
         WHEN typeof(x) IN ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'FLOAT', 'DOUBLE')
           OR starts_with(typeof(x), 'DECIMAL') THEN try(to_timestamp(TRY_CAST(x AS DOUBLE)))
         WHEN typeof(x) = 'VARCHAR' THEN TRY_CAST(pulsar_day(x) AS TIMESTAMPTZ)
         ELSE TRY_CAST(x AS TIMESTAMPTZ) END""",
    """CREATE TEMP MACRO pulsar_date(x) AS CASE
         WHEN typeof(x) = 'VARCHAR' THEN TRY_CAST(pulsar_day(x) AS DATE) ELSE TRY_CAST(x AS DATE) END""",
    "CREATE TEMP MACRO pulsar_count(x) AS CASE WHEN x < 0 THEN 0 ELSE x END",
    "CREATE TEMP MACRO pulsar_start(x) AS CASE WHEN x = 0 THEN 1 ELSE x END",
    """CREATE TEMP MACRO pulsar_contains(a, x) AS CASE
         WHEN list_contains(a, x) THEN true WHEN x IS NULL OR len(a) > list_count(a) THEN NULL
         ELSE list_contains(a, x) END""",
    # Java writes other numbers as 1.0E7, and there is no one text of an array.
    """CREATE TEMP MACRO pulsar_string(x) AS CASE
         WHEN x IS NULL THEN NULL
         WHEN typeof(x) IN ('VARCHAR', 'BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'DATE',
           'TIMESTAMP') OR starts_with(typeof(x), 'DECIMAL') THEN CAST(x AS VARCHAR)
         WHEN typeof(x) = 'TIMESTAMP WITH TIME ZONE' THEN regexp_replace(CAST(x AS VARCHAR), '[+]00$', '')
         WHEN typeof(x) = 'DOUBLE'
           AND (TRY_CAST(x AS DOUBLE) = 0 OR abs(TRY_CAST(x AS DOUBLE)) BETWEEN 0.001 AND 9999999)
         THEN CAST(x AS VARCHAR)
         ELSE error('only Spark can write this ' || typeof(x) || ' as text') END""",
)
"""What the translated statement calls. Text that is no UTF-8 is NULL."""


def for_duckdb(statement: Statement, references: Sequence[PlannedReference]) -> str:
    fields = [field for each in references for field in each.table.schema]
    binary = {field.name for field in fields if pa.types.is_binary(field.type)}
    maps = {field.name for field in fields if pa.types.is_map(field.type)}
    tree = exp.Select(expressions=[statement.tree.copy()])  # a parent, so that the statement itself can be replaced
    for kind, translated in _TRANSLATIONS.items():
        for node in reversed(list(tree.find_all(kind))):  # the inner ones first, because the outer ones copy them
            if type(node) is kind:
                translated(node, binary if kind is not exp.ArraySize else maps)
    return str(tree.expressions[0].sql("duckdb"))


def _cast(node: Any, binary: set[str]) -> None:
    if node.to.is_type(*exp.DataType.INTEGER_TYPES):
        node.set("this", _call("pulsar_whole", node.this))
    elif node.to.is_type("timestamp", "timestamptz", "date"):
        _cast_to_time(node)
    elif node.to.is_type(*exp.DataType.TEXT_TYPES):
        node.replace(_string(node.this, binary))


def _cast_to_time(node: Any) -> None:
    is_date = node.to.is_type("date")
    if node.to.is_type("timestamp"):  # a function makes it without a zone, and Spark's has one
        node.set("to", exp.DataType.build("timestamptz"))
    text = node.this.name if isinstance(node.this, exp.Literal) else ""
    if "-" not in text[5:] or text != text.strip():  # not a whole date
        node.set("this", _call("pulsar_date" if is_date else "pulsar_time", node.this))


def _texts(node: Any, binary: set[str]) -> None:
    node.set("expressions", [_string(each, binary) for each in node.expressions])


def _both_texts(node: Any, binary: set[str]) -> None:
    node.set("this", _string(node.this, binary))
    node.set("expression", _string(node.expression, binary))


def _string(operand: Any, binary: set[str]) -> Any:
    if isinstance(operand, exp.Literal) and operand.is_string:
        return operand.copy()
    return _call("pulsar_text" if _is_one_of(operand, binary) else "pulsar_string", operand)


def _json(node: Any, _: set[str]) -> None:
    node.set("this", _call("pulsar_json", node.this))


def _day(node: Any, _: set[str]) -> None:
    """Of a date and days it makes a date."""
    node.replace(exp.cast(node.copy(), "date"))


def _date(node: Any, _: set[str]) -> None:
    if not node.args.get("format"):
        node.replace(_call("pulsar_date", node.this))


def _integer(node: Any, _: set[str]) -> None:
    """Of a double, too."""
    node.replace(exp.cast(node.copy(), "bigint"))


def _percentile(node: Any, _: set[str]) -> None:
    node.replace(exp.Anonymous(this="quantile_cont", expressions=[node.this.copy(), node.args["quantile"].copy()]))


def _length(node: Any, binary: set[str]) -> None:
    if _is_one_of(node.this, binary):
        node.replace(_call("octet_length", node.this))


def _size(node: Any, maps: set[str]) -> None:
    if _is_one_of(node.this, maps):
        node.replace(_call("cardinality", node.this))


def _best(node: Any, _: set[str]) -> None:
    """DuckDB's passes over rows whose value is NULL."""
    name = "arg_max_null" if isinstance(node, exp.ArgMax) else "arg_min_null"
    node.replace(_call(name, node.this, node.expression))


def _elapsed(node: Any, _: set[str]) -> None:
    """DuckDB's DATE_DIFF counts how often a unit begins, not how often it is over."""
    node.replace(_call("date_sub", exp.Literal.string(node.text("unit")), node.expression, node.this))


def _like(node: Any, _: set[str]) -> None:
    """DuckDB has no escape character unless it is named."""
    pattern = node.expression
    is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    if not (is_plain or isinstance(node.parent, exp.Escape)):
        node.replace(exp.Escape(this=node.copy(), expression=exp.Literal.string("\\")))


def _substring(node: Any, _: set[str]) -> None:
    """Spark counts from 0 or 1, and knows no negative length."""
    for name, fitted in (("start", "pulsar_start"), ("length", "pulsar_count")):
        if node.args.get(name) is not None:
            node.set(name, _call(fitted, node.args[name]))


def _end(node: Any, _: set[str]) -> None:
    node.set("expression", _call("pulsar_count", node.expression))


def _logarithm(node: Any, _: set[str]) -> None:
    """NULL where there is none."""
    operands = [each for each in (node.this, node.args.get("expression")) if each is not None]
    exist = exp.and_(*(exp.GT(this=each.copy(), expression=exp.Literal.number(0)) for each in operands))
    node.replace(exp.Case(ifs=[exp.If(this=exist, true=node.copy())]))


def _contains(node: Any, _: set[str]) -> None:
    node.replace(_call("pulsar_contains", node.this, node.expression))


def _remainder(node: Any, _: set[str]) -> None:
    """NULL for a division by zero."""
    node.set("expression", exp.Nullif(this=node.expression.copy(), expression=exp.Literal.number(0)))


def _whole_division(node: Any, names: set[str]) -> None:
    for operand in ("this", "expression"):
        whole = _call("pulsar_whole", node.args[operand])
        node.set(operand, exp.TryCast(this=whole, to=exp.DataType.build("bigint")))
    _remainder(node, names)


def _made_date(node: Any, _: set[str]) -> None:
    """NULL if there is no such day."""
    if node.name.lower() == "make_date":
        node.replace(_call("try", node))


def _is_one_of(operand: Any, names: set[str]) -> bool:
    column = operand.unnest()
    return isinstance(column, exp.Column) and column.name in names


def _call(name: str, *operands: Any) -> Any:
    return exp.Anonymous(this=name, expressions=[each.copy() for each in operands])


_TRANSLATIONS: dict[Any, Callable[[Any, set[str]], None]] = {
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Concat: _texts,
    exp.ConcatWs: _texts,
    exp.DPipe: _both_texts,
    exp.JSONExtractScalar: _json,
    exp.TsOrDsAdd: _day,
    exp.TsOrDsToDate: _date,
    exp.Quantile: _percentile,
    exp.Ceil: _integer,
    exp.Floor: _integer,
    exp.IntDiv: _whole_division,
    exp.Length: _length,
    exp.ArraySize: _size,
    exp.Anonymous: _made_date,
    exp.ArgMax: _best,
    exp.ArgMin: _best,
    exp.ArrayContains: _contains,
    exp.Left: _end,
    exp.Right: _end,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Ln: _logarithm,
    exp.Log: _logarithm,
    exp.Mod: _remainder,
    exp.Substring: _substring,
    exp.TimestampDiff: _elapsed,
}
