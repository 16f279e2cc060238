"""The graph of a topic's segments: created, split, merged, rebucketed, and pruned. Pure.

Each segment holds the keys with the hashes from `start` to `end`, both included, of 0x0000 to 0xffff. Active segments
cover all hashes without a gap. A sealed segment takes no more messages: its children do. Each change adds 1 to the
epoch, and the ID of a segment is never used again (PIP-460; docs/reference/protocol.md "Scalable topics").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from broker_core.errors import NotFound, PreconditionFailed
from broker_core.scalable.buckets import HASHES, MOST_BUCKETS, equal_buckets

if TYPE_CHECKING:
    from broker_core.names import TopicName

MOST_SEGMENTS = 4096  # at the creation of a topic
NOT_SEALED = -1


@dataclass(frozen=True, slots=True)
class Segment:
    """A range of hashes. `created_ms` and `sealed_ms` are wall clock times; `sealed_epoch` is -1 while it is active.

    `legacy_topic`: the full name of the regular topic, or of its partition, that is this segment; otherwise "".
    `splits`: the first hashes of its entry buckets but the first one; they never change.
    """

    id: int
    start: int
    end: int
    created_epoch: int = 0
    created_ms: int = 0
    parents: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    sealed_epoch: int = NOT_SEALED
    sealed_ms: int = NOT_SEALED
    legacy_topic: str = ""
    splits: tuple[int, ...] = ()

    @property
    def buckets(self) -> int:
        return len(self.splits) + 1

    @property
    def is_active(self) -> bool:
        return self.sealed_epoch == NOT_SEALED

    @property
    def state(self) -> str:
        """Pulsar's name of it."""
        return "ACTIVE" if self.is_active else "SEALED"

    @property
    def order(self) -> tuple[int, int, int]:
        """Assignments list segments in this order."""
        return self.start, self.end, self.id

    def topic_of(self, name: TopicName) -> str:
        """The full name of the topic with its messages; `name` is that of the scalable topic."""
        return self.legacy_topic or str(name.segment_name(self.start, self.end, self.id))


@dataclass(frozen=True, slots=True)
class Layout:
    """The segments of a topic by ID, after `epoch` changes."""

    epoch: int
    next_id: int
    segments: Mapping[int, Segment]

    @classmethod
    def initial(cls, count: int, now_ms: int, buckets: int = 1) -> Layout:
        """`count` active segments of equal width; the last one has the rest. Raises `PreconditionFailed`.

        `buckets`: the number of entry buckets of each segment.
        """
        if not 0 < count <= MOST_SEGMENTS:
            raise PreconditionFailed(f"The number of segments must be between 1 and {MOST_SEGMENTS}, not {count}")
        width = HASHES // count
        ends = [*(width * (index + 1) - 1 for index in range(count - 1)), HASHES - 1]
        splits = equal_buckets(buckets)
        segments = {
            index: Segment(index, width * index, end, 0, now_ms, splits=splits) for index, end in enumerate(ends)
        }
        return cls(0, count, segments)

    @property
    def active(self) -> list[Segment]:
        """The active segments in the order of their hashes."""
        return sorted((segment for segment in self.segments.values() if segment.is_active), key=lambda one: one.order)

    @property
    def depth(self) -> int:
        """The number of segments in the longest line from a segment without parents to one without children."""
        depths: dict[int, int] = {}
        for segment_id in sorted(self.segments):  # parents have lower IDs than their children
            parents = self.segments[segment_id].parents
            depths[segment_id] = 1 + max((depths[parent] for parent in parents), default=0)
        return max(depths.values(), default=0)

    def find(self, segment_id: int) -> Segment:
        """Raises `NotFound`."""
        if segment_id not in self.segments:
            raise NotFound(f"Segment not found: {segment_id}")
        return self.segments[segment_id]

    def split(self, segment_id: int, now_ms: int) -> Layout:
        """Seals an active segment; two children share its hashes. Raises `NotFound`, `PreconditionFailed`.

        Each child has half as many entry buckets.
        """
        parent = self._active(segment_id, "split")
        if parent.start == parent.end:
            raise PreconditionFailed(f"Cannot split segment {segment_id}: it has only one hash")
        middle = parent.start + (parent.end - parent.start) // 2
        return self._succeeded(
            (parent,), ((parent.start, middle), (middle + 1, parent.end)), parent.buckets // 2, now_ms
        )

    def merge(self, first_id: int, second_id: int, now_ms: int, most_buckets: int = MOST_BUCKETS) -> Layout:
        """Seals two active neighbors; one child has the hashes of both. Raises `NotFound`, `PreconditionFailed`.

        The child has the entry buckets of both, too, but at most that many.
        """
        first, second = self._active(first_id, "merge"), self._active(second_id, "merge")
        if first.start > second.start:
            first, second = second, first
        if first.end + 1 != second.start:
            raise PreconditionFailed(f"Segments are not adjacent: {first_id}, {second_id}")
        buckets = min(first.buckets + second.buckets, most_buckets)
        return self._succeeded((first, second), ((first.start, second.end),), buckets, now_ms)

    def rebucket(self, segment_id: int, buckets: int, now_ms: int, most_buckets: int = MOST_BUCKETS) -> Layout:
        """Seals an active segment; one child has the same hashes and another number of entry buckets.

        Raises `NotFound`, `PreconditionFailed`.
        """
        parent = self._active(segment_id, "rebucket")
        if not 0 < buckets <= most_buckets:
            raise PreconditionFailed(f"A segment has between 1 and {most_buckets} entry buckets, not {buckets}")
        if buckets == parent.buckets:
            raise PreconditionFailed(f"Segment {segment_id} has {buckets} entry buckets already")
        return self._succeeded((parent,), ((parent.start, parent.end),), buckets, now_ms)

    def _active(self, segment_id: int, action: str) -> Segment:
        segment = self.find(segment_id)
        if not segment.is_active:
            raise PreconditionFailed(f"Cannot {action} segment {segment_id}: it is sealed")
        return segment

    def _succeeded(
        self, parents: tuple[Segment, ...], ranges: tuple[tuple[int, int], ...], buckets: int, now_ms: int
    ) -> Layout:
        epoch, parent_ids = self.epoch + 1, tuple(parent.id for parent in parents)
        splits = equal_buckets(buckets)
        children = [
            Segment(self.next_id + index, start, end, epoch, now_ms, parents=parent_ids, splits=splits)
            for index, (start, end) in enumerate(ranges)
        ]
        child_ids = tuple(child.id for child in children)
        sealed = [replace(parent, children=child_ids, sealed_epoch=epoch, sealed_ms=now_ms) for parent in parents]
        changed = {segment.id: segment for segment in (*sealed, *children)}
        return Layout(epoch, self.next_id + len(children), {**self.segments, **changed})

    def without(self, segment_id: int) -> Layout:
        """Removes a sealed segment: its children follow its parents. Raises as `split` does."""
        segment = self.find(segment_id)
        if segment.is_active:
            raise PreconditionFailed(f"Cannot remove segment {segment_id}: it is active")
        remaining = {
            other.id: replace(
                other,
                parents=_without(other.parents, segment_id, segment.parents),
                children=_without(other.children, segment_id, segment.children),
            )
            for other in self.segments.values()
            if other.id != segment_id
        }
        return Layout(self.epoch + 1, self.next_id, remaining)

    def ready(self, is_drained: Mapping[int, bool]) -> list[Segment]:
        """The segments that consumers may read in the order of each key, in the order of assignments.

        A segment is read after its parents and theirs: all of those that are still in the graph must be drained, since
        one without messages is drained before it is read. A drained segment is left out.
        """
        ready, read = [], set[int]()
        for segment_id, segment in sorted(self.segments.items()):  # parents have lower IDs than their children
            if all(parent in read for parent in segment.parents if parent in self.segments):
                if is_drained.get(segment_id, False):
                    read.add(segment_id)
                else:
                    ready.append(segment)
        return sorted(ready, key=lambda one: one.order)


def _without(segments: tuple[int, ...], removed: int, instead: tuple[int, ...]) -> tuple[int, ...]:
    """The IDs with others instead of the removed one, each once."""
    kept = (instead if segment_id == removed else (segment_id,) for segment_id in segments)
    return tuple(dict.fromkeys(chain.from_iterable(kept)))
