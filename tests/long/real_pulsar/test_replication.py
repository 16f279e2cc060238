"""Replication between this broker and a real Pulsar, in both directions at once."""

import os
from collections.abc import Iterator
from hashlib import sha256
from urllib.error import HTTPError

import pulsar
import pytest

from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.two_clusters import OURS, REAL, Clusters, replicating
from tests.support.clusters import admin, replication_stats
from tests.support.condition import wait_until

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow]

MESSAGES = int(os.environ.get("REPLICATION_MESSAGES", "5000"))


class Order(pulsar.schema.Record):  # type: ignore[misc]  # the library has no types
    number = pulsar.schema.Integer()


@pytest.fixture(scope="module")
def clusters(java_pulsar: JavaPulsar) -> Iterator[Clusters]:
    with replicating(java_pulsar, "geo") as both:
        yield both


def send_all(client: pulsar.Client, topic: str, origin: bytes, number: int) -> str:
    """Batches, compressed batches, single messages with keys, and a large one; returns the checksum of all payloads."""
    kinds: list[dict[str, object]] = [
        {"batching_enabled": True},
        {"batching_enabled": True, "compression_type": pulsar.CompressionType.LZ4},
        {"batching_enabled": False},
    ]
    digest = sha256()
    for kind, options in enumerate(kinds):
        producer = client.create_producer(topic, block_if_queue_full=True, **options)
        for index in range(number // len(kinds)):
            payload = b"%b %d %d" % (origin, kind, index)
            digest.update(payload)
            producer.send_async(payload, None, partition_key=str(index % 7), properties={"origin": origin.decode()})
        producer.flush()
        producer.close()
    return digest.hexdigest()


def checksum(consumer: pulsar.Consumer, origin: bytes, number: int) -> str:
    """The checksum of the payloads with that origin, in the order of arrival."""
    digest = sha256()
    for _ in range(number):
        payload = consumer.receive(30_000).data()
        if payload.startswith(origin):
            digest.update(payload)
    return digest.hexdigest()


def test_messages_of_both_clusters_are_in_both_in_order(clusters: Clusters) -> None:
    topic = clusters.topic()
    each = MESSAGES // 3 * 3
    in_ours, in_real = clusters.of_ours.subscribe(topic, "s"), clusters.of_real.subscribe(topic, "s")
    from_ours = send_all(clusters.of_ours, topic, b"ours", each)
    assert checksum(in_real, b"ours", each) == from_ours
    from_real = send_all(clusters.of_real, topic, b"real", each)
    assert checksum(in_real, b"real", each) == from_real
    assert checksum(in_ours, b"ours", each) == from_ours
    assert checksum(in_ours, b"real", each) == from_real
    wait_until(lambda: backlogs(clusters, topic) == (0, 0), 20)


def backlogs(clusters: Clusters, topic: str) -> tuple[int, int]:
    ours = replication_stats(clusters.ours, topic, REAL)["replicationBacklog"]
    theirs = admin(clusters.real.http_url, "GET", f"{topic.replace('://', '/')}/stats")["replication"][OURS]
    return ours, theirs["replicationBacklog"]


def pairs(clusters: Clusters) -> list[tuple[pulsar.Client, pulsar.Client]]:
    return [(clusters.of_ours, clusters.of_real), (clusters.of_real, clusters.of_ours)]


def test_large_messages_and_schemas_arrive_in_both_directions(clusters: Clusters) -> None:
    for sender, receiver in pairs(clusters):
        topic = clusters.topic()
        consumer = receiver.subscribe(topic, "s", schema=pulsar.schema.AvroSchema(Order))
        sender.create_producer(topic, schema=pulsar.schema.AvroSchema(Order)).send(Order(number=7))
        assert consumer.receive(30_000).value().number == 7
        large = topic + "-large"
        in_other = receiver.subscribe(large, "s")
        payload = os.urandom(8_000_000)
        sender.create_producer(large, chunking_enabled=True, batching_enabled=False).send(payload)
        if sender is clusters.of_ours:  # a real Pulsar loses chunks that its own copies make too large
            assert in_other.receive(30_000).data() == payload


def test_a_partitioned_topic_is_created_in_the_real_cluster(clusters: Clusters) -> None:
    topic = clusters.topic() + "-parts"
    path = topic.replace("://", "/")
    admin(clusters.ours.http_url, "PUT", f"{path}/partitions", 3)
    wait_until(lambda: partitions(clusters.real.http_url, path) == 3, 30)
    consumer = clusters.of_real.subscribe(topic, "s")
    producer = clusters.of_ours.create_producer(topic)
    for number in range(30):
        producer.send(b"%d" % number)
    assert sorted(int(consumer.receive(30_000).data()) for _ in range(30)) == list(range(30))


def partitions(http_url: str, path: str) -> int:
    try:
        return int(admin(http_url, "GET", f"{path}/partitions")["partitions"])
    except HTTPError:
        return 0


def test_a_topic_that_was_deleted_here_is_not_brought_back_by_a_real_pulsar(clusters: Clusters) -> None:
    topic = clusters.topic()
    path = topic.replace("://", "/")
    consumer = clusters.of_ours.subscribe(topic, "s")
    producer = clusters.of_real.create_producer(topic)
    producer.send(b"1")
    assert consumer.receive(30_000).data() == b"1"
    consumer.close()
    admin(clusters.ours.http_url, "DELETE", f"{path}?force=true")
    producer.send(b"2")
    stats = f"{path}/stats"
    wait_until(lambda: not admin(clusters.real.http_url, "GET", stats)["replication"][OURS]["connected"], 20)
    assert topic not in admin(clusters.ours.http_url, "GET", path.rpartition("/")[0])
