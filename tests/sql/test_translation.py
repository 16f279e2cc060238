"""Expressions of the local engine whose values are known from Spark, and forms of functions that only Spark may run."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import duckdb
import pytest

from pulsarctl.sql.database import database
from pulsarctl.sql.functions import only_on_spark
from pulsarctl.sql.statement import parse
from pulsarctl.sql.translation import MACROS, for_duckdb

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = "(values (1, 'old'), (2, null)) as t(n, text)"


@pytest.fixture(scope="module")
def local() -> Iterator[duckdb.DuckDBPyConnection]:
    with database() as connection:
        for macro in MACROS:
            connection.execute(macro)
        yield connection


def value_of(local: duckdb.DuckDBPyConnection, query: str) -> Any:
    statement = parse(query, NOW)
    assert only_on_spark(statement.tree) == []
    return local.execute(for_duckdb(statement, ())).fetchall()[0][0]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("timestampdiff(minute, timestamp '2026-01-01 00:00:59', timestamp '2026-01-01 00:01:01')", 0),
        ("timestampdiff(hour, timestamp '2026-01-01 00:59:00', timestamp '2026-01-01 02:00:00')", 1),
        ("datediff(date '2026-01-03', date '2026-01-01')", 2),
        ("cast(1700000000 as timestamp)", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("cast('2026-02' as timestamp)", datetime(2026, 2, 1, tzinfo=UTC)),
        ("cast('2026-02-03 04:05:06' as timestamp)", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("cast(timestamp '2026-02-03 04:05:06' as date)", date(2026, 2, 3)),
        ("cast('2026' as date)", date(2026, 1, 1)),
        ("cast('nothing' as date)", None),
        ("cast('infinity' as timestamp)", None),
        ("cast('-infinity' as date)", None),
        ("to_date('2026')", date(2026, 1, 1)),
        ("to_date('2026-02')", date(2026, 2, 1)),
        ("to_date('nothing')", None),
        ("datediff('2026-02', '2026-01-01')", 31),
        ("cast(cast('nan' as double) as timestamp)", None),
        ("cast('1e3' as int)", None),
        ("cast('0x10' as int)", None),
        ("cast('1_000' as int)", None),
        ("cast(' -12 ' as int)", -12),
        ("cast('3.9' as int)", 3),
        ("cast('12\n' as int)", 12),
        ("cast('\t-3.9\r\n' as int)", -3),
        ("cast('-.5' as int)", 0),
        ("cast('9007199254740993.5' as bigint)", 9007199254740993),
        ("cast('2026-02-03\n' as timestamp)", datetime(2026, 2, 3, tzinfo=UTC)),
        ("cast('2026\n' as date)", date(2026, 1, 1)),
        ("cast(cast('1e3' as string) as bigint)", None),
        ("ln(ln(1))", None),
        ("'a_b' like 'a\\_b'", True),
        ("'axb' like 'a\\_b'", False),
        ("not 'a_b' like 'a\\_b'", False),
        ("'A_b' ilike 'a\\_b'", True),
        ("substring('abc', 0, 1)", "a"),
        ("substring('abc', 2)", "bc"),
        ("substring('abc', 1, length('') - 1)", ""),
        ("left('ab', -1)", ""),
        ("right('ab', -1)", ""),
        ("right('ab', 1)", "b"),
        ("array_contains(array(1, null), 2)", None),
        ("array_contains(array(1, null), 1)", True),
        ("array_contains(array(1, 3), 2)", False),
        ("ln(0)", None),
        ("log10(-1)", None),
        ("log10(100)", 2.0),
        ("7 % 0", None),
        ("7.5 % 0", None),
        ("7 div 0", None),
        ("7.5 div 2", 3),
        ("-7 div 2", -3),
        ("make_date(2026, 2, 30)", None),
        ("make_date(2026, 2, 28)", date(2026, 2, 28)),
    ],
)
def test_an_expression_has_the_value_that_spark_finds(
    local: duckdb.DuckDBPyConnection, expression: str, value: Any
) -> None:
    assert value_of(local, f"select {expression} as x") == value


@pytest.mark.parametrize(("function", "value"), [("max_by", None), ("min_by", "old")])
def test_the_best_row_may_have_no_value(local: duckdb.DuckDBPyConnection, function: str, value: str | None) -> None:
    assert value_of(local, f"select {function}(text, n) as x from {ROWS}") == value


@pytest.mark.parametrize(
    "expression",
    [
        "timestampdiff(month, timestamp '2026-01-31 00:00:00', timestamp '2026-02-28 00:00:00')",
        "datediff(hour, now(), now())",
        "regexp_replace('abcb', '(b)', '[$1]')",
        "regexp_replace('abcb', 'b', lower('$0'))",
        "extract(dow from now())",
        "extract(second from now())",
        "date_part('dayofweek', now())",
        "sha2('a', 512)",
        "ceil(1.234, 2)",
        "floor(1.234, 2)",
        "split('a,b,c', ',', 2)",
        "get_json_object('[]', '$[*].a')",
        "array_distinct(array(1, null))",
        "'a_b' like any ('a\\_b', 'x')",
        "'a_b' not like all ('a_b', 'x')",
        "date_part()",
    ],
)
def test_a_form_that_could_differ_is_for_spark(expression: str) -> None:
    assert len(only_on_spark(parse(f"select {expression} as x", NOW).tree)) == 1
