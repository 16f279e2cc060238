"""Replicated subscriptions between this broker and a real Pulsar: consumers move from either to the other."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.error import HTTPError

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.two_clusters import Clusters, replicating
from tests.support.clusters import admin
from tests.support.condition import wait_until

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow]

SECONDS = 60.0
EACH = 200


@pytest.fixture(scope="module")
def clusters(java_pulsar: JavaPulsar) -> Iterator[Clusters]:
    with replicating(java_pulsar, "follow") as both:
        yield both


class Side(NamedTuple):
    client: pulsar.Client
    broker: EmbeddedBroker | JavaPulsar


OursFirst = Callable[[Clusters], tuple[Side, Side]]


def from_ours(clusters: Clusters) -> tuple[Side, Side]:
    return Side(clusters.of_ours, clusters.ours), Side(clusters.of_real, clusters.real)


def from_real(clusters: Clusters) -> tuple[Side, Side]:
    return from_ours(clusters)[1], from_ours(clusters)[0]


def subscribe(side: Side, topic: str) -> pulsar.Consumer:
    return side.client.subscribe(
        topic,
        "s",
        initial_position=pulsar.InitialPosition.Earliest,
        replicate_subscription_state_enabled=True,
    )


def publish(side: Side, topic: str, first: int, number: int) -> int:
    """Returns the number after the last one."""
    producer = side.client.create_producer(topic, batching_enabled=False)
    for payload in range(first, first + number):
        producer.send_async(b"%d" % payload, None)
    producer.flush()
    producer.close()
    return first + number


def shown(side: Side, topic: str) -> dict[str, Any]:
    """The stats of the subscription; empty if it does not exist."""
    try:
        stats = admin(side.broker.http_url, "GET", f"{topic.replace('://', '/')}/stats")
    except HTTPError:
        return {}
    found: dict[str, Any] = stats["subscriptions"].get("s", {})
    return found


def backlog(side: Side, topic: str) -> int:
    """-1 if the subscription does not exist."""
    return int(shown(side, topic).get("msgBacklog", -1))


def acknowledge(consumer: pulsar.Consumer, number: int) -> None:
    for _ in range(number):
        consumer.acknowledge(consumer.receive(60_000))


@pytest.mark.parametrize("sides", [from_ours, from_real])
def test_a_consumer_moves_and_goes_on_where_it_stopped(clusters: Clusters, sides: OursFirst) -> None:
    here, there = sides(clusters)
    topic = clusters.topic()
    consumer = subscribe(here, topic)
    acknowledged = publish(here, topic, 0, EACH)
    acknowledge(consumer, EACH)

    def has_followed() -> bool:
        """A real Pulsar tells its position only with an acknowledgment that follows a snapshot."""
        nonlocal acknowledged
        acknowledged = publish(here, topic, acknowledged, 1)
        acknowledge(consumer, 1)
        return 0 <= backlog(there, topic) < EACH

    wait_until(has_followed, SECONDS)
    assert shown(there, topic)["isReplicated"] is True
    end = publish(here, topic, acknowledged, EACH)
    consumer.close()
    moved = subscribe(there, topic)
    first = int(moved.receive(60_000).data())
    assert 0 < first <= acknowledged
    found = [int(moved.receive(60_000).data()) for _ in range(first + 1, end)]
    assert found == list(range(first + 1, end))


def test_a_consumer_moves_there_and_back_while_messages_are_published(clusters: Clusters) -> None:
    topic = clusters.topic()
    sides = from_ours(clusters)
    seen: set[int] = set()
    for number in range(4):
        publish(sides[number % 2], topic, number * EACH, EACH)
        consumer = subscribe(sides[number % 2], topic)
        while len(seen) < (number + 1) * EACH:
            message = consumer.receive(60_000)
            seen.add(int(message.data()))
            consumer.acknowledge(message)
        consumer.close()
    assert seen == set(range(4 * EACH))


def test_the_metrics_have_pulsars_names(clusters: Clusters) -> None:
    topic = clusters.topic()
    here, _ = from_real(clusters)
    consumer = subscribe(here, topic)
    publish(here, topic, 0, 1)
    acknowledge(consumer, 1)
    wait_until(lambda: "pulsar_replicated_subscriptions_snapshot_ms_count" in metrics(here), SECONDS)
    assert metrics(Side(clusters.of_ours, clusters.ours)) <= metrics(here)


def metrics(side: Side) -> set[str]:
    """The names of the metrics of replicated subscriptions. Pulsar has them once there is something to count."""
    with urllib.request.urlopen(f"{side.broker.http_url}/metrics/", timeout=SECONDS) as answer:
        names = {line.partition("{")[0] for line in answer.read().decode().splitlines()}
    return {name for name in names if name.startswith("pulsar_replicated_subscriptions_")}
