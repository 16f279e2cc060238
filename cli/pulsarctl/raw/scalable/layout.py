"""The segments of a scalable topic, as the broker describes them, and the rules of clients for them. Pure.

A key belongs to the active segment whose range has the upper half of its hash, as in clients of Pulsar 5.0.0. Its
messages are first in the parents of that segment (PIP-460). The lower half belongs to a bucket of the segment, and a
batch has messages of one bucket only (PIP-486).
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Self

from mmh3 import hash as murmur3_32

from broker_core.wire.pulsar_api_pb2 import ACTIVE, ScalableTopicDAG, SegmentInfoProto
from pulsarctl.values.names import segment_name

HASHES = 65536


@dataclass(frozen=True, slots=True)
class Segment:
    """`topic` is the name under which its messages are stored. The range from `start` to `end` includes both.

    `bucket_starts` are those of all buckets except the first.
    """

    id: int
    topic: str
    start: int
    end: int
    is_active: bool
    parents: tuple[int, ...] = ()
    bucket_starts: tuple[int, ...] = ()

    def bucket_of(self, key: str) -> int:
        return bisect_right(self.bucket_starts, bucket_hash(key))


@dataclass(frozen=True, slots=True)
class Layout:
    """All segments that exist, by ID. Later segments have higher IDs."""

    epoch: int
    segments: dict[int, Segment]

    @classmethod
    def of(cls, topic: str, message: ScalableTopicDAG) -> Self:
        """`topic` is the full name of the scalable topic."""
        return cls(message.epoch, {item.segment_id: _segment(topic, item) for item in message.segments})

    @property
    def active(self) -> list[Segment]:
        """In the order of their ranges."""
        return sorted((item for item in self.segments.values() if item.is_active), key=lambda item: item.start)

    @property
    def last_id(self) -> int:
        return max(self.segments, default=-1)

    def is_active(self, segment_id: int) -> bool:
        segment = self.segments.get(segment_id)
        return segment is not None and segment.is_active

    def ready(self, finished: Collection[int]) -> Iterator[Segment]:
        """The segments that come next for a reader that has read `finished`: no parent is left to be read."""
        for segment_id, segment in sorted(self.segments.items()):
            parents = (parent for parent in segment.parents if parent in self.segments)
            if segment_id not in finished and all(parent in finished for parent in parents):
                yield segment


class SegmentRouter:
    """Messages without a key go to one active segment after the other, beginning with the segment at `first`."""

    def __init__(self, first: int = 0) -> None:
        self._next = first

    def segment_for(self, layout: Layout, key: str | None) -> Segment:
        active = layout.active
        if key:
            place = segment_hash(key)
            return next(segment for segment in active if segment.start <= place <= segment.end)
        self._next += 1
        return active[(self._next - 1) % len(active)]


def segment_hash(key: str) -> int:
    """From 0 to 65535."""
    return murmur3_32(key.encode(), 0, False) >> 16


def bucket_hash(key: str) -> int:
    """From 0 to 65535."""
    return murmur3_32(key.encode(), 0, False) & (HASHES - 1)


def _segment(topic: str, item: SegmentInfoProto) -> Segment:
    return Segment(
        id=item.segment_id,
        topic=item.legacy_topic_name or segment_name(topic, item.hash_start, item.hash_end, item.segment_id),
        start=item.hash_start,
        end=item.hash_end,
        is_active=item.state == ACTIVE,
        parents=tuple(item.parent_ids),
        bucket_starts=tuple(item.entry_bucket_splits),
    )
