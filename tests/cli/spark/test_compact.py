"""The last places of keys, found by Spark and in one process."""

from typing import TYPE_CHECKING

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.compaction.last_places import KeysOfPart, last_places, merged
from pulsarctl.compaction.range import uncompacted
from pulsarctl.spark.jobs.last_places import run_spark
from pulsarctl.tables.access import Access
from tests.clients.publishing import publish_keyed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TOPIC = "persistent://public/default/compacted-on-spark"


def test_spark_finds_the_same_places_as_one_process(
    spark: "SparkSession", pulsar_broker: EmbeddedBroker, client: pulsar.Client
) -> None:
    for first in range(0, 600, 200):
        messages: list[tuple[str | None, bytes]] = [(f"k{n % 70}", b"v") for n in range(first, first + 200)]
        publish_keyed(client, TOPIC, messages, batched=first == 200)
    access = Access(service_url=pulsar_broker.service_url, admin_url=pulsar_broker.http_url)
    found = uncompacted(access, TOPIC)
    work = KeysOfPart(found.table)
    local = merged(pair for part in found.parts for pair in work(part))
    assert len(found.parts) > 1
    assert last_places(found, run_spark(spark.sparkContext, work, found.parts, lambda done: None)) == last_places(
        found, local
    )
    assert last_places(found, local)[TOPIC].count == 70
