"""The topics that hold the messages of a topic: its partitions, its segments, or the topic itself.

Every job that reads a topic gets them here. A segment of a scalable topic that is sealed takes no more messages, but
keeps what it has until it is read; its children have what came later.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulsarctl.errors import NotFound
from pulsarctl.values.names import is_scalable, is_segment, scalable_topic, segment_name, without_partition

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


SEALED = "SEALED"


@dataclass(frozen=True, slots=True)
class Part:
    """`topic` is its full name. A segment has the keys with the hashes from `start` to `end` since `epoch`."""

    topic: str
    start: int = 0
    end: int = 0
    epoch: int = 0
    is_sealed: bool = False


def parts_of(admin: "AdminClient", topic: str) -> list[Part]:
    """Partitions by index, and segments by age, so that parents come before their children. Raises `NotFound`."""
    if is_segment(topic):
        return [_only(topic, parts_of(admin, without_partition(topic)))]
    if not is_scalable(topic):
        return [Part(name) for name in admin.topics.parts(topic)]
    name = scalable_topic(topic)
    segments = admin.scalable_topics.metadata(name)["segments"].values()
    return sorted((_segment(name, one) for one in segments), key=lambda part: (part.epoch, part.start))


def _only(name: str, parts: Iterable[Part]) -> Part:
    for part in parts:
        if part.topic == name:
            return part
    raise NotFound(f"{without_partition(name)} has no segment {name}")


def part_names(admin: "AdminClient", topic: str) -> list[str]:
    """The full names. Raises `NotFound`."""
    return [part.topic for part in parts_of(admin, topic)]


def _segment(topic: str, info: Mapping[str, Any]) -> Part:
    """Reads Pulsar's `SegmentInfo`. A segment that was a regular topic keeps the name of that topic."""
    start, end = (int(info["hashRange"][side]) for side in ("start", "end"))
    name = info.get("legacyTopicName") or segment_name(topic, start, end, int(info["segmentId"]))
    return Part(name, start, end, int(info["createdAtEpoch"]), info["state"] == SEALED)
