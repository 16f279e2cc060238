"""The text of a query: topics by name, conditions on each mention of a topic, columns that are needed."""

from datetime import UTC, datetime

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.sql.conditions import Conditions, Span
from pulsarctl.sql.engine import SqlEngine
from pulsarctl.sql.statement import Statement, parse

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = int(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000


def parsed(text: str, engine: SqlEngine = SqlEngine.LOCAL) -> Statement:
    return parse(text, NOW, engine)


def conditions(text: str) -> list[Conditions]:
    return [each.conditions for each in parsed(text).references]


def only(where: str) -> Conditions:
    (found,) = conditions(f"SELECT key FROM t WHERE {where}")
    return found


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("orders", "persistent://public/default/orders"),
        ('"orders-partition-1"', "persistent://public/default/orders-partition-1"),
        ('"shop/eu/orders"', "persistent://shop/eu/orders"),
        ('"persistent://shop/eu/orders"', "persistent://shop/eu/orders"),
        ("shop.eu.orders", "persistent://shop/eu/orders"),
        ('"shop/eu".orders', "persistent://shop/eu/orders"),
        ('pulsar."shop/eu".orders', "persistent://shop/eu/orders"),
    ],
)
def test_a_topic_is_named_in_each_of_these_ways(name: str, topic: str) -> None:
    for engine in SqlEngine:
        (reference,) = parsed(f"SELECT key FROM {name}", engine).references
        assert reference.topic == topic


def test_backticks_quote_names_for_spark() -> None:
    (reference,) = parsed("SELECT key FROM `shop/eu/orders`", SqlEngine.SPARK).references
    assert reference.topic == "persistent://shop/eu/orders"


def test_a_name_of_a_with_clause_is_no_topic() -> None:
    found = parsed("WITH recent AS (SELECT * FROM orders) SELECT * FROM recent JOIN recent AS again USING (key)")
    assert [each.written for each in found.references] == ["orders"]


def test_a_topic_that_is_named_twice_is_two_references_with_their_own_conditions() -> None:
    found = conditions("SELECT (SELECT count(*) FROM t WHERE partition = 1), (SELECT count(*) FROM t)")
    assert sorted((each.partition.low for each in found), key=str) == [1, None]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT 1 FROM WHERE", "cannot read the query: line 1, column"),
        ("SELECT 1; SELECT 2", "cannot run 2 statements at once"),
        ("", "cannot run 0 statements at once"),
        ("INSERT INTO t SELECT 1", "cannot run INSERT: ops sql only reads"),
        ("DROP TABLE t", "cannot run DROP: ops sql only reads"),
        ('SELECT * FROM "a/b"', "'a/b' is not a topic name"),
        ("SELECT * FROM t, t", "cannot run the query"),
    ],
)
def test_what_is_no_query_of_topics_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageProblem) as found:
        parsed(text)
    assert found.value.message.startswith(problem)


@pytest.mark.parametrize(
    ("where", "span"),
    [
        ("publish_time >= '2026-03-01T12:00:00Z'", Span(NOON_MS)),
        ("publish_time > timestamp '2026-03-01 12:00:00'", Span(NOON_MS)),
        ("publish_time >= date '2026-03-01'", Span(NOON_MS - 12 * HOUR_MS)),
        ("t.publish_time < '2026-03-01 12:00:00'", Span(None, NOON_MS)),
        ("'2026-03-01 12:00:00' > publish_time", Span(None, NOON_MS)),
        ("publish_time > now() - interval 1 hour", Span(NOON_MS - HOUR_MS)),
        ("publish_time > current_timestamp - interval '1' hour", Span(NOON_MS - HOUR_MS)),
        ("publish_time > current_date", Span(NOON_MS - 12 * HOUR_MS)),
        ("publish_time > date_trunc('day', now())", Span(NOON_MS - 12 * HOUR_MS)),
        (
            "publish_time between '2026-03-01 12:00:00' and '2026-03-01 13:00:00'",
            Span(NOON_MS, NOON_MS + HOUR_MS),
        ),
        ("(publish_time > '2026-03-01 12:00:00' and (publish_time < now()))", Span(NOON_MS, NOON_MS)),
        ("publish_time = '2026-03-01 12:00:00'", Span(NOON_MS, NOON_MS)),
    ],
)
def test_a_bound_on_the_publish_time_is_found(where: str, span: Span) -> None:
    assert only(where) == Conditions(publish_time=span)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("ledger_id = 5 and entry_id between 3 and 9", Conditions(ledger_id=Span(5, 5), entry_id=Span(3, 9))),
        ("ledger_id in (5, 9) and 7 <= ledger_id", Conditions(ledger_id=Span(7, 9))),
        ("partition = 2", Conditions(partition=Span(2, 2))),
        ("partition = -1", Conditions(partition=Span(-1, -1))),
        ("PARTITION IN (0, 2) AND partition IN (2, 3)", Conditions(partitions=frozenset({2}))),
        (
            "message_id = '5:3:1:0'",
            Conditions(ledger_id=Span(5, 5), entry_id=Span(3, 3), partition=Span(1, 1)),
        ),
    ],
)
def test_a_bound_on_the_position_is_found(where: str, found: Conditions) -> None:
    assert only(where) == found


@pytest.mark.parametrize(
    "where",
    [
        "publish_time > '2026-03-01' or key = 'a'",
        "not (publish_time > '2026-03-01')",
        "publish_time > today()",
        "partition between symmetric 2 and 1",
        "publish_time not between '2026-03-01' and '2026-03-02'",
        "publish_time > event_time",
        "publish_time > (select max(publish_time) from u)",
        "publish_time > 'no time'",
        "publish_time + interval 1 hour > '2026-03-01'",
        "value.publish_time > '2026-03-01'",
        "o.t.publish_time > '2026-03-01'",
        "partition not in (1, 2)",
        "partition in (select 1)",
        "partition <> 1",
        "ledger_id > 5.5",
        "ledger_id > '5'",
        "message_id > '5:3:1'",
        "message_id = 'nothing'",
        "publish_time is null",
    ],
)
def test_what_is_no_bound_on_every_row_is_ignored(where: str) -> None:
    assert all(each == Conditions() for each in conditions(f"SELECT key FROM t WHERE {where}"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY key) n FROM t) WHERE partition = 1",
        "SELECT * FROM t AS t(a, partition) WHERE partition = 1",
        "SELECT * FROM t TABLESAMPLE (10 ROWS) WHERE partition = 1",
        "SELECT partition, count(*) FROM t GROUP BY 1 HAVING partition = 1",
        "SELECT * FROM t LEFT JOIN (SELECT 1 AS k) u ON t.partition = 1",
        "SELECT * FROM t USING SAMPLE 10 WHERE partition = 1",
        "SELECT * FROM t WHERE partition = 1 USING SAMPLE 10",
        "SELECT * FROM t POSITIONAL JOIN u WHERE t.partition = 1",
        "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE t.partition = 1)",
    ],
)
def test_a_bound_that_applies_later_or_elsewhere_is_ignored(query: str) -> None:
    assert all(each == Conditions() for each in conditions(query))


def test_a_lateral_view_of_spark_may_have_the_column() -> None:
    query = "SELECT * FROM t LATERAL VIEW explode(array(1)) x AS partition WHERE partition = 1"
    assert [each.conditions for each in parsed(query, SqlEngine.SPARK).references] == [Conditions()]


def test_an_inner_join_bounds_both_sides_and_where_bounds_the_outer_side() -> None:
    inner = conditions("SELECT a.key FROM a JOIN b ON a.key = b.key AND a.partition = 1 AND b.partition = 2")
    outer = conditions("SELECT a.key FROM a LEFT JOIN b ON a.key = b.key WHERE b.partition = 2")
    assert [each.partition.low for each in inner] == [1, 2]
    assert [each.partition.low for each in outer] == [None, 2]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT count(*) FROM t", ("entry_id",)),
        ("SELECT key, sum(value.price) FROM t WHERE PARTITION = 1 GROUP BY key", ("partition", "key", "value")),
        ("SELECT columns('k.*') FROM t", ("partition", "entry_id", "key", "value")),
        ("SELECT t.* FROM t", ("partition", "entry_id", "key", "value")),
        ("SELECT a.key FROM t a NATURAL JOIN u", ("partition", "entry_id", "key", "value")),
        ("SELECT a FROM t AS t(a, b, c, d)", ("partition", "entry_id", "key", "value")),
    ],
)
def test_only_columns_that_the_query_may_need_are_read(query: str, columns: tuple[str, ...]) -> None:
    assert parsed(query).references[0].columns(("partition", "entry_id", "key", "value")) == columns


@pytest.mark.parametrize("engine", SqlEngine)
def test_an_engine_gets_the_query_as_it_is_written_with_other_names_of_topics(engine: SqlEngine) -> None:
    query = """SELECT 'é' AS x, orders.key, o . key -- now() of orders
      FROM orders, shop . eu . "orders" o, "shop/eu/x" WHERE strange (orders.key) ;"""
    quote = {SqlEngine.LOCAL: '"', SqlEngine.SPARK: "`"}[engine]
    assert parsed(query, engine).text == (
        query.replace('"shop/eu/x"', f"topic_2 AS {quote}shop/eu/x{quote}")
        .replace('shop . eu . "orders" o', "topic_1 o")
        .replace("FROM orders,", f"FROM topic_0 AS {quote}orders{quote},")
    )


def test_the_time_stands_still_during_a_query() -> None:
    written = "SELECT now(), NOW ( ), current_timestamp, current_date, t.now, 'now()', \"now\"() FROM t"
    now, day = "'2026-03-01 12:00:00+00:00'", "DATE '2026-03-01'"
    rest = "t.now, 'now()', \"now\"() FROM topic_0 AS"
    local = f"TIMESTAMPTZ {now}"
    spark = f"TIMESTAMP {now}"
    assert parsed(written).text == f'SELECT {local}, {local}, {local}, {day}, {rest} "t"'
    assert parsed(written, SqlEngine.SPARK).text == f"SELECT {spark}, {spark}, {spark}, {day}, {rest} `t`"
    assert parsed("SELECT current_timestamp() FROM t", SqlEngine.SPARK).text == f"SELECT {spark} FROM topic_0 AS `t`"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t FROM orders t",
        "SELECT orders FROM orders",
        "SELECT T FROM orders t",
        "SELECT to_json(t) FROM orders t",
        "SELECT max(orders) FROM shop.eu.orders",
    ],
)
def test_a_row_as_a_value_needs_every_column(query: str) -> None:
    (reference,) = parsed(query).references
    assert reference.columns(("key", "value", "entry_id")) == ("key", "value", "entry_id")


def test_a_qualified_column_needs_no_other_column() -> None:
    (reference,) = parsed("SELECT t.key FROM orders t").references
    assert reference.columns(("key", "value", "entry_id")) == ("key",)
