"""A group of many registered consumers."""

import asyncio
import time
from typing import cast

from broker_core.client import Outbound
from broker_core.names import parse_topic
from broker_core.scalable.group import ConsumerGroup, RegisteredConsumer
from broker_core.scalable.layout import Layout, Segment
from broker_core.scalable.segments import Attached
from broker_core.scalable.synthetic import synthetic_layout

NAME = parse_topic("persistent://public/default/wide")


class Sent(list[bytes]):
    """The frames that a client gets."""

    send = list.append
    writable = True


class Wide:
    """A topic of 1,000 partitions without connected consumers."""

    name = NAME

    @property
    def layout(self) -> Layout:
        return synthetic_layout(NAME, 1000)

    def is_drained(self, segment: Segment, subscription: str) -> bool:
        return True

    shares_segments = True

    def attached(self, segment: Segment, subscription: str) -> Attached:
        return Attached(0, are_sharing=False)


def wide_group() -> ConsumerGroup:
    return ConsumerGroup(Wide(), "s", is_ordered=True, grace_seconds=60, changed=lambda: None)


def join(group: ConsumerGroup, number: int) -> RegisteredConsumer:
    return group.join(f"c{number}", cast(Outbound, Sent()), number)


def test_hundreds_of_consumers_of_hundreds_of_segments_join_without_long_pauses() -> None:
    group = wide_group()

    async def join_one_by_one() -> None:
        for number in range(300):
            join(group, number)
            await group.assigned()

    before = time.process_time()
    asyncio.run(join_one_by_one())
    assert time.process_time() - before < 6, "20 ms for each of them"
    assert {len(consumer.segments) for consumer in group.consumers.values()} == {3, 4}


def test_consumers_that_come_and_go_together_share_the_segments_once() -> None:
    group = wide_group()

    async def come_and_go() -> None:
        consumers = [join(group, number) for number in range(300)]
        await group.assigned()
        for consumer in consumers[1:]:
            consumer.expel()
        await group.assigned()

    before = time.process_time()
    asyncio.run(come_and_go())
    assert time.process_time() - before < 1, "20 ms for each time that the segments are shared"
    assert len(group.consumers["c0"].segments) == 1000


class Crowded(Wide):
    """A consumer is connected to each partition."""

    def attached(self, segment: Segment, subscription: str) -> Attached:
        return Attached(1, are_sharing=False)


class Held(Crowded):
    """A regular topic of four partitions after a restart: the clients have opened their segments again."""

    layout = synthetic_layout(parse_topic("persistent://public/default/t"), 4)


def test_consumers_that_come_back_together_get_no_segment_that_another_one_may_read() -> None:
    group = ConsumerGroup(Held(), "s", is_ordered=True, grace_seconds=60, changed=lambda: None)

    async def come_back() -> None:
        for number in range(2):
            join(group, number)
        await group.assigned()

    asyncio.run(come_back())
    assert [[segment.id for segment in one.segments] for one in group.consumers.values()] == [[0, 1], []]


def refused(group: ConsumerGroup, name: str, segments: int) -> None:
    """The consumer of that name finds its first segments busy, all in one iteration of the loop."""
    layout = group.topic.layout
    for number in range(segments):
        group.segment_busy(layout.segments[number].topic_of(group.topic.name), f"{name}-seg-{number}")


def test_a_consumer_that_finds_many_segments_busy_is_told_once() -> None:
    group = ConsumerGroup(Crowded(), "s", is_ordered=True, grace_seconds=60, changed=lambda: None)
    sent = Sent()

    async def open_all() -> None:
        consumer = group.join("c", cast(Outbound, sent), 1)
        await group.assigned()
        consumer.assignment()
        refused(group, "c", 500)
        await group.assigned()

    before = time.process_time()
    asyncio.run(open_all())
    assert time.process_time() - before < 1, "20 ms for each time that the segments are shared"
    assert (len(sent), len(group.consumers["c"].segments)) == (1, 500)


def test_a_consumer_without_a_name_gives_up_a_busy_segment_too() -> None:
    group = ConsumerGroup(Held(), "s", is_ordered=True, grace_seconds=60, changed=lambda: None)

    async def open_first() -> None:
        group.join("", cast(Outbound, Sent()), 1)
        await group.assigned()
        refused(group, "", 1)
        await group.assigned()

    asyncio.run(open_first())
    assert [segment.id for segment in group.consumers[""].segments] == [1, 2, 3]
