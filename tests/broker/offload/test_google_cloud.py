"""Offloaded ledgers in Google Cloud Storage: written, read by ranges, and removed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config.offload import OffloadConfig
from tests.support.condition import wait_until
from tests.support.gcs_server import gcs_server
from tests.support.offloaded_topic import OffloadedTopic, offloaded_topic, values

BUCKET = "tier"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OffloadedTopic]:
    with gcs_server(BUCKET) as address:
        config = OffloadConfig(
            driver="google-cloud-storage",
            gcs_bucket=BUCKET,
            endpoint=f"http://{address}",
            deletion_lag_ms=-1,
            sweep_seconds=0.1,
        )
        directory: Path = tmp_path_factory.mktemp("gcs") / "d"
        with offloaded_topic(config, directory) as one:
            yield one


def test_a_ledger_in_google_cloud_storage_is_read_and_its_objects_go_with_it(one: OffloadedTopic) -> None:
    before = one.publish_and_offload(30)
    assert one.entries() == before
    assert one.read(30) == values(30)
    assert len(one.rest("POST", "/brokers/offload/audit")["missing"]) == 0
    copy = one.log().ledger_infos()[0].copy
    assert copy is not None
    store = one.broker.broker.tier.store_of(copy)
    path = store.key(copy.path)
    assert store.filesystem.get_file_info(path).is_file
    one.acknowledge_all()
    one.rest("POST", "trim")
    wait_until(lambda: not store.filesystem.get_file_info(path).is_file, 30)
    wait_until(lambda: one.rest("POST", "/brokers/offload/audit")["orphans"] == [], 30)
