"""Two brokers that replicate to each other, as clients of both see them."""

from collections.abc import Iterator
from itertools import count

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests import official_client
from tests.broker_core.replication.clusters import config_of, introduce, new_namespace
from tests.condition import wait_until
from tests.loaded_topics import loaded

NAMES = count()


class Pair:
    def __init__(self, west: EmbeddedBroker, east: EmbeddedBroker) -> None:
        self.west, self.east = west, east
        self.of_west, self.of_east = (official_client.connect(one.service_url) for one in (west, east))

    def topic(self) -> str:
        """A new topic in a namespace that is replicated between both."""
        namespace = new_namespace((self.west, self.east), f"ns{next(NAMES)}", ["west", "east"])
        return f"persistent://{namespace}/t"

    def close(self) -> None:
        self.of_west.close()
        self.of_east.close()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with EmbeddedBroker(config=config_of("west")) as west, EmbeddedBroker(config=config_of("east")) as east:
        introduce((west, east))
        both = Pair(west, east)
        yield both
        both.close()


def received(consumer: pulsar.Consumer, number: int) -> list[bytes]:
    return [consumer.receive(10_000).data() for _ in range(number)]


def is_empty(consumer: pulsar.Consumer, millis: int = 300) -> bool:
    try:
        consumer.receive(millis)
    except pulsar.Timeout:
        return True
    return False


def test_messages_reach_the_other_cluster_in_order(pair: Pair) -> None:
    topic = pair.topic()
    consumer = pair.of_east.subscribe(topic, "s")
    producer = pair.of_west.create_producer(topic, block_if_queue_full=True)
    sent = [b"%d" % number for number in range(2000)]
    for payload in sent:
        producer.send_async(payload, None)
    producer.flush()
    assert received(consumer, 2000) == sent


def test_both_directions_work_and_nothing_comes_back(pair: Pair) -> None:
    topic = pair.topic()
    west, east = pair.of_west.subscribe(topic, "s"), pair.of_east.subscribe(topic, "s")
    pair.of_west.create_producer(topic).send(b"from west")
    pair.of_east.create_producer(topic).send(b"from east")
    for consumer in (west, east):
        assert sorted(received(consumer, 2)) == [b"from east", b"from west"]
        assert is_empty(consumer)


def test_receipts_acknowledge_the_cursor(pair: Pair) -> None:
    topic = pair.topic()
    producer = pair.of_west.create_producer(topic, block_if_queue_full=True)
    for number in range(100):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    cursor = loaded(pair.west, topic).replicators["pulsar.repl.east"].cursor
    wait_until(lambda: cursor.backlog_entries == 0, 10)
