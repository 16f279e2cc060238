"""Segments of scalable topics that went away between two runs: which of them may have had unread messages. Pure.

A split or a merge seals segments, and the broker deletes each sealed one after its retention, when every subscription
has read it. A deleted segment is not a loss if an earlier run found it sealed and read it to its end. The
partitions of a regular topic that became scalable are its first segments.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from pulsarctl.values.names import SCALABLE, is_segment, partition_index, without_partition

IDS_SHOWN = 5
T = TypeVar("T")


def gone_segments(seen: Iterable[str], ended: Collection[str], now: Iterable[str]) -> list[str]:
    """A text for each loss. `seen`: the segments of earlier runs; `ended`: those that were sealed and read.

    A topic numbers its segments in the order of their creation. So an ID between the last known segment and the newest
    one belongs to a segment that no run has seen. If a topic has no segments now, it was deleted: that is not a loss.
    """
    before, after = _by_topic(seen), _by_topic(now)
    after = {topic: names for topic, names in after.items() if any(map(is_segment, names))}
    return [
        text
        for topic, names in before.items()
        if topic in after
        for text in (*_unread(names - after[topic] - set(ended)), *_unseen(topic, names, after[topic]))
    ]


def still_there(state: Mapping[str, T], now: Collection[str]) -> dict[str, T]:
    """What is kept by partition, without segments that are gone: no later run has to know them."""
    scalable = {_topic_of(name) for name in filter(is_segment, (*state, *now))}
    return {name: value for name, value in state.items() if name in now or _topic_of(name) not in scalable}


def _by_topic(names: Iterable[str]) -> dict[str, set[str]]:
    by_topic: dict[str, set[str]] = {}
    for name in names:
        by_topic.setdefault(_topic_of(name), set()).add(name)
    return by_topic


def _topic_of(name: str) -> str:
    """The name of the scalable topic without its domain, which a regular topic may have had before."""
    return without_partition(name).partition("://")[2]


def _unread(names: Iterable[str]) -> list[str]:
    return [f"{name} is gone, and it may have had entries that were not read" for name in sorted(names)]


def _unseen(topic: str, before: set[str], after: set[str]) -> list[str]:
    last, present = max(0, *map(partition_index, before)), set(map(partition_index, after))
    ids = [str(one) for one in range(last + 1, max(present)) if one not in present]
    shown = ", ".join(ids[:IDS_SHOWN]) + (", ..." if len(ids) > IDS_SHOWN else "")
    return (
        [f"segments of {SCALABLE}://{topic} are gone, and may have had entries that were not read: {shown}"]
        if ids
        else []
    )
