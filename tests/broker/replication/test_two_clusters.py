"""Two brokers that replicate to each other, as clients and tools of both see them."""

import json
from urllib.error import HTTPError

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.storage.records.position import EARLIEST
from broker_core.testing import EmbeddedBroker
from broker_core.topic.topic import Topic
from broker_core.wire.message import entry_parts, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from tests.broker.replication.pair import Pair, is_empty, publish, received
from tests.support.clusters import admin, replication_stats
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded

NUMBERS = [b"%d" % number for number in range(2000)]


def stored(broker: EmbeddedBroker, topic: Topic) -> list[bytes]:
    block = broker.call(topic.ledger.read(EARLIEST, 10_000, 1 << 26))
    return [block.entry(index) for index in range(len(block))]


def copied(pair: Pair, name: str) -> list[tuple[bytes, bytes]]:
    """Each entry in the west, and its copy in the east, when all are there."""
    west, east = loaded(pair.west, name), loaded(pair.east, name, create=True)
    wait_until(lambda: west.ledger.entries == east.ledger.entries, 20)
    return list(zip(stored(pair.west, west), stored(pair.east, east), strict=True))


def test_messages_reach_the_other_cluster_in_order(pair: Pair) -> None:
    topic = pair.topic()
    consumer = pair.of_east.subscribe(topic, "s")
    publish(pair.of_west, topic, NUMBERS)
    assert received(consumer, len(NUMBERS)) == NUMBERS


def test_both_directions_work_and_nothing_comes_back(pair: Pair) -> None:
    topic = pair.topic()
    west, east = pair.of_west.subscribe(topic, "s"), pair.of_east.subscribe(topic, "s")
    publish(pair.of_west, topic, [b"from west"])
    publish(pair.of_east, topic, [b"from east"])
    for consumer in (west, east):
        assert sorted(received(consumer, 2)) == [b"from east", b"from west"]
        assert is_empty(consumer)


def test_receipts_acknowledge_the_cursor_and_show_in_the_stats(pair: Pair) -> None:
    topic = pair.topic()
    publish(pair.of_west, topic, NUMBERS[:100], batching_enabled=False)
    wait_until(lambda: replication_stats(pair.west, topic, "east")["msgOutCount"] == 100, 10)
    shown = replication_stats(pair.west, topic, "east")
    assert (shown["connected"], shown["replicationBacklog"], shown["lastError"]) == (True, 0, "")
    wait_until(lambda: replication_stats(pair.east, topic, "west")["msgInCount"] == 100, 10)
    assert "inboundConnection" in replication_stats(pair.east, topic, "west")


@pytest.mark.parametrize(
    "options",
    [
        {"batching_enabled": True, "batching_max_publish_delay_ms": 200},
        {"compression_type": pulsar.CompressionType.ZSTD, "batching_enabled": True},
        {"chunking_enabled": True, "batching_enabled": False},
    ],
    ids=["batches", "compressed", "chunks"],
)
def test_an_entry_travels_whole(pair: Pair, options: dict[str, object]) -> None:
    topic = pair.one_way_topic()
    payloads = [b"x" * 6_000_000] if "chunking_enabled" in options else NUMBERS[:500]
    publish(pair.of_west, topic, payloads, **options)
    for original, copy in copied(pair, topic):
        (metadata, payload), (copied_metadata, copied_payload) = entry_parts(original), entry_parts(copy)
        assert copied_payload == payload
        assert copied_metadata.startswith(metadata)
        assert parse_entry(copy).metadata.replicated_from == "west"  # and its checksum is right


def test_fields_that_this_release_does_not_know_travel_too(pair: Pair) -> None:
    topic = pair.one_way_topic()
    producer = pair.of_west.create_producer(topic)
    producer.send(b"x", properties={"a": "b"}, partition_key="k", ordering_key="o", event_timestamp=5, sequence_id=77)
    [(original, copy)] = copied(pair, topic)
    metadata, copied_metadata = (parse_entry(one).metadata for one in (original, copy))
    for field in ("replicated_from", "properties"):
        copied_metadata.ClearField(field)
        metadata.ClearField(field)
    assert copied_metadata == metadata
    assert isinstance(metadata, MessageMetadata)


def test_schemas_are_registered_with_the_version_of_the_other_cluster(pair: Pair) -> None:
    class Order(pulsar.schema.Record):  # type: ignore[misc]  # the library has no types
        number = pulsar.schema.Integer()

    topic = pair.one_way_topic()
    old = json.dumps({"type": "record", "name": "Other", "fields": []})
    path = topic.replace("persistent://", "schemas/")
    admin(pair.east.http_url, "PUT", topic.replace("://", "/"))
    admin(pair.east.http_url, "POST", f"{path}/schema", {"type": "AVRO", "schema": old, "properties": {}})
    namespace = topic.replace("persistent://", "namespaces/").removesuffix("/t")
    admin(pair.east.http_url, "PUT", f"{namespace}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")
    consumer = pair.of_east.subscribe(topic, "s", schema=pulsar.schema.AvroSchema(Order))
    producer = pair.of_west.create_producer(topic, schema=pulsar.schema.AvroSchema(Order))
    producer.send(Order(number=4))
    assert consumer.receive(20_000).value().number == 4
    versions = [parse_entry(one).metadata.schema_version for one in copied(pair, topic)[0]]
    assert [int.from_bytes(one, "big") for one in versions] == [0, 1]


def test_a_producer_chooses_the_clusters_of_a_message(pair: Pair) -> None:
    topic = pair.topic()
    consumer = pair.of_east.subscribe(topic, "s")
    producer = pair.of_west.create_producer(topic)
    producer.send(b"nowhere", disable_replication=True)
    producer.send(b"elsewhere", replication_clusters=["north"])
    producer.send(b"here", replication_clusters=["east"])
    assert received(consumer, 1) == [b"here"]
    cursor = loaded(pair.west, topic).replicators["pulsar.repl.east"].cursor
    wait_until(lambda: cursor.backlog_entries == 0, 10)
    assert is_empty(consumer)


def test_an_entry_near_the_maximum_size_arrives(pair: Pair) -> None:
    topic = pair.one_way_topic()
    consumer = pair.of_east.subscribe(topic, "s")
    payload = b"x" * (5 * 1024 * 1024 - 60)
    publish(pair.of_west, topic, [payload, b"next"], batching_enabled=False)
    assert received(consumer, 2) == [payload, b"next"]


def test_partitions_are_created_in_the_other_cluster_before_the_first_message(pair: Pair) -> None:
    base = pair.topic().removesuffix("/t") + "/parts"
    path = base.replace("://", "/")
    admin(pair.west.http_url, "PUT", f"{path}/partitions", 3)

    def count() -> int:
        try:
            return int(admin(pair.east.http_url, "GET", f"{path}/partitions")["partitions"])
        except HTTPError:
            return 0

    wait_until(lambda: count() == 3, 20)
    consumer = pair.of_east.subscribe(base, "s")
    publish(pair.of_west, base, NUMBERS[:300])
    assert sorted(received(consumer, 300)) == sorted(NUMBERS[:300])
    admin(pair.west.http_url, "POST", f"{path}/partitions", 5)
    wait_until(lambda: count() == 5, 20)


def test_a_partition_that_does_not_count_yet_waits_for_the_update(pair: Pair) -> None:
    base = parse_topic(pair.topic().removesuffix("/t") + "/grows")
    for broker in (pair.west, pair.east):
        broker.call(broker.broker.partitioned.create(base, 2))
    new = loaded(pair.west, base.partition_name(2), create=True)
    wait_until(lambda: any("does not count yet" in one.last_error for one in new.replicators.by_cursor.values()), 20)
    pair.west.call(pair.west.broker.partitioned.update(base, 3))
    wait_until(lambda: pair.east.broker.partitioned.count(base) == 3, 20)


def test_topics_that_do_not_fit_say_so(pair: Pair) -> None:
    topic = pair.one_way_topic()
    admin(pair.east.http_url, "PUT", f"{topic.replace('://', '/')}/partitions", 2)
    publish(pair.of_west, topic, [b"x"])
    reason = "the topic is not partitioned, and has 2 partitions in cluster east"
    wait_until(lambda: replication_stats(pair.west, topic, "east")["lastError"] == reason, 10)
    assert replication_stats(pair.west, topic, "east")["replicationBacklog"] == 1
