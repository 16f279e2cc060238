"""Policies of replication: what starts and stops a replicator, limits it, and empties its backlog."""

import errno
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from broker_core.config.replication import ReplicationConfig
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.replication.pair import NAMES, Pair, is_empty, publish, received
from tests.support import official_client
from tests.support.clusters import admin, config_of, new_namespace, register, replication_stats
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer
from tests.support.raw_publishing import publish as publish_raw

AWAY = "pulsar://127.0.0.1:1"  # no broker listens there


def path_of(topic: str) -> str:
    return topic.replace("://", "/")


def away_topic(pair: Pair) -> tuple[str, str]:
    """A topic that is replicated to a cluster that cannot be reached, and the name of that cluster."""
    cluster = f"away{next(NAMES)}"
    register(pair.west, cluster, AWAY)
    return f"persistent://{new_namespace((pair.west,), f'ns{next(NAMES)}', ['west', cluster])}/t", cluster


def test_a_policy_of_the_topic_starts_a_replicator_at_once(pair: Pair) -> None:
    name = f"ns{next(NAMES)}"
    for broker in (pair.west, pair.east):
        admin(broker.http_url, "PUT", f"namespaces/public/{name}")
    topic = f"persistent://public/{name}/t"
    consumer = pair.of_east.subscribe(topic, "s")
    publish(pair.of_west, topic, [b"before"])
    admin(pair.west.http_url, "POST", f"{path_of(topic)}/replication", ["west", "east"])
    publish(pair.of_west, topic, [b"after"])
    assert received(consumer, 1) == [b"after"]


def test_a_cluster_that_leaves_the_list_gets_nothing_more_and_loses_its_cursor(pair: Pair) -> None:
    topic = pair.topic()
    consumer = pair.of_east.subscribe(topic, "s")
    publish(pair.of_west, topic, [b"before"])
    assert received(consumer, 1) == [b"before"]
    namespace = topic.removeprefix("persistent://").removesuffix("/t")
    admin(pair.west.http_url, "POST", f"namespaces/{namespace}/replication", ["west"])
    assert "pulsar.repl.east" not in loaded(pair.west, topic).ledger.cursors
    publish(pair.of_west, topic, [b"after"])
    assert is_empty(consumer)


def test_a_policy_of_the_topic_takes_precedence_over_that_of_its_namespace(pair: Pair) -> None:
    topic = pair.topic()
    admin(pair.west.http_url, "PUT", path_of(topic))
    admin(pair.west.http_url, "POST", f"{path_of(topic)}/replication", ["west"])
    wait_until(lambda: not loaded(pair.west, topic).replicators, 10)
    admin(pair.west.http_url, "DELETE", f"{path_of(topic)}/replication")
    assert list(loaded(pair.west, topic).replicators) == ["pulsar.repl.east"]


def test_replication_goes_on_after_a_topic_was_unloaded(pair: Pair) -> None:
    topic = pair.topic()
    consumer = pair.of_east.subscribe(topic, "s")
    publish(pair.of_west, topic, [b"1"])
    admin(pair.west.http_url, "PUT", f"{path_of(topic)}/unload")
    publish(pair.of_west, topic, [b"2"])
    assert received(consumer, 2) == [b"1", b"2"]
    assert is_empty(consumer)


def test_a_rate_limits_what_goes_to_another_cluster(pair: Pair) -> None:
    topic = pair.topic()
    admin(pair.west.http_url, "PUT", path_of(topic))
    consumer = pair.of_east.subscribe(topic, "s")
    rate = {"dispatchThrottlingRateInMsg": 20, "ratePeriodInSecond": 1}
    admin(pair.west.http_url, "POST", f"{path_of(topic)}/replicatorDispatchRate", rate)
    started = time.monotonic()
    publish(pair.of_west, topic, [b"x"] * 40, batching_enabled=False)
    received(consumer, 40)
    assert time.monotonic() - started > 1.0


def test_tools_clear_and_skip_the_backlog_of_a_replicator(pair: Pair) -> None:
    topic, cluster = away_topic(pair)
    publish(pair.of_west, topic, [b"x"] * 10, batching_enabled=False)
    cursor = f"{path_of(topic)}/subscription/pulsar.repl.{cluster}"
    assert replication_stats(pair.west, topic, cluster)["replicationBacklog"] == 10
    admin(pair.west.http_url, "POST", f"{cursor}/skip/3")
    assert replication_stats(pair.west, topic, cluster)["replicationBacklog"] == 7
    admin(pair.west.http_url, "POST", f"{cursor}/skip_all")
    assert replication_stats(pair.west, topic, cluster)["replicationBacklog"] == 0


def test_tools_expire_the_backlog_of_a_replicator(pair: Pair) -> None:
    topic, cluster = away_topic(pair)
    publish(pair.of_west, topic, [b"x"] * 3, batching_enabled=False)
    oldest = replication_stats(pair.west, topic, cluster)
    wait_until(lambda: replication_stats(pair.west, topic, cluster)["replicationDelayInSeconds"] >= 1, 10)
    admin(pair.west.http_url, "POST", f"{path_of(topic)}/subscription/pulsar.repl.{cluster}/expireMessages/0")
    shown = replication_stats(pair.west, topic, cluster)
    assert (oldest["replicationBacklog"], shown["replicationBacklog"], shown["msgExpiredCount"]) == (3, 0, 3)


def test_a_replicator_that_does_not_exist_is_not_found(pair: Pair) -> None:
    topic = pair.topic()
    admin(pair.west.http_url, "PUT", path_of(topic))
    for act in ("skip_all", "skip/1"):
        with pytest.raises(HTTPError) as refused:
            admin(pair.west.http_url, "POST", f"{path_of(topic)}/subscription/pulsar.repl.north/{act}")
        assert refused.value.code == 404 and b"Replicator not found" in refused.value.read()


def test_a_ttl_bounds_the_backlog_of_a_cluster_that_is_away(pair: Pair) -> None:
    topic, cluster = away_topic(pair)
    namespace = topic.removeprefix("persistent://").removesuffix("/t")
    publish(pair.of_west, topic, [b"x"] * 3)
    admin(pair.west.http_url, "POST", f"namespaces/{namespace}/messageTTL", 1)
    wait_until(lambda: replication_stats(pair.west, topic, cluster)["replicationBacklog"] == 0, 10)


def test_a_backlog_quota_counts_replicators(pair: Pair) -> None:
    topic, cluster = away_topic(pair)
    namespace = topic.removeprefix("persistent://").removesuffix("/t")
    publish(pair.of_west, topic, [b"x" * 100] * 20, batching_enabled=False)
    quota = {"limitSize": 1000, "limitTime": -1, "policy": "consumer_backlog_eviction"}
    admin(
        pair.west.http_url, "POST", f"namespaces/{namespace}/backlogQuota?backlogQuotaType=destination_storage", quota
    )
    pair.west.call(loaded(pair.west, topic).quotas.check())
    assert replication_stats(pair.west, topic, cluster)["backlogSize"] < 1000


def test_a_new_topic_can_be_replicated_from_its_start() -> None:
    earliest = ReplicationConfig(start_at="earliest")
    with EmbeddedBroker(config=config_of("north", replication=earliest)) as north:
        client = official_client.connect(north.service_url)
        publish(client, "public/default/t", [b"x"] * 3, batching_enabled=False)
        client.close()
        register(north, "away", AWAY)
        admin(north.http_url, "POST", "namespaces/public/default/replication", ["north", "away"])
        assert replication_stats(north, "persistent://public/default/t", "away")["replicationBacklog"] == 3


def test_metrics_show_the_backlog_of_each_replicator(pair: Pair) -> None:
    topic, cluster = away_topic(pair)
    publish(pair.of_west, topic, [b"x"] * 3, batching_enabled=False)
    with urlopen(f"{pair.west.http_url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = [line for line in lines if line.startswith("pulsar_replication_backlog{") and cluster in line]
    assert len(found) == 1 and found[0].endswith(" 3") and f'remote_cluster="{cluster}"' in found[0]


def test_a_cluster_whose_cursor_cannot_be_stored_misses_nothing() -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(config=config_of("north"), disk=disk) as north, RawClient(north.service_url) as client:
        register(north, "away", AWAY)
        topic = f"persistent://{new_namespace((north,), 'ns', ['north'])}/t"
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        disk.failures["sync", ".journal"] = errno.EIO
        admin(north.http_url, "POST", "namespaces/public/ns/replication", ["north", "away"])
        client.expect(BaseCommand.CLOSE_PRODUCER)
        refused = client.ask(producer(topic, request_id=2), BaseCommand.ERROR)
        assert "cannot start its replication" in refused.message
        disk.failures.clear()
        replicators = loaded(north, topic).replicators
        wait_until(lambda: list(replicators) == ["pulsar.repl.away"], 30)
        client.ask(producer(topic, request_id=3), BaseCommand.PRODUCER_SUCCESS)
        publish_raw(client, 3)
        assert replicators["pulsar.repl.away"].cursor.backlog_entries == 3


def test_a_cursor_that_cannot_be_deleted_at_once_is_deleted_later() -> None:
    disk = FaultyDisk()
    with EmbeddedBroker(config=config_of("north"), disk=disk) as north:
        register(north, "away", AWAY)
        topic = f"persistent://{new_namespace((north,), 'ns', ['north', 'away'])}/t"
        cursors = loaded(north, topic, create=True).ledger.cursors
        assert list(cursors) == ["pulsar.repl.away"]
        disk.failures["sync", ".journal"] = errno.EIO
        admin(north.http_url, "POST", "namespaces/public/ns/replication", ["north"])
        assert list(cursors) == ["pulsar.repl.away"]
        disk.failures.clear()
        wait_until(lambda: not cursors, 30)
