"""Exports by Spark tasks that write to an object store, beside those of one process."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.spark.jobs.parts import run_spark
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.transfer.exporting import Export, columns
from pulsarctl.transfer.file_formats import FileFormat
from pulsarctl.transfer.part_files import By, Layout
from tests.clients.publishing import publish_keyed
from tests.support.export_buckets import S3, s3_server
from tests.support.official_client import connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TOPIC = "persistent://public/default/exported-on-spark"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with pytest.MonkeyPatch.context() as patch, s3_server(patch) as found:
        yield found


@pytest.fixture(scope="module")
def table(pulsar_broker: EmbeddedBroker) -> TopicTable:
    """In several parts."""
    client = connect(pulsar_broker.service_url)
    messages: list[tuple[str | None, bytes]] = [(f"k{n % 7}", f"v{n}".encode()) for n in range(300)]
    publish_keyed(client, TOPIC, messages)
    client.close()
    where = {"service_url": pulsar_broker.service_url, "admin_url": pulsar_broker.http_url}
    return TopicTable.open(
        TableOptions.parse({"topic": TOPIC, "columns": ",".join(columns(typed=False)), "decode": "raw", **where})
    )


@pytest.mark.parametrize("kind", FileFormat)
def test_spark_writes_the_same_objects_as_one_process(
    spark: "SparkSession", s3: S3, table: TopicTable, kind: FileFormat
) -> None:
    parts = list(enumerate(table.plan()))
    assert len(parts) > 1
    places = {name: s3.place(f"{name}/{kind}") for name in ("local", "spark")}
    exports = {name: Export(table, Layout(place, kind, By.KEY, 3, 0)) for name, place in places.items()}
    local = [exports["local"](part) for part in parts]
    found = run_spark(spark.sparkContext, "export", exports["spark"], parts, lambda done: None)
    if kind is FileFormat.AVRO:  # each file has a random mark between its blocks
        assert [[(each.path, each.rows) for each in part.files] for part in found] == [
            [(each.path, each.rows) for each in part.files] for part in local
        ]
    else:
        assert found == local
    assert (
        places["spark"].names() == places["local"].names() == sorted(each.path for part in local for each in part.files)
    )
