"""Consuming a scalable topic while its segments are split and merged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.raw.entry_record import EntryRecord
from pulsarctl.raw.scalable.segments_consumer import SegmentsConsumer
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from tests.broker.scalable.requests import Requests
from tests.cli.raw.scalable.conftest import SECONDS, Open
from tests.cli.raw.scalable.numbered import Numbers, consumed_by_key
from tests.support.connections import end_connections

Change = Callable[[str], None]
CHANGES = ("split/0", "split/1", "merge/2/3", "merge/4/5", "merge/6/7", "split/8")


@pytest.fixture
def publishing(producer: SegmentsProducer, change: Change) -> Iterator[Numbers]:
    """Sends messages, and changes the layout again and again, in another thread. Joined at the end."""
    numbers = Numbers()

    def run() -> None:
        for path in CHANGES:
            numbers.send(producer, 1600)
            change(path)
        numbers.send(producer, 1600)
        producer.flush()

    thread = threading.Thread(target=run)
    thread.start()
    yield numbers
    thread.join()


def consumed(consumer: SegmentsConsumer, count: int) -> list[EntryRecord]:
    """Each record is settled, and each one arrives soon after the one before it."""
    records: list[EntryRecord] = []
    while len(records) < count:
        received = consumer.receive(int(SECONDS * 1000), min(256, count - len(records)))
        assert received
        consumer.settle(received)
        records += received
    return records


def test_a_stream_consumer_gets_each_key_in_order_while_segments_change(consumer_of: Open, publishing: Numbers) -> None:
    with closing(consumer_of()) as consumer:
        assert consumed_by_key(consumed(consumer, 11_200)) == publishing.expected


def test_a_queue_consumer_gets_every_message_while_segments_change(consumer_of: Open, publishing: Numbers) -> None:
    with closing(consumer_of(is_shared=True)) as consumer:
        numbers = consumed_by_key(consumed(consumer, 11_200))
    assert {key: sorted(values) for key, values in numbers.items()} == publishing.expected


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_new_consumer_at_latest_gets_everything_from_segments_that_are_created_later(
    consumer_of: Open, producer: SegmentsProducer, change: Change, is_shared: bool
) -> None:
    before, later = Numbers(), Numbers()
    before.send(producer, 16)
    producer.flush()
    with closing(consumer_of(is_shared=is_shared, from_earliest=False)) as consumer:
        change("split/0")
        later.send(producer, 160)
        producer.flush()
        assert consumed_by_key(consumed(consumer, 160)) == later.expected


@pytest.mark.parametrize("is_shared", [False, True])
def test_only_messages_that_are_not_acknowledged_come_again(
    consumer_of: Open, producer: SegmentsProducer, is_shared: bool
) -> None:
    numbers = Numbers()
    numbers.send(producer, 320)
    producer.flush()
    with closing(consumer_of(is_shared=is_shared)) as consumer:
        first = consumed(consumer, 100)
        assert consumer.receive(1000, 10)  # which are not settled
    with closing(consumer_of(is_shared=is_shared)) as consumer:
        assert consumed_by_key(first + consumed(consumer, 220)) == numbers.expected


def test_two_stream_consumers_share_the_segments_and_one_takes_over_at_once(
    consumer_of: Open, producer: SegmentsProducer
) -> None:
    numbers = Numbers()
    with closing(consumer_of("b")) as remaining:
        with closing(consumer_of("a")) as leaving:
            assert remaining.receive(100, 1) == []  # it gives up a segment
            numbers.send(producer, 160)
            producer.flush()
            halves = [leaving.receive(int(SECONDS * 1000), 160), remaining.receive(int(SECONDS * 1000), 160)]
            assert [len({record.partition for record in half}) for half in halves] == [1, 1]
            remaining.settle(halves[1])
        assert consumed_by_key([*halves[1], *consumed(remaining, 160 - len(halves[1]))]) == numbers.expected


def test_a_consumer_goes_on_after_the_broker_unloads_the_segments(
    consumer_of: Open, producer: SegmentsProducer, admin: Requests
) -> None:
    numbers = Numbers()
    with closing(consumer_of()) as consumer:
        numbers.send(producer, 160)
        producer.flush()
        records = consumed(consumer, 160)
        assert admin("PUT", "namespaces/public/default/unload").status == 204
        numbers.send(producer, 160)
        producer.flush()
        assert consumed_by_key(records + consumed(consumer, 160)) == numbers.expected


def test_a_consumer_goes_on_after_its_connection_was_lost_in_an_acknowledgment(
    consumer_of: Open, producer: SegmentsProducer, pulsar_broker: EmbeddedBroker
) -> None:
    numbers = Numbers()
    numbers.send(producer, 160)
    producer.flush()
    with closing(consumer_of()) as consumer:
        unsettled: list[EntryRecord] = []
        while len(unsettled) < 160:
            unsettled += consumer.receive(int(SECONDS * 1000), 160)
        end_connections(pulsar_broker)
        for record in unsettled:  # the first acknowledgment finds no broker, and a later one a closed socket
            consumer.settle([record])
        assert consumed_by_key(consumed(consumer, 160)) == numbers.expected
