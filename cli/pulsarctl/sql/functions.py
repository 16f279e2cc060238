"""What the local engine may run: functions that are tested to find the same on both engines.

Engines agree about a name more often than about what it does: sample or population, Sunday or Monday, NULL or an
error. Any other function is for Spark.
"""

import re
from typing import Any

from sqlglot import exp

_NAMES = """
Abs AddMonths And AnyValue ArgMax ArgMin Array ArrayAgg ArrayContains ArrayDistinct ArrayFilter ArraySize
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
_FORMAT = re.compile(r"(%[YmdHMS](strict)?|[^%A-Za-z])*")


def only_on_spark(tree: Any) -> list[str]:
    """The functions of a statement that only Spark may run, as written in Spark SQL."""
    found = {_spelled(node) for node in tree.find_all(exp.Func) if not _is_same(node)}
    return sorted(found)


def _is_same(node: Any) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower() in SAME
    if isinstance(node, exp.Exists) and not isinstance(node.this, exp.Query):  # of an array
        return False
    if isinstance(node, exp.TimeToStr) and not _FORMAT.fullmatch(node.text("format")):
        return False
    return type(node).__name__ in SAME


def _spelled(node: Any) -> str:
    return str(node.sql("spark")).partition("(")[0].lower()
