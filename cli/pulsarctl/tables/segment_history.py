"""Segments of scalable topics that went away between two runs: which of them may have had unread messages. Pure.

A split or a merge seals segments, and the broker deletes each sealed one after its retention, when every subscription
has read it. So a segment that is gone is no loss if an earlier run knew that it was sealed, and read all of it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from pulsarctl.values.names import is_segment, partition_index, without_partition

IDS_SHOWN = 5
T = TypeVar("T")


def gone_segments(seen: Iterable[str], ended: Collection[str], now: Iterable[str]) -> list[str]:
    """A text for each loss. `seen`: the segments of earlier runs; `ended`: those that were sealed and read.

    A topic numbers its segments in the order of their creation. So IDs between those of the earlier runs and those of
    now are of segments that no run has seen. A topic without segments of now was deleted, which is no loss of a run.
    """
    before, after = _by_topic(seen), _by_topic(now)
    return [
        text
        for topic, names in before.items()
        if topic in after
        for text in (*_unread(names - after[topic] - set(ended)), *_unseen(topic, names, after[topic]))
    ]


def still_there(state: Mapping[str, T], now: Collection[str]) -> dict[str, T]:
    """What is kept by partition, without segments that are gone: no later run has to know them."""
    return {name: value for name, value in state.items() if name in now or not is_segment(name)}


def _by_topic(names: Iterable[str]) -> dict[str, set[str]]:
    segments: dict[str, set[str]] = {}
    for name in filter(is_segment, names):
        segments.setdefault(without_partition(name), set()).add(name)
    return segments


def _unread(names: Iterable[str]) -> list[str]:
    return [f"{name} is gone, and it may have had entries that were not read" for name in sorted(names)]


def _unseen(topic: str, before: set[str], after: set[str]) -> list[str]:
    last, present = max(map(partition_index, before)), set(map(partition_index, after))
    ids = [str(one) for one in range(last + 1, max(present)) if one not in present]
    shown = ", ".join(ids[:IDS_SHOWN]) + (", ..." if len(ids) > IDS_SHOWN else "")
    return [f"segments of {topic} are gone, and may have had entries that were not read: {shown}"] if ids else []
