"""A data directory belongs to one cluster; a broker of another name neither serves it nor deletes what it holds."""

from pathlib import Path

import pytest

from broker_core.metadata.tenancy.cluster_name import INSTANCE, KEY, OtherCluster
from broker_core.storage.repair.rebuild import rebuild
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.clusters import admin, config_of, new_namespace, register
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish

AWAY = "pulsar://127.0.0.1:1"  # no broker listens there
TOPIC = "persistent://public/shop/t"
CURSOR = "pulsar.repl.east"


def broker(directory: Path, cluster: str) -> EmbeddedBroker:
    return EmbeddedBroker(directory, config=config_of(cluster))


def replicate(west: EmbeddedBroker) -> None:
    """Publishes 3 messages for a cluster that is away."""
    register(west, "east", AWAY)
    new_namespace((west,), "shop", ["west", "east"])
    with RawClient(west.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 3)


def unsent(west: EmbeddedBroker) -> int:
    return loaded(west, TOPIC, create=True).ledger.cursors[CURSOR].backlog_entries


def forget_name(west: EmbeddedBroker) -> None:
    """As in a directory of an earlier release."""
    west.call(west.broker.storage.metadata.delete(INSTANCE, KEY))


def refusal(directory: Path, cluster: str) -> str:
    with pytest.raises(OtherCluster) as refused:
        broker(directory, cluster).start()
    return str(refused.value)


def test_a_broker_of_another_name_does_not_start_and_loses_no_unsent_message(tmp_path: Path) -> None:
    with broker(tmp_path, "west") as west:
        replicate(west)
    asked = "cannot start: this data belongs to cluster west; start with -X clusterName=west"
    assert refusal(tmp_path, "standalone") == asked
    with broker(tmp_path, "west") as west:
        assert unsent(west) == 3


def test_a_directory_without_a_name_takes_that_of_its_next_start(tmp_path: Path) -> None:
    with broker(tmp_path, "standalone") as first:
        forget_name(first)
    with broker(tmp_path, "west"):
        pass
    assert "belongs to cluster west" in refusal(tmp_path, "standalone")


def test_replicated_namespaces_name_the_cluster_of_a_directory_without_a_name(tmp_path: Path) -> None:
    with broker(tmp_path, "west") as west:
        register(west, "east", AWAY)
        new_namespace((west,), "shop", ["west", "east"])
        forget_name(west)
    assert "belongs to cluster west" in refusal(tmp_path, "other")
    with broker(tmp_path, "west"):
        pass


def test_a_rebuilt_directory_belongs_to_the_same_cluster(tmp_path: Path) -> None:
    with broker(tmp_path, "west"):
        pass
    for file in tmp_path.glob("metadata.sqlite*"):
        file.unlink()
    assert rebuild(tmp_path) is not None
    assert "belongs to cluster west" in refusal(tmp_path, "standalone")


def test_a_list_that_lacks_the_own_cluster_keeps_the_cursors_of_replicators(tmp_path: Path) -> None:
    with broker(tmp_path, "west") as west:
        replicate(west)
        admin(west.http_url, "POST", "clusters/west", {"serviceUrl": "http://localhost:1"})
        forget_name(west)
    with broker(tmp_path, "other") as other:
        assert (unsent(other), len(loaded(other, TOPIC).replicators)) == (3, 0)
        forget_name(other)
    with broker(tmp_path, "west") as west:
        assert (unsent(west), list(loaded(west, TOPIC).replicators)) == (3, [CURSOR])
