"""Clusters that are away, cut off, refuse messages, or lose a topic: nothing is lost, and producers notice nothing."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pulsar
import pytest

from broker_core.config.features import DeduplicationConfig
from broker_core.config.server import ConnectionConfig
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.broker.replication.pair import NAMES, Pair, is_empty, publish, received
from tests.support import official_client
from tests.support.clusters import (
    admin,
    config_of,
    introduce,
    new_namespace,
    record_of,
    register,
    replication_stats,
)
from tests.support.condition import wait_until
from tests.support.cutting_relay import CuttingRelay
from tests.support.loaded_topics import loaded


class Point(pulsar.schema.Record):  # type: ignore[misc]  # the library has no types
    x = pulsar.schema.Integer()


NUMBERS = [b"%d" % number for number in range(3000)]


@pytest.fixture
def strict_east() -> Iterator[EmbeddedBroker]:
    """Deduplicates, and takes only small messages."""
    deduplication, connection = DeduplicationConfig(enabled=True), ConnectionConfig(max_message_size=100_000)
    with EmbeddedBroker(config=config_of("east", deduplication=deduplication, connection=connection)) as east:
        yield east


@pytest.fixture
def west() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config_of("west")) as running:
        yield running


def replicated(west: EmbeddedBroker, east: EmbeddedBroker) -> str:
    introduce((west, east))
    return f"persistent://{new_namespace((west, east), 'ns', ['west', 'east'])}/t"


def last_error(broker: EmbeddedBroker, topic: str, cluster: str = "east") -> str:
    return str(replication_stats(broker, topic, cluster)["lastError"])


def test_cut_connections_lose_nothing_and_repeat_nothing(west: EmbeddedBroker, strict_east: EmbeddedBroker) -> None:
    topic = replicated(west, strict_east)
    of_west, of_east = (official_client.connect(one.service_url) for one in (west, strict_east))
    consumer = of_east.subscribe(topic, "s")
    with CuttingRelay(strict_east, iter([700 + 400 * cut for cut in range(12)])) as relay:
        admin(west.http_url, "POST", "clusters/east", record_of(relay.url, strict_east.http_url))
        publish(of_west, topic, NUMBERS, batching_enabled=False)
        assert received(consumer, len(NUMBERS)) == NUMBERS
        assert is_empty(consumer)
        assert relay.cuts == 12
    of_west.close()
    of_east.close()


def test_a_new_address_of_a_cluster_takes_effect_at_once(pair: Pair) -> None:
    cluster = f"c{next(NAMES)}"
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections, and never answers
        register(pair.west, cluster, f"pulsar://127.0.0.1:{silent.getsockname()[1]}")
        name = f"ns{next(NAMES)}"
        new_namespace((pair.east,), name, ["east"])
        topic = f"persistent://{new_namespace((pair.west,), name, ['west', cluster])}/t"
        publish(pair.of_west, topic, NUMBERS)
        assert replication_stats(pair.west, topic, cluster)["connected"] is False
        consumer = pair.of_east.subscribe(topic, "s")
        admin(pair.west.http_url, "POST", f"clusters/{cluster}", record_of(pair.east.service_url, pair.east.http_url))
        assert received(consumer, len(NUMBERS)) == NUMBERS


def test_a_slow_cluster_gets_everything_and_slows_no_producer(pair: Pair) -> None:
    topic = pair.one_way_topic()
    namespace = topic.removeprefix("persistent://").removesuffix("/t")
    rate = {"publishThrottlingRateInMsg": 100, "publishThrottlingRateInByte": -1}
    admin(pair.east.http_url, "POST", f"namespaces/{namespace}/publishRate", rate)
    consumer = pair.of_east.subscribe(topic, "s")
    publish(pair.of_west, topic, NUMBERS[:250], batching_enabled=False)
    assert replication_stats(pair.west, topic, "east")["replicationBacklog"] > 100
    assert received(consumer, 250) == NUMBERS[:250]
    assert is_empty(consumer)


def test_a_cluster_that_is_back_has_no_error_even_without_a_message(pair: Pair) -> None:
    cluster = f"c{next(NAMES)}"
    register(pair.west, cluster, "pulsar://127.0.0.1:1")
    name = f"ns{next(NAMES)}"
    new_namespace((pair.east,), name, ["east"])
    topic = f"persistent://{new_namespace((pair.west,), name, ['west', cluster])}/t"
    admin(pair.west.http_url, "PUT", topic.replace("://", "/"))
    wait_until(lambda: last_error(pair.west, topic, cluster) != "", 10)
    admin(pair.west.http_url, "POST", f"clusters/{cluster}", record_of(pair.east.service_url, pair.east.http_url))
    wait_until(lambda: replication_stats(pair.west, topic, cluster)["connected"], 10)
    assert last_error(pair.west, topic, cluster) == ""


def test_a_cluster_that_is_away_is_named_in_the_stats(pair: Pair) -> None:
    cluster = f"c{next(NAMES)}"
    register(pair.west, cluster, "pulsar://127.0.0.1:1")
    topic = f"persistent://{new_namespace((pair.west,), f'ns{next(NAMES)}', ['west', cluster])}/t"
    publish(pair.of_west, topic, [b"x"])
    reason = f"cannot connect to {cluster} at 127.0.0.1:1: Connection refused"
    wait_until(lambda: last_error(pair.west, topic, cluster) == reason, 10)


def test_an_entry_that_is_too_large_stops_its_topic_and_is_not_skipped(
    west: EmbeddedBroker, strict_east: EmbeddedBroker
) -> None:
    topic = replicated(west, strict_east)
    of_west, of_east = (official_client.connect(one.service_url) for one in (west, strict_east))
    consumer = of_east.subscribe(topic, "s")
    publish(of_west, topic, [b"1", b"x" * 200_000, b"2"], batching_enabled=False)
    assert received(consumer, 1) == [b"1"]
    wait_until(lambda: "takes at most 100000; raise its maxMessageSize" in last_error(west, topic), 10)
    assert is_empty(consumer)
    assert replication_stats(west, topic, "east")["replicationBacklog"] == 2
    admin(west.http_url, "POST", f"{topic.replace('://', '/')}/subscription/pulsar.repl.east/skip/1")
    assert received(consumer, 1) == [b"2"]
    of_west.close()
    of_east.close()


def test_a_topic_that_was_deleted_does_not_come_back(pair: Pair) -> None:
    topic = pair.topic()
    publish(pair.of_west, topic, [b"1"])
    path = topic.replace("://", "/")
    wait_until(lambda: replication_stats(pair.west, topic, "east")["msgOutCount"] == 1, 10)
    admin(pair.east.http_url, "DELETE", f"{path}?force=true")
    publish(pair.of_west, topic, [b"2"])
    wait_until(lambda: "was deleted in" in last_error(pair.west, topic), 10)
    assert not pair.east.broker.topics.exists(parse_topic(topic))
    admin(pair.east.http_url, "PUT", path)
    consumer = pair.of_east.subscribe(topic, "s")
    pair.west.call(retried(pair, topic))
    assert received(consumer, 1) == [b"2"]


async def retried(pair: Pair, topic: str) -> None:
    pair.west.broker.topics.loaded[topic].replicators["pulsar.repl.east"].retry_now()


def test_an_incompatible_schema_stops_its_topic_until_it_is_allowed(pair: Pair) -> None:
    topic = pair.one_way_topic()
    namespace = topic.replace("persistent://", "namespaces/").removesuffix("/t")
    schemas = topic.replace("persistent://", "schemas/")
    admin(pair.east.http_url, "PUT", topic.replace("://", "/"))
    admin(pair.east.http_url, "POST", f"{schemas}/schema", {"type": "STRING", "schema": "", "properties": {}})
    consumer = pair.of_east.subscribe(topic, "s")
    producer = pair.of_west.create_producer(topic, schema=pulsar.schema.JsonSchema(Point))
    producer.send(Point(x=1))
    wait_until(lambda: "IncompatibleSchema" in last_error(pair.west, topic), 10)
    assert is_empty(consumer)
    admin(pair.east.http_url, "PUT", f"{namespace}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")
    pair.west.call(retried(pair, topic))
    assert json.loads(received(consumer, 1)[0]) == {"x": 1}


def test_backlog_survives_a_restart_of_this_cluster(tmp_path: Path, pair: Pair) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = f"pulsar://127.0.0.1:{silent.getsockname()[1]}"
        with EmbeddedBroker(tmp_path, config=config_of("north")) as north:
            register(north, "east", address)
            name = f"ns{next(NAMES)}"
            topic = f"persistent://{new_namespace((north,), name, ['north', 'east'])}/t"
            new_namespace((pair.east,), name, ["east"])
            client = official_client.connect(north.service_url)
            publish(client, topic, NUMBERS)
            client.close()
    consumer = pair.of_east.subscribe(topic, "s")
    with EmbeddedBroker(tmp_path, config=config_of("north")) as north:
        admin(north.http_url, "POST", "clusters/east", record_of(pair.east.service_url, pair.east.http_url))
        assert received(consumer, len(NUMBERS)) == NUMBERS
        assert loaded(north, topic).replicators["pulsar.repl.east"].last_error == ""
