"""`pulsarctl ops sql --engine spark`: Spark's own SQL on the same tables, and errors of one sentence."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.commands.ops.on_spark import explained_query
from pulsarctl.errors import CliError
from pulsarctl.spark.function_names import unknown_to_spark
from pulsarctl.spark.session import spark_session
from pulsarctl.sql.engine import SqlEngine
from pulsarctl.sql.local import run_local
from pulsarctl.sql.planning import planned
from pulsarctl.sql.printed import json_rows
from pulsarctl.sql.statement import parse
from pulsarctl.tables.access import Access
from pulsarctl.tables.options import TableOptions
from tests.support.runner import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
PULSARCTL = Path(sys.executable).with_name("pulsarctl")
TOPIC = "persistent://public/default/on-spark"
LONG_MAX = 9223372036854775807


@pytest.fixture(scope="module")
def shop(pulsar_broker: EmbeddedBroker) -> EmbeddedBroker:
    pulsar_broker.create_partitioned_topic(TOPIC, 3)
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    producer = client.create_producer(TOPIC)
    for number in range(30):
        producer.send_async(b"%d" % number, None, partition_key=f"k{number % 5}")
    producer.flush()
    client.close()
    return pulsar_broker


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    from pulsarctl.sql.dialects import SPARK_SETTINGS

    options = {"spark.sql.shuffle.partitions": "2", **SPARK_SETTINGS}
    with spark_session("tests", "local[2]", options=options, short=True) as session:
        yield session


def rows(shop: EmbeddedBroker, query: str, spark: "SparkSession | None") -> list[dict[str, Any]]:
    from pulsarctl.spark.jobs.sql import run_spark

    statement = parse(query, datetime.now(UTC), SqlEngine.LOCAL if spark is None else SqlEngine.SPARK)
    references = planned(statement.references, replace(TableOptions(), access=Access(shop.service_url, shop.http_url)))
    if spark is None:
        return list(json_rows(run_local(statement, references, lambda done, count: None)))
    context = spark.sparkContext
    return list(
        json_rows(explained_query(lambda: run_spark(context, statement, references, lambda done: None), "columns"))
    )


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        f'SELECT key, count(*) AS n FROM "{TOPIC}" GROUP BY key ORDER BY key',
        'SELECT a.key, count(*) AS n FROM "on-spark" a JOIN public.default."on-spark" b ON a.key = b.key '
        "WHERE a.partition = 1 AND b.publish_time > now() - interval 1 hour GROUP BY a.key ORDER BY 1;",
        'SELECT count(*) AS n FROM "on-spark" WHERE partition = 99',
    ],
)
def test_spark_reads_the_tables_of_the_local_engine(shop: EmbeddedBroker, spark: "SparkSession", query: str) -> None:
    assert rows(shop, query, spark) == rows(shop, query, None)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("expression", [f"{LONG_MAX} + entry_id + 1", "cast('x' AS int)", "cast(1e30 AS int)"])
def test_overflow_and_a_cast_that_fails_are_errors_of_both_engines(
    shop: EmbeddedBroker, spark: "SparkSession", expression: str
) -> None:
    for engine in (spark, None):
        with pytest.raises(CliError) as found:
            rows(shop, f'SELECT {expression} AS x FROM "on-spark"', engine)
        assert "\n" not in found.value.message


@pytest.mark.spark
@pytest.mark.slow
def test_an_unknown_column_on_spark_is_one_sentence_and_the_columns(shop: EmbeddedBroker) -> None:
    where = ("--admin-url", shop.http_url, "--url", shop.service_url, "--no-context")
    words = ("ops", "sql", 'SELECT nothing FROM "on-spark"', "--engine", "spark", "--master", "local[1]")
    done = subprocess.run([PULSARCTL, *where, *words], capture_output=True, text=True, timeout=120, check=False)
    error, hint = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert error.startswith("error: cannot run the query: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column")
    assert hint.startswith("hint: columns of on-spark: topic, partition, ")


@pytest.mark.parametrize(
    ("query", "name"), [("SELECT * FROM read_csv('x')", "read_csv"), ("SELECT cuont(1), array(1)", "cuont")]
)
def test_a_function_that_spark_does_not_have_is_refused_before_spark_starts(
    shop: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, name: str
) -> None:
    monkeypatch.delattr("pulsarctl.commands.ops.job.start_spark")
    done = Cli(tmp_path, shop.http_url, shop.service_url)("ops", "sql", query, "--engine", "spark")
    hint = "omit --engine spark to run the query in DuckDB's SQL"
    assert (done.exit_code, done.stderr) == (
        2,
        f"error: cannot run the query: Spark has no function {name}\nhint: {hint}\n",
    )


@pytest.mark.spark
@pytest.mark.slow
def test_no_function_of_spark_is_refused(spark: "SparkSession") -> None:
    names = [row[0] for row in spark.sql("SHOW FUNCTIONS").collect() if row[0].isidentifier()]
    trees = [_called(name) for name in names]
    assert [name for name, tree in zip(names, trees, strict=True) if tree and unknown_to_spark(tree)] == []
    assert json.dumps(names).count("percentile") > 1


def _called(name: str) -> Any:
    """None: sqlglot knows the function, and that it needs other arguments."""
    import sqlglot

    try:
        return sqlglot.parse_one(f"SELECT {name}(a)", dialect="spark")
    except (sqlglot.errors.SqlglotError, IndexError):
        return None
