"""Producers and consumers follow their topic to another cluster: they lose nothing, and the order of keys stays."""

from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.condition import wait_until
from tests.migration.clusters import Cluster
from tests.migration.following_clients import Consuming, Publishing, check_nothing_is_lost
from tests.official_client import connect


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    home: Path = tmp_path_factory.mktemp("home")
    with EmbeddedBroker() as old, EmbeddedBroker() as new:
        source, target = Cluster(old, home, "old"), Cluster(new, home, "new")
        for each in (source, target):
            each.save_context()
        yield source, target


@pytest.mark.parametrize(
    "kind", [pulsar.ConsumerType.Failover, pulsar.ConsumerType.KeyShared, pulsar.ConsumerType.Exclusive]
)
def test_clients_follow_their_topic_and_lose_nothing(
    clusters: tuple[Cluster, Cluster], topic: str, kind: pulsar.ConsumerType
) -> None:
    source, _ = clusters
    client = connect(source.service_url)
    with Consuming(client, topic, kind) as consuming, Publishing(client, topic) as publishing:
        wait_until(lambda: len(consuming.found) > 50, 30)
        source.run(f"migrate old new --topic {topic} --switch --yes")
        at_switch = publishing.sent
        wait_until(lambda: publishing.sent > at_switch + 50, 30)
        publishing.end()
        wait_until(lambda: len(consuming.found) == publishing.sent, 30)
    client.close()
    check_nothing_is_lost(consuming.found, publishing.sent)
