"""The layout of a regular topic, as clients of scalable topics see it (PIP-475). Pure.

Each partition is one active segment without parents, and a topic without partitions is one segment. The ranges are
only shown: because the segments name regular topics, clients choose a partition by the key as they always do, so old
and new clients agree on the partition of a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.scalable.layout import HASHES, Layout, Segment

if TYPE_CHECKING:
    from broker_core.names import TopicName


def synthetic_layout(name: TopicName, partitions: int) -> Layout:
    """`partitions`: 0 for a topic that is not partitioned. The epoch is 0, as in Pulsar."""
    topics = [str(name.partition_name(index)) for index in range(partitions)] or [str(name)]
    segments = {
        index: Segment(index, *_range(index, len(topics)), legacy_topic=topic) for index, topic in enumerate(topics)
    }
    return Layout(0, len(segments), segments)


def _range(index: int, count: int) -> tuple[int, int]:
    """Beyond 65,536 partitions, a range is a single hash."""
    width = HASHES // count
    if not width:
        return index % HASHES, index % HASHES
    return width * index, HASHES - 1 if index == count - 1 else width * (index + 1) - 1
