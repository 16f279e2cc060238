"""`pulsarctl ops sql` on both engines: the same rows, from the same plan."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pulsar
import pytest
from sqlglot import exp

from broker_core.testing import EmbeddedBroker
from pulsarctl.spark.session import spark_session
from pulsarctl.sql.functions import SAME, only_on_spark
from pulsarctl.sql.local import run_local
from pulsarctl.sql.planning import planned
from pulsarctl.sql.printed import csv_text, json_rows, with_names
from pulsarctl.sql.statement import parse
from pulsarctl.tables.access import Access
from pulsarctl.tables.options import TableOptions
from tests.cli.runner import Cli
from tests.sql.expressions import AGGREGATES, EXPRESSIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 3
ORDERS = 60
NOTES = "persistent://public/default/notes"


class Order(pulsar.schema.Record):  # type: ignore[misc]  # the client ships no types
    item = pulsar.schema.String()
    price = pulsar.schema.Double()
    count = pulsar.schema.Integer()
    tags = pulsar.schema.Array(pulsar.schema.String())


@pytest.fixture(scope="module")
def shop(pulsar_broker: EmbeddedBroker) -> EmbeddedBroker:
    """`public/default/orders` with 60 typed orders in three partitions, and `notes` with plain bytes."""
    pulsar_broker.create_partitioned_topic("persistent://public/default/orders", PARTITIONS)
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    orders = client.create_producer("orders", schema=pulsar.schema.JsonSchema(Order), batching_enabled=True)
    for i in range(ORDERS):
        order = Order(item=f"item-{i % 7}", price=i / 4, count=i % 5, tags=["new"] * (i % 3))
        orders.send_async(order, None, partition_key=f"k{i % 10}", properties={"n": str(i % 4)})
    orders.flush()
    notes = client.create_producer(NOTES, batching_enabled=False)
    for text in ("plain", "é", '{"a": {"b": 7}}'):
        notes.send(text.encode(), partition_key="k1", event_timestamp=1_700_000_000_123)
    notes.send(b"\xff\x00")
    client.close()
    return pulsar_broker


@pytest.fixture(scope="module")
def cli(shop: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(tmp_path_factory.mktemp("home"), shop.http_url, shop.service_url)


def rows(cli: Cli, query: str, *options: str) -> Any:
    outcome = cli("ops", "sql", query, "-o", "json", *options)
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def batched(expressions: list[str]) -> list[list[str]]:
    """Spark takes minutes for a hundred at once."""
    return [expressions[start : start + 16] for start in range(0, len(expressions), 16)]


QUERIES = [
    "SELECT count(*), sum(value.price), avg(value.count), min(value.item), max(value.price) FROM orders",
    "SELECT key, count(*) AS n, sum(value.count) AS c FROM orders GROUP BY key ORDER BY n DESC, key LIMIT 4",
    "SELECT value.item, round(avg(value.price / value.count), 3) FROM orders GROUP BY 1 ORDER BY 1",
    "SELECT partition, count(DISTINCT key) k FROM orders WHERE partition IN (0, 2) GROUP BY partition ORDER BY 1",
    "SELECT * FROM (SELECT key, value FROM orders ORDER BY value.price LIMIT 3) x ORDER BY value.price DESC",
    "SELECT value.item, size(value.tags) s, value.tags[0], value.tags[1] FROM orders ORDER BY value.price LIMIT 5",
    "SELECT item, tag FROM (SELECT value.item, explode(value.tags) AS tag FROM orders) ORDER BY 1, 2 LIMIT 5",
    "SELECT properties['n'] AS n, properties['none'] AS x, count(*) FROM orders GROUP BY 1, 2 ORDER BY 1",
    "SELECT (SELECT count(*) FROM orders WHERE partition = 1) a, (SELECT count(*) FROM orders) b, "
    "(SELECT count(*) FROM orders WHERE value.price > 1000) c",
    "WITH o AS (SELECT key, value.price AS p FROM orders) SELECT a.key, count(*) FROM o a JOIN o b ON a.key = b.key "
    "AND a.p < b.p GROUP BY a.key ORDER BY 1",
    "SELECT o.key, count(n.key) FROM orders o LEFT JOIN notes n ON o.key = n.key GROUP BY 1 ORDER BY 1",
    "SELECT cast(value AS string) AS text, get_json_object(cast(value AS string), '$.a.b') AS b FROM notes "
    "WHERE key IS NOT NULL ORDER BY entry_id",
    "SELECT value, hex(value), key, event_time, year(event_time), date_trunc('hour', event_time) AS h FROM notes "
    "ORDER BY entry_id DESC",
    "SELECT key, sum(value.price) OVER (PARTITION BY key ORDER BY value.price) AS total, "
    "rank() OVER (PARTITION BY key ORDER BY value.price) AS r FROM orders ORDER BY 1, 2 LIMIT 6",
    "SELECT key FROM orders UNION SELECT key FROM notes ORDER BY 1 NULLS LAST",
    "SELECT 1 / 0 AS nothing, 7 / 2 AS half, 7 % 3 AS rest, cast('x' AS int) AS bad, 1.50 * 2 AS three, "
    "CASE WHEN 1 > 2 THEN 'a' END AS c, concat('a', 'b') AS ab, upper('é') AS e, cast(3.7 AS int) AS i",
    "SELECT count(*) FROM orders WHERE partition = 99",
    "SELECT key, max(publish_time) > timestamp '2020-01-01' AS late FROM orders GROUP BY key HAVING count(*) > 5 "
    "ORDER BY key DESC LIMIT 2",
    "SELECT key k1, key k2, key FROM notes ORDER BY entry_id LIMIT 1",
    *(f"SELECT {', '.join(some)} FROM notes ORDER BY entry_id LIMIT 3" for some in batched(EXPRESSIONS)),
    f"SELECT {', '.join(AGGREGATES)} FROM orders",
]


def test_every_function_of_the_local_engine_is_compared_with_spark() -> None:
    trees = [node for query in QUERIES for node in parse(query, datetime.now(UTC)).tree.walk()]
    used = {node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__ for node in trees}
    assert SAME - used == set()


def test_the_local_engine_counts_and_sums_what_was_sent(cli: Cli) -> None:
    assert rows(cli, QUERIES[0]) == [
        {
            "COUNT(*)": ORDERS,
            "SUM(value.price)": sum(range(ORDERS)) / 4,
            "AVG(value.count)": 2.0,
            "MIN(value.item)": "item-0",
            "MAX(value.price)": (ORDERS - 1) / 4,
        }
    ]


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark")
    from pulsarctl.spark.jobs.sql import SETTINGS

    options = {"spark.sql.shuffle.partitions": "2", **SETTINGS}
    with spark_session("tests", "local[2]", options=options, short=True) as session:
        yield session


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_spark_and_the_local_engine_find_the_same_rows(
    cli: Cli, shop: EmbeddedBroker, spark: "SparkSession", query: str
) -> None:
    from pulsarctl.spark.jobs.sql import run_spark

    statement = parse(query, datetime.now(UTC))
    assert only_on_spark(statement.tree) == []
    references = planned(statement.references, replace(TableOptions(), access=Access(shop.service_url, shop.http_url)))
    local = with_names(run_local(statement, references, lambda done, count: None), statement.names)
    there = with_names(run_spark(spark.sparkContext, statement, references, lambda done: None), statement.names)
    assert list(differences(there, local)) == []
    assert "".join(csv_text(there)) == "".join(csv_text(local))


def differences(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Of results with hundreds of columns, those that differ."""
    assert (one.num_rows, one.column_names) == (other.num_rows, other.column_names)
    for first, second in zip(json_rows(one), json_rows(other), strict=True):
        yield from ((name, value, second[name]) for name, value in first.items() if value != second[name])


def test_a_row_as_a_value_has_every_column(cli: Cli) -> None:
    (row,) = rows(cli, "SELECT n FROM notes n WHERE n.entry_id = 0")
    (columns,) = rows(cli, "SELECT * FROM notes WHERE entry_id = 0")
    assert row["n"].keys() == columns.keys()
