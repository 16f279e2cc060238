"""Replicated subscriptions (PIP-33) between two brokers: they follow one another."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pulsar
import pytest

from broker_core.config.replication import ReplicationConfig
from broker_core.names import parse_topic
from broker_core.publishing.replication import MarkerSender
from broker_core.storage.records.position import Position
from broker_core.testing import EmbeddedBroker
from broker_core.wire.markers import (
    SnapshotMarker,
    SnapshotRequest,
    SnapshotResponse,
    Update,
    encode_update,
)
from tests.broker.replication.following import (
    NAME,
    SECONDS,
    acknowledge,
    backlog,
    has_followed,
    is_asking,
    is_past_all,
    kinds,
    mark_delete,
    markers_in,
    new_topic,
    set_status,
    status,
    subscribe,
)
from tests.broker.replication.pair import Pair, is_empty, publish, received
from tests.support import official_client
from tests.support.clusters import admin, config_of, introduce, new_namespace, record_of
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded

FIFTY = [b"%d" % number for number in range(50)]


@pytest.fixture(scope="module")
def quick() -> Iterator[Pair]:
    """Two clusters that take a snapshot every 20 ms."""
    settings = ReplicationConfig(snapshot_ms=20)
    west = EmbeddedBroker(config=config_of("west", replication=settings))
    east = EmbeddedBroker(config=config_of("east", replication=settings))
    with west, east:
        introduce((west, east))
        both = Pair(west, east)
        yield both
        both.close()


def test_a_subscription_follows_and_is_created_in_the_other_cluster(quick: Pair) -> None:
    topic = new_topic(quick)
    consumer = subscribe(quick.of_west, topic)
    for published in (50, 100, 150):
        publish(quick.of_west, topic, FIFTY, batching_enabled=False)
        acknowledge(consumer, 50)
        wait_until(lambda published=published: is_past_all(quick.east, topic, published), SECONDS)  # type: ignore[misc]  # read at once
    assert status(quick.east, topic) == {topic: True}
    consumer.close()
    assert is_empty(subscribe(quick.of_east, topic))


def test_a_consumer_that_moves_gets_everything_that_was_not_acknowledged_and_repeats_little(quick: Pair) -> None:
    topic = new_topic(quick)
    consumer = subscribe(quick.of_west, topic)
    publish(quick.of_west, topic, FIFTY, batching_enabled=False)
    wait_until(lambda: SnapshotMarker in kinds(quick.west, topic), SECONDS)
    publish(quick.of_west, topic, [b"%d" % number for number in range(50, 100)], batching_enabled=False)
    acknowledge(consumer, 60)
    wait_until(lambda: has_followed(quick.east, topic), SECONDS)
    consumer.close()
    moved = subscribe(quick.of_east, topic)
    found = [int(received(moved, 1)[0])]
    found += [int(one) for one in received(moved, 99 - found[0])]
    assert found == list(range(found[0], 100))
    assert 0 < found[0] <= 60
    assert is_empty(moved)


def test_a_shared_subscription_follows_up_to_its_first_hole(quick: Pair) -> None:
    topic = new_topic(quick)
    consumer = subscribe(quick.of_west, topic, consumer_type=pulsar.ConsumerType.Shared)
    for first in (0, 10, 20):
        publish(quick.of_west, topic, FIFTY[first : first + 10], batching_enabled=False)
        wait_until(lambda: not is_asking(quick.west, topic), SECONDS)
    messages = [consumer.receive(20_000) for _ in range(30)]
    for message in messages[:15] + messages[16:]:
        consumer.acknowledge(message)
    wait_until(lambda: has_followed(quick.east, topic), SECONDS)
    moved = subscribe(quick.of_east, topic)
    first = int(received(moved, 1)[0])
    assert 0 < first <= 15
    assert received(moved, 29 - first) == FIFTY[first + 1 : 30]


def test_without_a_replicated_subscription_there_are_no_markers(quick: Pair) -> None:
    topic = new_topic(quick)
    consumer = subscribe(quick.of_west, topic, replicated=False)
    publish(quick.of_west, topic, FIFTY, batching_enabled=False)
    acknowledge(consumer, 50)
    wait_until(lambda: loaded(quick.east, topic).ledger.messages == 50, SECONDS)
    assert not is_asking(quick.west, topic)
    assert loaded(quick.west, topic).ledger.entries == loaded(quick.east, topic).ledger.entries == 50


def test_a_topic_without_new_messages_takes_no_snapshot(quick: Pair) -> None:
    topic = new_topic(quick)
    subscribe(quick.of_west, topic).close()
    assert not is_asking(quick.west, topic)
    publish(quick.of_west, topic, FIFTY)
    wait_until(lambda: SnapshotMarker in kinds(quick.west, topic) and not is_asking(quick.west, topic), SECONDS)
    assert not is_asking(quick.east, topic)  # it only answered: the subscription is not there yet
    assert set(kinds(quick.east, topic)) == {SnapshotRequest, SnapshotResponse}


def test_tools_switch_it_on_and_off(quick: Pair) -> None:
    topic = new_topic(quick)
    consumer = subscribe(quick.of_west, topic, replicated=False)
    publish(quick.of_west, topic, FIFTY)
    acknowledge(consumer, 50)
    set_status(quick.west, topic, True)
    wait_until(lambda: is_past_all(quick.east, topic, 50), SECONDS)
    assert status(quick.west, topic) == status(quick.east, topic) == {topic: True}
    set_status(quick.west, topic, False)
    publish(quick.of_west, topic, FIFTY)
    acknowledge(consumer, 50)
    assert not is_asking(quick.west, topic)
    assert status(quick.west, topic) == {topic: False}


def test_a_cluster_that_leaves_ends_the_snapshots(quick: Pair) -> None:
    topic = new_topic(quick)
    subscribe(quick.of_west, topic).close()
    namespace = topic.removeprefix("persistent://").removesuffix("/t")
    admin(quick.west.http_url, "POST", f"namespaces/{namespace}/replication", ["west"])
    publish(quick.of_west, topic, FIFTY)
    assert not is_asking(quick.west, topic)


def test_a_subscription_never_follows_backward(quick: Pair) -> None:
    topic = new_topic(quick)
    publish(quick.of_east, topic, FIFTY, batching_enabled=False)
    acknowledge(subscribe(quick.of_east, topic, replicated=False), 50)
    before = mark_delete(quick.east, topic)
    tell(quick.east, topic, Position(before.ledger_id, 10))
    assert mark_delete(quick.east, topic) == before


def test_a_position_of_an_earlier_life_of_the_cluster_moves_nothing(quick: Pair) -> None:
    topic = new_topic(quick)
    publish(quick.of_east, topic, FIFTY, batching_enabled=False)
    subscribe(quick.of_east, topic, replicated=False).close()
    tell(quick.east, topic, Position(1_000_000, 1))
    assert backlog(quick.east, topic) == 50


OF_WEST = MarkerSender("west", lambda _: True)


@pytest.mark.parametrize(
    "sender",
    [MarkerSender("elsewhere", lambda _: True), MarkerSender("west", lambda _: False)],
    ids=["of a cluster to which the topic is not replicated", "without permission to consume"],
)
def test_a_sender_moves_no_subscription(quick: Pair, sender: MarkerSender) -> None:
    topic = new_topic(quick)
    publish(quick.of_east, topic, FIFTY, batching_enabled=False)
    subscribe(quick.of_east, topic, replicated=False).close()
    tell(quick.east, topic, loaded(quick.east, topic).ledger.last_confirmed, sender)
    assert backlog(quick.east, topic) == 50


def tell(broker: EmbeddedBroker, topic: str, position: Position, sender: MarkerSender = OF_WEST) -> None:
    """An update that names the position arrives; returns when it was handled."""

    async def receive() -> None:
        one = await broker.broker.topics.get(parse_topic(topic))
        one.replicated_subscriptions.received(
            encode_update(Update(NAME, {"east": position}), 1), one.ledger.last_confirmed, sender
        )
        await one.subscriptions[NAME].cursor.flush()

    broker.call(receive())


def test_a_consumer_that_is_connected_continues_after_the_new_position(quick: Pair) -> None:
    topic = new_topic(quick)
    publish(quick.of_east, topic, FIFTY, batching_enabled=False)
    moved = subscribe(quick.of_east, topic, receiver_queue_size=1)
    assert received(moved, 1) == [b"0"]
    there = loaded(quick.east, topic)
    [consumer] = there.subscriptions[NAME].consumers
    wait_until(lambda: consumer.delivered_entries == 2, SECONDS)  # the next one is on its way to the consumer
    tell(quick.east, topic, Position(there.ledger.last_confirmed.ledger_id, 39))
    assert [int(one) for one in received(moved, 11)] == [1, *range(40, 50)]


def test_metrics_count_snapshots(quick: Pair) -> None:
    before = metric(quick.west, "pulsar_replicated_subscriptions_snapshot_ms_count")
    topic = new_topic(quick)
    subscribe(quick.of_west, topic)
    publish(quick.of_west, topic, FIFTY)
    wait_until(lambda: metric(quick.west, "pulsar_replicated_subscriptions_snapshot_ms_count") > before, SECONDS)
    assert metric(quick.west, "pulsar_replicated_subscriptions_timedout_snapshots_total") == 0
    wait_until(lambda: metric(quick.west, "pulsar_replicated_subscriptions_pending_snapshots") == 0, SECONDS)


def metric(broker: EmbeddedBroker, name: str) -> float:
    with urllib.request.urlopen(f"{broker.http_url}/metrics", timeout=SECONDS) as answer:
        lines = [line for line in answer.read().decode().splitlines() if line.startswith(name)]
    return float(lines[0].split()[-1])


def test_a_cluster_with_the_feature_off_stores_and_follows_nothing() -> None:
    off = ReplicationConfig(snapshot_ms=20, subscriptions=False)
    west = EmbeddedBroker(config=config_of("west", replication=off))
    east = EmbeddedBroker(config=config_of("east", replication=off))
    with west, east:
        introduce((west, east))
        pair = Pair(west, east)
        topic = new_topic(pair)
        subscribe(pair.of_west, topic)
        publish(pair.of_west, topic, FIFTY)
        set_status(west, topic, True)
        assert status(west, topic) == {topic: False}
        assert not is_asking(west, topic)
        pair.close()


def test_it_continues_after_a_restart(tmp_path: Path) -> None:
    settings = ReplicationConfig(snapshot_ms=20)
    with EmbeddedBroker(config=config_of("east", replication=settings)) as east:
        with EmbeddedBroker(tmp_path, config=config_of("west", replication=settings)) as west:
            introduce((west, east))
            pair = Pair(west, east)
            topic = new_topic(pair)
            consumer = subscribe(pair.of_west, topic)
            publish(pair.of_west, topic, FIFTY, batching_enabled=False)
            wait_until(lambda: SnapshotMarker in kinds(west, topic) and not is_asking(west, topic), SECONDS)
            consumer.receive(20_000)
            pair.close()
        with EmbeddedBroker(tmp_path, config=config_of("west", replication=settings)) as west:
            admin(east.http_url, "POST", "clusters/west", record_of(west.service_url, west.http_url))
            pair = Pair(west, east)
            acknowledge(subscribe(pair.of_west, topic), 50)
            wait_until(lambda: is_past_all(east, topic, 50), SECONDS)
            pair.close()


def test_three_clusters_ask_twice_and_all_follow() -> None:
    names = ["north", "south", "west"]
    settings = ReplicationConfig(snapshot_ms=20)
    with ExitStack() as running:
        brokers = [
            running.enter_context(EmbeddedBroker(config=config_of(name, replication=settings))) for name in names
        ]
        introduce(brokers)
        topic = f"persistent://{new_namespace(brokers, 'ring', names)}/t"
        for broker in brokers:
            loaded(broker, topic, create=True)
        client = official_client.connect(brokers[0].service_url)
        running.callback(client.close)
        consumer = subscribe(client, topic)
        publish(client, topic, FIFTY)
        acknowledge(consumer, 50)
        for other in brokers[1:]:
            wait_until(lambda other=other: is_past_all(other, topic, 50), SECONDS)  # type: ignore[misc]  # read at once
        found = [one for _, one in markers_in(brokers[0], topic)]
        snapshot = next(one for one in found if isinstance(one, SnapshotMarker))
        assert set(snapshot.elsewhere) == {"south", "west"}
        asked = [one for one in found if isinstance(one, SnapshotRequest) and one.snapshot_id == snapshot.snapshot_id]
        assert len(asked) == 2
