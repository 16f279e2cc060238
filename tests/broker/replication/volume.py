"""Messages of all kinds in several clusters: published, replicated, and compared by partition and cluster of origin."""

import hashlib
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pulsar
from pulsar.schema import JsonSchema, Record, String

from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_reader import EntryReader
from tests.support import official_client
from tests.support.clusters import admin, record_of
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send_chunk

MESSAGES = int(os.environ.get("REPLICATION_MESSAGES", "3000"))
PARTITIONS = 3
SINGLES = 50  # of 1,000 messages of a cluster, those that are not sent in batches
NAMESPACE = "public/volume"
TOPIC = f"persistent://{NAMESPACE}/t"
TYPED = f"persistent://{NAMESPACE}/typed"
SETTINGS = (
    "brokerDeduplicationEnabled=true",
    "defaultRetentionTimeInMinutes=-1",
    "defaultRetentionSizeInMB=-1",
    "replicationStartAt=earliest",
)
KEYS = Path(__file__).parents[2] / "clients" / "keys"
READER = pulsar.CryptoKeyReader(str(KEYS / "public.pem"), str(KEYS / "private.pem"))
SOURCE_POSITION = "__MSG_PROP_REPL_SOURCE_POSITION"
SECONDS = 900.0


class Order(Record):  # type: ignore[misc]  # the client has no types
    name = String()


class Broker(Protocol):
    """A broker that runs: this one, or Apache Pulsar."""

    service_url: str
    http_url: str


class Cluster:
    """`chunk_bytes`: the size of a chunk, instead of the largest that the broker takes."""

    def __init__(self, name: str, broker: Broker, *, chunk_bytes: int = 0) -> None:
        self.name = name
        self.broker = broker
        self.chunk_bytes = chunk_bytes

    def join(self, clusters: list["Cluster"]) -> None:
        """Replicates to the others."""
        url = self.broker.http_url
        for other in clusters:
            if other is not self:
                admin(url, "PUT", f"clusters/{other.name}", record_of(other.broker.service_url, other.broker.http_url))
        admin(url, "POST", "tenants/public", {"allowedClusters": names_of(clusters), "adminRoles": []})
        admin(url, "PUT", f"namespaces/{NAMESPACE}")
        for topic in (TOPIC, TYPED):
            admin(url, "PUT", f"{topic.replace('://', '/')}/partitions", PARTITIONS)

    def replicate(self, clusters: list["Cluster"]) -> None:
        admin(self.broker.http_url, "POST", f"namespaces/{NAMESPACE}/replication", names_of(clusters))

    def publish(self, count: int) -> int:
        """Returns how many messages it sent."""
        client = official_client.connect(self.broker.service_url)
        chosen = random.Random(self.name)
        sent = sum(send(client, chosen, count) for send in (batches, singles, typed))
        sent += chunks(self.broker, chosen, self.chunk_bytes) if self.chunk_bytes else chunked(client, chosen)
        client.close()
        return sent


def names_of(clusters: list[Cluster]) -> list[str]:
    return [one.name for one in clusters]


def batches(client: pulsar.Client, chosen: random.Random, count: int) -> int:
    """Publishes batches with each compression, with keys, and encrypted: most of the messages."""
    kinds = (pulsar.CompressionType.NONE, pulsar.CompressionType.LZ4, pulsar.CompressionType.ZSTD)
    each = (count - count * SINGLES // 1000) // (len(kinds) + 1)
    for kind in kinds:
        _send(client.create_producer(TOPIC, batching_enabled=True, compression_type=kind, **BATCHES), chosen, each)
    sealed = {"encryption_key": "key", "crypto_key_reader": READER}
    _send(client.create_producer(TOPIC, batching_enabled=True, **sealed, **BATCHES), chosen, each)
    return each * (len(kinds) + 1)


BATCHES = {"batching_max_messages": 1000, "block_if_queue_full": True, "max_pending_messages": 5000}


def _send(producer: pulsar.Producer, chosen: random.Random, count: int) -> None:
    payload = chosen.randbytes(100)
    for number in range(count):
        producer.send_async(b"%d %b" % (number, payload), None, partition_key=f"k{number % 50}")
    producer.flush()
    producer.close()


def singles(client: pulsar.Client, chosen: random.Random, count: int) -> int:
    """With properties, event times, and delays."""
    each = count * SINGLES // 1000
    producer = client.create_producer(TOPIC, batching_enabled=False, block_if_queue_full=True)
    for number in range(each):
        options = {"properties": {"n": str(number)}, "event_timestamp": number + 1}
        if number % 3 == 0:
            options["deliver_at"] = int(time.time() * 1000) + 3_600_000
        producer.send_async(chosen.randbytes(200), None, **options)
    producer.flush()
    producer.close()
    return each


def typed(client: pulsar.Client, chosen: random.Random, count: int) -> int:
    """With a schema."""
    each = max(30, count // 1000)
    producer = client.create_producer(TYPED, schema=JsonSchema(Order), batching_enabled=False)
    for number in range(each):
        producer.send(Order(name=str(number)))
    producer.close()
    return each


LARGE_BYTES = 6_000_000  # more than a message may have


def chunked(client: pulsar.Client, chosen: random.Random) -> int:
    producer = client.create_producer(TOPIC, batching_enabled=False, chunking_enabled=True, max_pending_messages=50)
    producer.send(chosen.randbytes(LARGE_BYTES))
    producer.close()
    return 1


def chunks(broker: Broker, chosen: random.Random, size: int) -> int:
    """The same with chunks of that size, which the client's library cannot choose."""
    count = -(-LARGE_BYTES // size)
    with RawClient(broker.service_url) as client:
        client.ask(producer(f"{TOPIC}-partition-0", producer_name="chunks"), BaseCommand.PRODUCER_SUCCESS)
        for chunk in range(count):
            client.send(send_chunk(0, chunk, count, name="chunks", payload=chosen.randbytes(size)))
            client.expect(BaseCommand.SEND_RECEIPT)
    return 1


Sums = dict[tuple[str, str], tuple[int, str]]


def sums_in(cluster: Cluster) -> Sums:
    """By partition and cluster of origin: the number of messages, and the checksum over them in order."""
    counts: dict[tuple[str, str], int] = {}
    digests: dict[tuple[str, str], hashlib.blake2b] = {}
    for topic in (TOPIC, TYPED):
        for partition in range(PARTITIONS):
            for entry in entries(cluster, f"{topic}-partition-{partition}"):
                place = entry.topic, entry.metadata.replicated_from or cluster.name
                digests.setdefault(place, hashlib.blake2b(digest_size=8)).update(original(entry))
                last_chunk = entry.metadata.chunk_id == max(entry.metadata.num_chunks_from_msg, 1) - 1
                counts[place] = counts.get(place, 0) + entry.metadata.num_messages_in_batch * last_chunk
    return {place: (counts[place], digests[place].hexdigest()) for place in counts}


def entries(cluster: Cluster, topic: str) -> Iterator[Entry]:
    with EntryReader(cluster.broker.service_url, topic, timeout_seconds=120) as reader:
        yield from reader.to_end()


def original(entry: Entry) -> bytes:
    """The entry as its producer sent it: without what a copy adds."""
    metadata = type(entry.metadata)()
    metadata.CopyFrom(entry.metadata)
    metadata.ClearField("replicated_from")
    kept = [one for one in metadata.properties if one.key != SOURCE_POSITION]
    del metadata.properties[:]
    metadata.properties.extend(kept)
    return metadata.SerializeToString(deterministic=True) + entry.payload


def messages(sums: Sums) -> int:
    return sum(count for count, _ in sums.values())


def has_all(cluster: Cluster, entries_wanted: int) -> Callable[[], bool]:
    def look() -> bool:
        return stored_in(cluster) >= entries_wanted

    return look


def replicated(clusters: list[Cluster], count: int) -> int:
    """Publishes and replicates about `count` messages; returns how many."""
    sent, own, began = 0, 0, time.monotonic()
    for one in clusters:
        before = stored_in(one)
        sent += one.publish(count // len(clusters))
        own += stored_in(one) - before
    for one in clusters:
        one.replicate(clusters)
    for one in clusters:
        wait_until(has_all(one, own), SECONDS)
    took = time.monotonic() - began
    print(f"{sent} messages in {own} entries: in {len(clusters)} clusters after {took:.0f} s")  # noqa: T201  # for `make`
    return sent


def stored_in(cluster: Cluster) -> int:
    """Entries of all partitions."""
    paths = [f"{t.replace('://', '/')}-partition-{n}" for t in (TOPIC, TYPED) for n in range(PARTITIONS)]
    return sum(int(admin(cluster.broker.http_url, "GET", f"{path}/internalStats")["numberOfEntries"]) for path in paths)
