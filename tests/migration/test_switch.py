"""Producers and consumers follow their topic to another cluster: they lose nothing, and the order of keys stays."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.condition import wait_until
from tests.migration.clusters import Cluster
from tests.official_client import connect

KEYS = 5


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    home: Path = tmp_path_factory.mktemp("home")
    with EmbeddedBroker() as old, EmbeddedBroker() as new:
        source, target = Cluster(old, home, "old"), Cluster(new, home, "new")
        for each in (source, target):
            each.save_context()
        yield source, target


class Publishing:
    """A producer that never stops, with numbers in order for each of a few keys."""

    def __init__(self, client: pulsar.Client, topic: str) -> None:
        self._producer = client.create_producer(topic, send_timeout_millis=0, batching_enabled=False)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.sent = 0

    def __enter__(self) -> "Publishing":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._producer.send(b"%d" % self.sent, partition_key=f"k{self.sent % KEYS}")
            self.sent += 1


class Consuming:
    """A consumer that acknowledges everything, and remembers it in the order of arrival."""

    def __init__(self, client: pulsar.Client, topic: str, kind: pulsar.ConsumerType) -> None:
        self._consumer = client.subscribe(
            topic, kind.name, consumer_type=kind, initial_position=pulsar.InitialPosition.Earliest
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.found: dict[int, None] = {}  # in order of their first arrival

    def __enter__(self) -> "Consuming":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                message = self._consumer.receive(200)
            except pulsar.Timeout:
                continue
            self.found[int(message.data())] = None
            self._consumer.acknowledge(message)


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
        publishing.__exit__()
        wait_until(lambda: len(consuming.found) == publishing.sent, 30)
    client.close()
    for key in range(KEYS):
        of_key = [number for number in consuming.found if number % KEYS == key]
        assert of_key == list(range(key, publishing.sent, KEYS))
