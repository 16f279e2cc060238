"""Producers that left: which ones deduplication forgets, and when it forgets the chunks that they left open."""

import pytest

from broker_core.publishing.deduplication_snapshot import CURSOR
from broker_core.testing import EmbeddedBroker
from tests.broker.publishing.deduplicated_topic import (
    NAME,
    config,
    create,
    leave,
    on_loop,
    publish_and_leave,
    receipts,
)
from tests.support.clocks import ShiftedClock
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import send, send_chunk


def assert_nothing_holds_the_snapshot_back(broker: EmbeddedBroker) -> None:
    topic = loaded(broker, NAME)
    on_loop(broker, topic.deduplication.forget_inactive)
    broker.call(topic.deduplication_switch.take_snapshot())
    assert topic.ledger.cursors[CURSOR].mark_delete == topic.ledger.last_confirmed


@pytest.mark.parametrize("unloaded", [False, True])
def test_chunks_of_a_producer_that_has_left_are_forgotten_after_a_while(unloaded: bool) -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(config=config(inactive_minutes=1), clock=clock) as broker:
        with RawClient(broker.service_url) as client:
            create(client)
            client.send(send_chunk(0, 0, 3))
            receipts(client, 1)
            leave(client)
        if unloaded:
            broker.call(broker.broker.topics.unload(NAME))
            with RawClient(broker.service_url) as client:
                create(client, "other")  # loads the topic
        clock.ran_seconds = 61.0
        assert_nothing_holds_the_snapshot_back(broker)


def test_chunks_that_a_replicator_has_copied_are_forgotten_after_a_while() -> None:
    clock = ShiftedClock()
    with EmbeddedBroker(config=config(inactive_minutes=1), clock=clock) as broker:
        with RawClient(broker.service_url) as client:
            create(client, "pulsar.repl.east")
            client.send(send_chunk(0, 0, 3, replicated_from="east"))
            receipts(client, 1)
        clock.ran_seconds = 61.0
        assert_nothing_holds_the_snapshot_back(broker)


def test_above_the_limit_the_producers_that_left_first_are_forgotten() -> None:
    with EmbeddedBroker(config=config(max_producers=2)) as broker, RawClient(broker.service_url) as client:
        publish_and_leave(client, "a", "b", "c")
        assert [create(client, name, producer_id=index) for index, name in enumerate("abc", 2)] == [-1, 5, 5]


def test_an_inactive_producer_is_forgotten() -> None:
    clock = ShiftedClock()
    with (
        EmbeddedBroker(config=config(inactive_minutes=1), clock=clock) as broker,
        RawClient(broker.service_url) as client,
    ):
        publish_and_leave(client, "away")
        create(client, "stays", producer_id=2)
        client.send(send(5, name="stays", producer_id=2))
        receipts(client, 1)
        clock.ran_seconds = 61.0
        publish_and_leave(client, "just left")
        on_loop(broker, loaded(broker, NAME).deduplication.forget_inactive)
        leave(client, 2)
        last = [
            create(client, name, producer_id=3 + index) for index, name in enumerate(("away", "stays", "just left"))
        ]
        assert last == [-1, 5, 5]
