"""A migration that is killed again and again: the target equals the source, and its clients lose nothing.

`make migration-kills` runs the large one. It kills the command with kill -9 while it copies, and while clients move.
"""

import contextlib
import hashlib
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError

import pulsar
import pytest

from pulsarctl.raw.entry_reader import EntryReader
from tests.cli.migration.clusters import Cluster
from tests.cli.migration.following_clients import Consuming, Publishing, check_nothing_is_lost
from tests.support import official_client
from tests.support.broker_process import BrokerProcess
from tests.support.clusters import admin
from tests.support.condition import wait_until

ROUNDS = int(os.environ.get("MIGRATION_ROUNDS", "2"))
TOPICS = int(os.environ.get("MIGRATION_TOPICS", "6"))
MEGABYTES = int(os.environ.get("MIGRATION_MB", "2"))
SIZE = 10_000  # bytes of a message
EACH = max(20, MEGABYTES * 1_000_000 // SIZE // TOPICS)
NAMESPACE = "shop/orders"
NAMES = [f"persistent://{NAMESPACE}/t{number:03}" for number in range(TOPICS)]
LIVE = NAMES[:: max(1, TOPICS // 3)][:3]  # topics with connected clients
KINDS = (pulsar.ConsumerType.Failover, pulsar.ConsumerType.KeyShared, pulsar.ConsumerType.Exclusive)
HOLES = {"third": 3, "fifth": 5, "most": 10}  # subscriptions; one message of N is not acknowledged
SECONDS = 120.0


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    with BrokerProcess(tmp_path / "blue") as blue, BrokerProcess(tmp_path / "green") as green:
        source, target = Cluster(blue, tmp_path, "old"), Cluster(green, tmp_path, "new")
        for each in (source, target):
            each.save_context()
        yield source, target


def fill(source: Cluster) -> None:
    """Messages of random bytes, so that no two are equal, and three subscriptions with holes for each topic.

    Ledger IDs are above those of the target, where clients that acknowledge cumulatively would skip messages.
    """
    source.run("topics create public/default/other")
    admin(source.http_url, "POST", "persistent/public/default/other/migration/ledger", {"above": 100_000})
    source.run("tenants create shop --admin-roles boss")
    source.run(f"namespaces create {NAMESPACE}")
    client = official_client.connect(source.service_url)
    for topic in NAMES:
        consumers = {
            name: client.subscribe(topic, name, consumer_type=pulsar.ConsumerType.Shared, receiver_queue_size=100)
            for name in HOLES
        }
        producer = client.create_producer(topic, batching_enabled=False, block_if_queue_full=True)
        for number, payload in enumerate(payloads(topic)):
            producer.send_async(payload, None, partition_key=f"k{number % 7}")
        producer.flush()
        producer.close()
        for name, consumer in consumers.items():
            for number in range(EACH // 2):
                message = consumer.receive(30_000)
                if number % HOLES[name]:
                    consumer.acknowledge(message)
            consumer.close()
    client.close()


def stored(cluster: Cluster, topic: str, most: int = sys.maxsize) -> tuple[int, str]:
    """How many entries a topic has, and the checksum over them as they are stored, in order; at most the first ones."""
    digest, count = hashlib.blake2b(), 0
    with EntryReader(cluster.service_url, topic) as reader:
        for entry in itertools.islice(reader.to_end(), most):
            digest.update(entry.stored())
            count += 1
    return count, digest.hexdigest()


def payloads(topic: str) -> list[bytes]:
    """The payloads that `fill` publishes. No two are equal."""
    chosen = random.Random(topic)
    return [chosen.randbytes(SIZE) for _ in range(EACH)]


def left_of(topic: str, name: str) -> list[bytes]:
    """The messages that a subscription has not acknowledged, sorted."""
    left = (one for number, one in enumerate(payloads(topic)) if number >= EACH // 2 or not number % HOLES[name])
    return sorted(left)


def unread(cluster: Cluster, client: pulsar.Client, topic: str, name: str) -> list[bytes]:
    """The messages that a subscription has, sorted."""
    stats = admin(cluster.http_url, "GET", f"{topic.replace('://', '/')}/stats")["subscriptions"][name]
    consumer = client.subscribe(topic, name, consumer_type=pulsar.ConsumerType.Shared)
    found = [consumer.receive(30_000).data() for _ in range(stats["msgBacklog"])]
    consumer.close()
    return sorted(found)


class Killing:
    """Starts the command again and again, and kills it each time when it has come a little further.

    In the first half of the rounds, it copies while the source is in use. In the second half, clients move.
    """

    def __init__(self, source: Cluster, target: Cluster) -> None:
        self._source = source
        self._target = target
        self._chosen = random.Random(7)
        self.copying = self.switching = 0

    def run(self) -> None:
        half = ROUNDS - ROUNDS // 2
        for round_ in range(half):
            self.copying += self._kill([], has_entries, self._target, NAMES[TOPICS * round_ // half])
        for round_ in range(ROUNDS - half):
            topic = NAMES[TOPICS * round_ // (ROUNDS - half)]
            self.switching += self._kill(["--switch"], is_leaving, self._source, topic)

    def _kill(self, words: list[str], reached: Callable[[Cluster, str], bool], cluster: Cluster, topic: str) -> bool:
        """Kills the command soon after it has reached that topic; false if it has finished before."""
        command = [sys.executable, "-m", "pulsarctl", "migrate", "old", "new", "--tenant", "shop", "--yes", *words]
        with subprocess.Popen(
            command, env=self._source.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as migration:
            wait_until(lambda: migration.poll() is not None or reached(cluster, topic), 600)
            with contextlib.suppress(subprocess.TimeoutExpired):
                migration.wait(self._chosen.random())
            killed = migration.poll() is None
            migration.kill()
        return killed


def has_entries(target: Cluster, topic: str) -> bool:
    try:
        stats = admin(target.http_url, "GET", f"{topic.replace('://', '/')}/internalStats")
    except HTTPError:
        return False
    return bool(stats["numberOfEntries"])


def is_leaving(source: Cluster, topic: str) -> bool:
    phase = admin(source.http_url, "GET", f"{topic.replace('://', '/')}/migration")["phase"]
    return bool(phase != "in-use")


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_migration_that_is_killed_again_and_again_loses_nothing(clusters: tuple[Cluster, Cluster]) -> None:
    source, target = clusters
    fill(source)
    client = official_client.connect(source.service_url)
    there = official_client.connect(target.service_url)
    with contextlib.ExitStack() as running:
        consuming = [
            running.enter_context(
                Consuming(client, topic, kind, cumulatively=kind is not pulsar.ConsumerType.KeyShared)
            )
            for topic, kind in zip(LIVE, KINDS, strict=False)
        ]
        publishing = [running.enter_context(Publishing(client, topic, pause_seconds=0.02)) for topic in LIVE]
        killing = Killing(source, target)
        killing.run()
        source.run("migrate old new --tenant shop --switch --yes")
        source.run("migrate old new --tenant shop --switch --yes")  # which has nothing to do
        at_switch = [one.sent for one in publishing]
        wait_until(lambda: all(one.sent > before for one, before in zip(publishing, at_switch, strict=True)), SECONDS)
        for one in publishing:
            one.end()
        sent = [one.sent for one in publishing]
        wait_until(lambda: [len(one.found) for one in consuming] == sent, SECONDS)
    for consumer, all_ in zip(consuming, sent, strict=True):
        check_nothing_is_lost(consumer.found, all_)
    for topic in NAMES:
        kept = stored(source, topic)
        assert kept[0] >= EACH
        assert stored(target, topic, kept[0]) == kept
    for topic in set(NAMES) - set(LIVE):
        for name in HOLES:
            assert unread(target, there, topic, name) == left_of(topic, name)
    client.close()
    there.close()
    print(  # noqa: T201  # for `make migration-kills`
        f"{TOPICS} topics, {TOPICS * EACH * SIZE / 1e6:.0f} MB, killed {killing.copying} times while it copied and "
        f"{killing.switching} times while clients moved; consumers got {sum(sent)} live messages, "
        f"{sum(one.repeated for one in consuming)} twice"
    )
