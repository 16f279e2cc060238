"""`pulsarctl ops profile`: statistics of values, exact for small topics, the same on both engines."""

import json
from collections import Counter
from collections.abc import Iterator
from statistics import mean
from typing import Any

import numpy as np
import pulsar
import pyarrow as pa
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.profiling.column_tally import ColumnTally
from pulsarctl.profiling.profile import Profiling, merged, report
from pulsarctl.profiling.quantiles import CAPACITY, QuantileSketch
from tests.cli.tables.topics import table
from tests.support.runner import Cli

ORDERS = 200


class Order(pulsar.schema.Record):  # type: ignore[misc]  # the client ships no types
    item = pulsar.schema.String()
    price = pulsar.schema.Double()
    count = pulsar.schema.Integer()
    tags = pulsar.schema.Array(pulsar.schema.String())


PRICES = [i * 7 % 101 / 4 for i in range(ORDERS)]


@pytest.fixture(scope="module")
def shop(pulsar_broker: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    pulsar_broker.create_partitioned_topic("persistent://public/default/orders", 2)
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    schema = pulsar.schema.JsonSchema(Order)
    orders = client.create_producer("orders", schema=schema, batching_max_messages=20)
    for i, price in enumerate(PRICES):
        count = None if i % 10 == 0 else i % 5
        order = Order(item=f"item-{i % 7}", price=price, count=count, tags=["a", f"t{i % 3}"])
        orders.send_async(order, None, partition_key=f"k{i % 50}", properties={"n": "1"})
    orders.flush()
    client.create_producer("empty").close()
    client.close()
    yield pulsar_broker


@pytest.fixture(scope="module")
def cli(shop: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(tmp_path_factory.mktemp("home"), shop.http_url, shop.service_url)


def profile(cli: Cli, *words: str) -> dict[str, Any]:
    outcome = cli("ops", "profile", *words, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    return {each["column"]: each for each in json.loads(outcome.stdout)}


def test_numbers_of_a_small_topic_are_exact(cli: Cli) -> None:
    price = profile(cli, "orders")["value.price"]
    assert (price["rows"], price["nulls"], price["distinct"]) == (ORDERS, 0, len(set(PRICES)))
    assert (price["min"], price["max"], price["mean"]) == (min(PRICES), max(PRICES), pytest.approx(mean(PRICES)))
    assert price["quantiles"]["p50"] == sorted(PRICES)[ORDERS // 2 - 1]
    assert (price["quantilesAreExact"], price["distinctIsExact"], price["topError"]) == (True, True, 0)


def test_frequent_values_have_their_counts(cli: Cli) -> None:
    found = profile(cli, "orders", "--columns", "key,value,properties")
    counted = Counter(f"item-{i % 7}" for i in range(ORDERS))
    assert {each["value"]: each["count"] for each in found["value.item"]["top"]} == counted
    assert found["value.tags[]"]["top"][0] == {"value": "a", "count": ORDERS, "share": 0.5}
    assert found["properties{}"]["top"] == [{"value": "n", "count": ORDERS, "share": 1.0}]
    assert found["key"]["distinct"] == 50


def test_nulls_are_no_values(cli: Cli) -> None:
    count = profile(cli, "orders")["value.count"]
    assert (count["nulls"], count["distinct"], sum(each["count"] for each in count["top"])) == (20, 5, ORDERS - 20)


def test_times_have_quantiles(cli: Cli) -> None:
    times = profile(cli, "orders")["publish_time"]
    assert times["min"] <= times["max"]
    assert times["quantiles"]["p1"].startswith("20")
    assert times["quantiles"]["p1"].endswith("Z")


def test_a_topic_without_messages_has_an_empty_profile(cli: Cli) -> None:
    assert profile(cli, "empty") == {}


def test_the_table_has_a_line_for_each_column(cli: Cli) -> None:
    lines = cli("ops", "profile", "orders", "--columns", "value", "-o", "table").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["COLUMN", "value.item", "value.price", "value.count", "value.tags[]"]
    assert "item-0 (14%)" in lines[1]


def test_a_dry_run_shows_the_plan(cli: Cli) -> None:
    plan = json.loads(cli("ops", "profile", "orders", "--dry-run", "-o", "json").stdout)
    assert (plan["engine"], plan["partitions"]) == ("local", 2)


def test_an_unknown_column_is_refused(cli: Cli) -> None:
    outcome = cli("ops", "profile", "orders", "--columns", "nothing")
    assert (outcome.exit_code, "has no column nothing" in outcome.stderr) == (2, True)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_and_the_local_engine_find_the_same_profile(shop: EmbeddedBroker) -> None:
    pytest.importorskip("pyspark")
    from pulsarctl.spark.jobs.parts import run_spark
    from pulsarctl.spark.session import spark_context

    work = Profiling(table(shop, "orders", entries_per_task="1"))
    parts = work.table.plan()
    assert len(parts) > 1
    with spark_context("tests", "local[2]", short=True) as context:
        found = run_spark(context, "profile", work, parts, lambda done: None)
    assert report(merged(found)) == report(merged(map(work, parts)))


def test_quantiles_of_many_numbers_are_close_however_parts_are_cut() -> None:
    numbers = np.random.default_rng(7).permutation(np.arange(300_000, dtype=np.float64))
    whole = QuantileSketch()
    for start in range(0, len(numbers), 30_011):
        part = QuantileSketch()
        for piece in np.array_split(numbers[start : start + 30_011], 7):
            part.add(piece)
        whole.merge(part)
    for share, found in zip((0.01, 0.5, 0.99), whole.at((0.01, 0.5, 0.99)), strict=True):
        assert abs(found / len(numbers) - share) < 0.005
    assert not whole.is_exact
    assert sum(map(len, whole.levels)) < CAPACITY * len(whole.levels)


def test_numbers_that_are_not_finite_are_counted_but_are_no_bounds() -> None:
    tally = ColumnTally(pa.float64())
    tally.add(pa.array([1.0, float("nan"), float("inf"), None]))
    assert (tally.rows, tally.nulls, tally.low, tally.high, tally.distinct.estimate()) == (4, 1, 1.0, 1.0, 3)


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (pa.int64(), (1 << 53) + 1, (1 << 53) + 1),
        (pa.uint64(), (1 << 64) - 1, (1 << 64) - 1),
        (pa.timestamp("us", tz="UTC"), 253_402_300_799_999_000, "9999-12-31T23:59:59.999000Z"),
    ],
)
def test_quantiles_have_every_digit(kind: pa.DataType, value: int, shown: object) -> None:
    tally = ColumnTally(kind)
    for _ in range(2):
        tally.add(pa.array([value], kind))
    (found,) = report({"column": tally})
    assert (found["quantiles"]["p50"], found["quantilesAreExact"]) == (shown, True)
