"""What the local engine may run: functions that are tested to find the same on both engines.

Engines agree about a name more often than about what it does: sample or population, Sunday or Monday, NULL or an
error. Any other function is for Spark.
"""

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

_NAMES = """
Abs AddMonths And AnyValue ArgMax ArgMin Array ArrayAgg ArrayContains ArrayFilter ArraySize
ArraySlice ArraySort ArrayToString ArrayUniqueAgg Avg BitwiseCount Case Cast Ceil Coalesce Concat ConcatWs Count
CountIf DateDiff DenseRank Exists Explode Extract Floor GenerateSeries Greatest Hex Hour If Initcap IsNan
JSONExtractScalar JSONFormat Lag LastDay Lead Least Left Length Ln Log LogicalAnd LogicalOr Lower MD5 MapKeys Max
Median Min MonthsBetween Nullif Or Pad Pow Quantile Quarter Rank Reduce RegexpExtract RegexpLike RegexpReplace
RegexpSplit Replace Reverse Right Round RowNumber SHA2 Stddev StddevPop StrPosition Struct Substring Sum
TimeStrToTime TimeToStr TimestampDiff TimestampTrunc ToBase64 Transform Trim TryCast TsOrDsAdd TsOrDsToDate
UnixMillis UnixToStr Upper VarMap Variance WeekOfYear Year Month Day Minute Second
bin date_part make_date
"""
SAME = frozenset(_NAMES.split())
_PARTS = ("year", "quarter", "month", "day", "hour", "minute")  # Sunday is 1 or 0, and a second has a fraction or not
_ELAPSED = ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")  # longer ones end differently
_FORMAT = re.compile(r"(%[YmdHMS](strict)?|[^%A-Za-z])*")


def only_on_spark(tree: Any) -> list[str]:
    """The functions of a statement that only Spark may run, as written in Spark SQL."""
    found = {_spelled(node) for node in tree.find_all(exp.Func) if not _is_same(node)}
    found |= {f"like {type(node).__name__.lower()}" for node in tree.find_all(exp.Any, exp.All)}
    return sorted(found)


def _is_same(node: Any) -> bool:
    if isinstance(node, exp.Anonymous):
        name = str(node.name).lower()
        return name in SAME and (name != "date_part" or any(map(_is_part, node.expressions[:1])))
    form = _FORMS.get(type(node))
    return type(node).__name__ in SAME and (form is None or form(node))


def _is_part(name: Any) -> bool:
    return isinstance(name, exp.Literal | exp.Var) and name.name.lower() in _PARTS


def _is_plain_path(node: Any) -> bool:
    """Without wildcards, slices, and places from the end."""
    path = node.expression
    return isinstance(path, exp.JSONPath) and all(
        isinstance(step, exp.JSONPathRoot)
        or (isinstance(step, exp.JSONPathKey) and isinstance(step.this, str))
        or (isinstance(step, exp.JSONPathSubscript) and isinstance(step.this, int) and step.this >= 0)
        for step in path.expressions
    )


def _is_plain_replacement(node: Any) -> bool:
    """`$1` and `\\1` are groups of one engine and text of the other."""
    text = node.args.get("replacement")
    others = any(node.args.get(name) for name in ("position", "occurrence", "modifiers"))
    return not others and isinstance(text, exp.Literal) and not set(text.name) & set("$\\")


_FORMS: dict[Any, Callable[[Any], bool]] = {
    exp.ArgMax: lambda node: not node.args.get("count"),
    exp.ArgMin: lambda node: not node.args.get("count"),
    exp.Ceil: lambda node: not node.args.get("decimals"),
    exp.DateDiff: lambda node: not node.args.get("unit"),
    exp.Exists: lambda node: isinstance(node.this, exp.Query),  # not of an array
    exp.Extract: lambda node: _is_part(node.this),
    exp.Floor: lambda node: not node.args.get("decimals"),
    exp.JSONExtractScalar: _is_plain_path,
    exp.RegexpReplace: _is_plain_replacement,
    exp.RegexpSplit: lambda node: not node.args.get("limit"),
    exp.SHA2: lambda node: node.text("length") in ("", "256"),
    exp.TimestampDiff: lambda node: node.text("unit").upper() in _ELAPSED,
    exp.TimeToStr: lambda node: bool(_FORMAT.fullmatch(node.text("format"))),
}
"""What else must be true of a function that both engines have."""


def _spelled(node: Any) -> str:
    return str(node.sql("spark")).partition("(")[0].lower()
