"""A group of many registered consumers."""

import time
from typing import cast

from broker_core.client import Outbound
from broker_core.names import parse_topic
from broker_core.scalable.group import ConsumerGroup
from broker_core.scalable.layout import Layout, Segment
from broker_core.scalable.segments import Attached
from broker_core.scalable.synthetic import synthetic_layout

NAME = parse_topic("persistent://public/default/wide")


class Sent(list[bytes]):
    """The frames that a client gets."""

    send = list.append


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


def test_hundreds_of_consumers_of_hundreds_of_segments_join_without_long_pauses() -> None:
    group = ConsumerGroup(Wide(), "s", is_ordered=True, grace_seconds=60, changed=lambda: None)
    before = time.process_time()
    for number in range(300):
        group.join(f"c{number}", cast(Outbound, Sent()), number)
    assert time.process_time() - before < 6, "20 ms for each of them"
    assert {len(consumer.segments) for consumer in group.consumers.values()} == {3, 4}
