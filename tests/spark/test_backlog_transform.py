"""The backlog's transform and report, on rows made by hand."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pulsarctl.spark.jobs.backlog import SubscriptionBacklog, report, transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
SCHEMA = "topic string, partition int, subscription string, messages int, entry_size int, publish_time timestamp"
ORDERS = "persistent://shop/eu/orders"


def backlog(spark: "SparkSession", *entries: tuple[Any, ...]) -> list[SubscriptionBacklog]:
    return report(transform(spark.createDataFrame(list(entries), SCHEMA), NOW_MS).collect(), [])


def ago(**age: float) -> datetime:
    return NOW - timedelta(**age)


def test_batches_count_with_all_their_messages(spark: "SparkSession") -> None:
    (found,) = backlog(spark, (ORDERS, -1, "s", 10, 500, ago(hours=2)), (ORDERS, -1, "s", 1, 70, ago(seconds=5)))
    assert (found.messages, found.entries, found.bytes) == (11, 2, 570)
    assert found.oldest_publish_time_ms == NOW_MS - 2 * 3600 * 1000
    assert {name: count for name, count in found.ages.items() if count} == {"1m": 1, "6h": 10}


def test_the_partitions_of_a_topic_are_one_row(spark: "SparkSession") -> None:
    entries = [(f"{ORDERS}-partition-{index}", index, "s", 1, 10, ago(days=40)) for index in range(3)]
    (found,) = backlog(spark, *entries)
    assert (found.topic, found.messages, found.ages["older"]) == (ORDERS, 3, 3)


def test_a_topic_that_only_looks_like_a_partition_keeps_its_name(spark: "SparkSession") -> None:
    (found,) = backlog(spark, ("persistent://a/b/x-partition-old", -1, "s", 1, 10, NOW))
    assert found.topic == "persistent://a/b/x-partition-old"


def test_a_publish_time_in_the_future_has_age_zero(spark: "SparkSession") -> None:
    (found,) = backlog(spark, (ORDERS, -1, "s", 1, 10, NOW + timedelta(days=1)))
    assert found.ages["1m"] == 1


def test_an_age_at_a_limit_belongs_to_the_older_bucket(spark: "SparkSession") -> None:
    (found,) = backlog(spark, (ORDERS, -1, "s", 1, 10, ago(seconds=60)), (ORDERS, -1, "s", 1, 10, ago(days=30)))
    assert {name: count for name, count in found.ages.items() if count} == {"10m": 1, "older": 1}


def test_subscriptions_are_counted_apart(spark: "SparkSession") -> None:
    found = backlog(spark, (ORDERS, -1, "a", 1, 10, NOW), (ORDERS, -1, "b", 2, 20, NOW))
    assert [(each.subscription, each.messages, each.bytes) for each in found] == [("a", 1, 10), ("b", 2, 20)]


def test_a_subscription_without_a_backlog_is_reported_with_zeros() -> None:
    (found,) = report([], [(ORDERS, "idle")])
    assert (found.subscription, found.messages, found.oldest_publish_time_ms) == ("idle", 0, None)
    assert set(found.ages.values()) == {0}
