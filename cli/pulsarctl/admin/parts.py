"""The topics that hold the messages of a topic: its partitions, its segments, or the topic itself.

Every job that reads a topic gets them here. A segment of a scalable topic that is sealed takes no more messages, but
keeps what it has until it is read; its children have what came later.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulsarctl.admin.refusals import is_unknown_path
from pulsarctl.errors import NotFound
from pulsarctl.values.names import SCALABLE, is_scalable, is_segment, scalable_topic, segment_name, without_partition

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


SEALED = "SEALED"
PERSISTENT = "persistent"
Notice = Callable[[str], object]


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


def parts_in(admin: "AdminClient", namespace: str, notice: Notice, domain: str = "") -> dict[str, list[Part]]:
    """The parts of each persistent topic of a namespace, without system topics; each part once.

    `domain`: only regular topics (`persistent`), or only scalable ones (`topic`). `notice` learns of scalable topics
    that are left out, because the broker does not tell what their segments have.
    """
    listed = admin.topics.list(namespace, domain=PERSISTENT) if domain != SCALABLE else []
    scalable = _scalable_in(admin, namespace, notice) if domain != PERSISTENT else {}
    segments = {part.topic for parts in scalable.values() for part in parts}  # some were regular topics
    regular: dict[str, list[Part]] = {}
    for name in listed:
        if name not in segments and not name.rpartition("/")[2].startswith("__"):
            regular.setdefault(without_partition(name), []).append(Part(name))
    return regular | scalable


def _scalable_in(admin: "AdminClient", namespace: str, notice: Notice) -> dict[str, list[Part]]:
    topics: dict[str, list[Part]] = {}
    for name in admin.scalable_topics.list_any(namespace):
        with suppress(NotFound):  # deleted: a milestone of Pulsar 5.0 may still list it
            topics[name] = parts_of(admin, name)
    segment = next((part.topic for parts in topics.values() for part in parts if is_segment(part.topic)), None)
    refusal = _refusal(admin, segment) if segment is not None else None
    if refusal is None:
        return topics
    notice(f"the scalable topics of {namespace} are left out: {refusal}")
    return {}


def _refusal(admin: "AdminClient", segment: str) -> str | None:
    """Why the broker does not tell what segments have; None if it does."""
    try:
        admin.topics.internal_stats(segment)
    except NotFound as problem:
        return problem.message if is_unknown_path(problem) else None  # otherwise, the segment has been deleted
    return None


def _segment(topic: str, info: Mapping[str, Any]) -> Part:
    """Reads Pulsar's `SegmentInfo`. A segment that was a regular topic keeps the name of that topic."""
    start, end = (int(info["hashRange"][side]) for side in ("start", "end"))
    name = info.get("legacyTopicName") or segment_name(topic, start, end, int(info["segmentId"]))
    return Part(name, start, end, int(info["createdAtEpoch"]), info["state"] == SEALED)
