"""The drawing of the segments of a scalable topic: keys from left to right, changes from top to bottom. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.console.markup import Html, tag

WIDTH, ROW_HEIGHT, GAP = 600, 36, 2
LABEL_WIDTH_MIN = 24  # narrower segments have no room for their ID
HASHES = 1 << 16
ACTIVE = "ACTIVE"


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as Pulsar's `SegmentInfo` describes it. It has the hashes `start` to `end`, inclusive."""

    id: int
    start: int
    end: int
    is_active: bool
    parents: Sequence[int]
    created_epoch: int
    sealed_epoch: int
    created_ms: int

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Segment:
        hashes = info.get("hashRange") or {}
        return cls(
            int(info["segmentId"]),
            int(hashes.get("start", 0)),
            int(hashes.get("end", HASHES - 1)),
            info.get("state") == ACTIVE,
            sorted(info.get("parentIds") or ()),
            int(info.get("createdAtEpoch") or 0),
            int(info.get("sealedAtEpoch") or 0),
            int(info.get("createdAtMs") or 0),
        )

    @property
    def keys(self) -> str:
        return f"{self.start:04x}-{self.end:04x}"

    @property
    def state(self) -> str:
        return "active" if self.is_active else "sealed"


def drawing(segments: Sequence[Segment]) -> Html:
    """Each segment begins in the row of its first epoch; a sealed one ends where its children begin."""
    epochs = sorted({segment.created_epoch for segment in segments})
    height = max(len(epochs), 1) * ROW_HEIGHT
    shapes = [_shape(segment, epochs) for segment in segments]
    label = "Segments: keys from left to right, splits and merges from top to bottom"
    picture = tag("svg", shapes, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label)
    keys = tag("p", tag("span", "0000"), tag("span", "ffff"), class_="ends", aria_hidden="true")
    return tag("figure", picture, keys, class_="segments")


def _shape(segment: Segment, epochs: Sequence[int]) -> Html:
    top = sum(epoch < segment.created_epoch for epoch in epochs)
    bottom = len(epochs) if segment.is_active else sum(epoch < segment.sealed_epoch for epoch in epochs)
    left, right = segment.start * WIDTH // HASHES, (segment.end + 1) * WIDTH // HASHES
    return tag("g", _parts(segment, left, top * ROW_HEIGHT, right - left, max(bottom - top, 1) * ROW_HEIGHT))


def _parts(segment: Segment, left: int, top: int, width: int, height: int) -> Iterator[Html]:
    yield tag("title", f"Segment {segment.id}, {segment.keys}, {segment.state}")
    size = {"width": max(width - GAP, 1), "height": height - GAP}
    yield tag("rect", x=left, y=top, rx=2, **size, class_=f"segment {segment.state}")
    if width >= LABEL_WIDTH_MIN:
        yield tag("text", segment.id, x=left + 6, y=top + 20)
