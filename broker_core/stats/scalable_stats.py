"""The figures of a scalable topic: its segments merged into one topic, and its registered consumers.

A producer has one connection to each segment, and another name for each; it is one line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_core.stats.merged_stats import merge
from broker_core.stats.topic_stats import TopicStats, topic_stats
from broker_core.wire.segment_clients import without_segment

if TYPE_CHECKING:
    from broker_core.names import TopicName
    from broker_core.scalable.layout import Segment
    from broker_core.scalable.topics import ScalableTopics


class ScalableStats(NamedTuple):
    """`by_segment`: the figures of each segment, by ID. `total`: of all of them as one topic."""

    total: TopicStats
    by_segment: dict[int, TopicStats]


async def scalable_stats(scalable: ScalableTopics, name: TopicName) -> ScalableStats:
    """Loads each segment. Raises `TopicNotFound`."""
    by_segment = {
        segment.id: await segment_stats(scalable, name, segment)
        for segment in list(scalable.records.find(name).layout.segments.values())
        if scalable.segments.exists(name, segment)
    }
    return ScalableStats(merge(map(_named, by_segment.values())), by_segment)


async def segment_stats(scalable: ScalableTopics, name: TopicName, segment: Segment) -> TopicStats:
    topic = await scalable.segments.topic(name, segment)
    for subscription in list(topic.subscriptions.values()):
        await subscription.cursor.measure()
    return await topic_stats(topic)


def _named(stats: TopicStats) -> TopicStats:
    """With the names that applications gave to producers and consumers."""
    publishers = tuple(one._replace(name=without_segment(one.name)) for one in stats.publishers)
    subscriptions = {
        name: one._replace(consumers=tuple(each._replace(name=without_segment(each.name)) for each in one.consumers))
        for name, one in stats.subscriptions.items()
    }
    return stats._replace(publishers=publishers, subscriptions=subscriptions)
