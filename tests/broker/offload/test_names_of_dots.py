"""Topics whose names look like paths are offloaded into the store, and found there."""

from __future__ import annotations

from pathlib import Path

from broker_core.config.server import ServerConfig
from broker_core.metadata.tenancy.documents import Tenant
from broker_core.names import NamespaceName
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic

DOTS = "persistent://../../.."


def test_a_topic_of_dots_is_offloaded_into_the_store(tmp_path: Path) -> None:
    store = tmp_path / "outer" / "inner" / "store"
    with offloaded_topic(in_directory(store)) as one:
        tenancy = one.broker.broker.tenancy
        one.broker.call(tenancy.create_tenant("..", Tenant(allowed_clusters=(ServerConfig().cluster_name,))))
        one.broker.call(tenancy.create_namespace(NamespaceName("..", "..")))
        dots = OffloadedTopic(one.broker, one.client, DOTS)
        dots.client.subscribe(DOTS, "keeps").close()
        before = dots.publish_and_offload(10)
        assert dots.entries() == before
        files = [path for path in tmp_path.rglob("*.*") if path.suffix in (".parquet", ".json")]
        assert len(files) == 2
        assert all(path.is_relative_to(store) for path in files)
        audit = one.rest("POST", "/brokers/offload/audit")
        assert (audit["objects"], audit["orphans"], audit["missing"]) == (2, [], [])
