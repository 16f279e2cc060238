"""Producers and consumers follow their topic to another cluster: they lose nothing, and the order of keys stays."""

from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.migration.clusters import Cluster
from tests.cli.migration.following_clients import Consuming, Publishing, check_nothing_is_lost
from tests.support.condition import wait_until
from tests.support.official_client import connect
from tests.support.program import Program


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


# Official clients skip messages whose IDs are not above their last cumulative acknowledgment.


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """The ledger IDs of the first are above those of the second, which is fresh."""
    with EmbeddedBroker() as old, EmbeddedBroker() as new:
        source, target = Cluster(old, tmp_path, "old"), Cluster(new, tmp_path, "new")
        for each in (source, target):
            each.save_context()
        client = connect(source.service_url)
        for number in range(20):
            client.create_producer(f"public/default/other-{number}").send(b"x")
        client.close()
        yield source, target


@pytest.mark.parametrize("kind", [pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Failover])
def test_consumers_that_acknowledge_cumulatively_skip_nothing_in_a_fresh_cluster(
    busy: tuple[Cluster, Cluster], topic: str, kind: pulsar.ConsumerType
) -> None:
    source, _ = busy
    client = connect(source.service_url)
    with Consuming(client, topic, kind, cumulatively=True) as consuming, Publishing(client, topic) as publishing:
        wait_until(lambda: len(consuming.found) > 50, 30)
        source.run(f"migrate old new --topic {topic} --yes")
        source.run(f"topics unload {topic}")  # the rest is in a later ledger
        at_copy = len(consuming.found)
        wait_until(lambda: len(consuming.found) > at_copy + 50, 30)
        source.run(f"migrate old new --topic {topic} --switch --yes")
        at_switch = publishing.sent
        wait_until(lambda: publishing.sent > at_switch + 50, 30)
        publishing.end()
        wait_until(lambda: len(consuming.found) == publishing.sent, 30)
    client.close()
    check_nothing_is_lost(consuming.found, publishing.sent)


def test_a_consumer_skips_nothing_that_is_published_to_a_topic_whose_messages_were_trimmed(
    busy: tuple[Cluster, Cluster], topic: str
) -> None:
    source, target = busy
    client, there = connect(source.service_url), connect(target.service_url)
    consumer, producer = client.subscribe(topic, "s"), client.create_producer(topic)
    producer.send(b"trimmed")
    consumer.acknowledge_cumulative(consumer.receive(10_000))
    producer.close()
    wait_until(lambda: '"msgBacklog" : 0' in source.run(f"topics stats {topic}"), 30)  # the client sends it later
    source.run(f"topics unload {topic}")
    wait_until(lambda: is_trimmed(source, topic), 30)
    source.run(f"migrate old new --topic {topic} --switch --yes")
    there.create_producer(topic).send(b"new")
    assert consumer.receive(30_000).data() == b"new"
    client.close()
    there.close()


def is_trimmed(cluster: Cluster, topic: str) -> bool:
    cluster.run(f"topics trim-topic {topic}")
    return '"numberOfEntries" : 0' in cluster.run(f"topics stats-internal {topic}")


@pytest.mark.parametrize("options", [[], ["--log-level", "debug"]], ids=["plain", "debug"])
def test_our_exclusive_consume_goes_on_in_a_fresh_cluster(
    busy: tuple[Cluster, Cluster], topic: str, tmp_path: Path, options: list[str]
) -> None:
    source, target = busy
    words = ["consume", topic, "-s", "s", "-t", "Exclusive", "-p", "Earliest", "-n", "0", "-o", "jsonl"]
    client, there = connect(source.service_url), connect(target.service_url)
    producer = client.create_producer(topic)
    producer.send(b"before")
    addresses = ["--url", source.service_url, "--admin-url", source.http_url]
    with Program(tmp_path, *options, *addresses, *words) as consume:
        consume.read_lines(1)
        source.run(f"migrate old new --topic {topic} --switch --yes")
        there.create_producer(topic).send(b"after")
        consume.read_lines(2)
    client.close()
    there.close()
