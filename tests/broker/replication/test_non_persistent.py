"""Non-persistent topics: messages reach the other cluster while it is connected, and are dropped while it is not."""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.broker.replication.pair import Pair, is_empty, received
from tests.support.clusters import admin, config_of, introduce, register, replication_stats
from tests.support.condition import wait_until

CONNECT_SECONDS = 30.0


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with EmbeddedBroker(config=config_of("west")) as west, EmbeddedBroker(config=config_of("east")) as east:
        introduce((west, east))
        pair = Pair(west, east)
        yield pair
        pair.close()


def producer_of(client: pulsar.Client, broker: EmbeddedBroker, topic: str, cluster: str = "") -> pulsar.Producer:
    """Returns when the topic is connected to the cluster, if one is named."""
    producer = client.create_producer(topic, batching_enabled=False)
    if cluster:
        wait_until(lambda: replication_stats(broker, topic, cluster)["connected"], CONNECT_SECONDS)
    return producer


def test_messages_reach_the_other_cluster_in_order_and_do_not_come_back(pair: Pair) -> None:
    topic = f"non-{pair.topic()}"
    there, here = pair.of_east.subscribe(topic, "s"), pair.of_west.subscribe(topic, "s")
    producer = producer_of(pair.of_west, pair.west, topic, "east")
    sent = [b"%d" % number for number in range(300)]
    for payload in sent:
        producer.send(payload, properties={"n": "1"})
    assert received(there, len(sent)) == sent
    assert received(here, len(sent)) == sent
    assert is_empty(here)
    wait_until(lambda: replication_stats(pair.west, topic, "east")["msgOutCount"] == len(sent), 30)
    assert replication_stats(pair.west, topic, "east")["replicationBacklog"] == 0


def test_messages_for_a_cluster_that_is_away_are_dropped(pair: Pair) -> None:
    topic = f"non-{pair.topic()}"
    namespace = topic.removeprefix("non-persistent://").removesuffix("/t")
    register(pair.west, "nowhere", "pulsar://127.0.0.1:1")
    admin(pair.west.http_url, "POST", f"namespaces/{namespace}/replication", ["west", "east", "nowhere"])
    consumer = pair.of_east.subscribe(topic, "s")
    producer = producer_of(pair.of_west, pair.west, topic, "east")
    producer.send(b"x")
    assert received(consumer, 1) == [b"x"]
    stats = replication_stats(pair.west, topic, "nowhere")
    assert (stats["connected"], stats["msgOutCount"], stats["replicationBacklog"]) == (False, 0, 0)
    assert stats["msgDropCount"] == 1


def test_a_message_that_is_for_no_other_cluster_stays(pair: Pair) -> None:
    topic = f"non-{pair.topic()}"
    consumer = pair.of_east.subscribe(topic, "s")
    producer = producer_of(pair.of_west, pair.west, topic, "east")
    producer.send(b"stays", disable_replication=True)
    producer.send(b"goes")
    assert received(consumer, 1) == [b"goes"]
