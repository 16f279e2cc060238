"""The layout of a regular topic, as clients of scalable topics see it (PIP-475). Pure.

Each partition is one active segment without parents, and a topic without partitions is one segment. The ranges are
only shown: because the segments name regular topics, clients choose a partition by the key as they always do, so old
and new clients agree on the partition of a key.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from broker_core.scalable.buckets import HASHES
from broker_core.scalable.layout import Layout, Segment

if TYPE_CHECKING:
    from broker_core.names import TopicName


@lru_cache(maxsize=8)  # a client that looks a topic up also registers, and a group asks at each change
def synthetic_layout(name: TopicName, partitions: int) -> Layout:
    """`partitions`: 0 for a topic that is not partitioned. The epoch is 0, as in Pulsar."""
    topics = [str(name.partition_name(index)) for index in range(partitions)] or [str(name)]
    segments = {
        index: Segment(index, *_range(index, len(topics)), legacy_topic=topic) for index, topic in enumerate(topics)
    }
    return Layout(0, len(segments), segments)


def migrated_layout(before: Layout, now_ms: int, buckets: int = 1) -> Layout:
    """The layout of a regular topic that becomes scalable: each new segment follows all the old ones, which are sealed.

    Keys were in any of the old segments, so each of these has all hashes. Apache Pulsar leaves the epoch at 0; here it
    is 1, because a client may ignore a layout whose epoch is not greater. `buckets`: the number of entry buckets of
    each new segment.
    """
    count, old = len(before.segments), tuple(before.segments)
    new = Layout.initial(count, now_ms, buckets).segments
    children = {
        count + index: replace(segment, id=count + index, created_epoch=1, parents=old)
        for index, segment in new.items()
    }
    parents = {
        segment.id: replace(
            segment, start=0, end=HASHES - 1, children=tuple(children), sealed_epoch=1, sealed_ms=now_ms
        )
        for segment in before.segments.values()
    }
    return Layout(1, 2 * count, {**parents, **children})


def _range(index: int, count: int) -> tuple[int, int]:
    """Beyond 65,536 partitions, a range is a single hash."""
    width = HASHES // count
    if not width:
        return index % HASHES, index % HASHES
    return width * index, HASHES - 1 if index == count - 1 else width * (index + 1) - 1
