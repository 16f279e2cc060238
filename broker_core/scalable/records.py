"""The stored record of a scalable topic: its layout, properties, and subscriptions (PIP-460).

The record alone decides which segments a topic has. A change of the layout is noted in it before its first step
(`changing_to`), so that the next start finishes what a crash cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from broker_core.errors import InvalidRequest, TopicNotFound
from broker_core.metadata.policies.auto_scale import read_override
from broker_core.metadata.policies.json_values import (
    Fields,
    OnBad,
    mapping,
    names,
    properties,
    refuse,
    string,
    truth,
    whole_number,
)
from broker_core.metadata.tenancy.documents import BadValue, read_stored
from broker_core.names import parse_topic
from broker_core.scalable.buckets import HASHES
from broker_core.scalable.layout import NOT_SEALED, Layout, Segment

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.names import NamespaceName, TopicName
    from broker_core.storage.catalog.metadata import Metadata

KIND = "scalable-topic"
STREAM, QUEUE = "STREAM", "QUEUE"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScalableTopic:
    """The record of a topic. `subscriptions`: STREAM or QUEUE by name, those that requests or stream consumers made.

    `consumers`: the names of the registered stream consumers by subscription. `policy`: the fields of the topic's own
    auto-scale policy, as set. `was_regular`: a regular topic became this one. `removed`: full
    names of the topics of former segments that are to be deleted.
    """

    layout: Layout
    properties: Mapping[str, str] = field(default_factory=dict)
    subscriptions: Mapping[str, str] = field(default_factory=dict)
    consumers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    policy: Mapping[str, Any] | None = None
    was_regular: bool = False
    removed: tuple[str, ...] = ()
    changing_to: Layout | None = None

    def to_document(self) -> Json:
        changing = {} if self.changing_to is None else {"changingTo": layout_body(self.changing_to)}
        regular = {"wasRegular": True} if self.was_regular else {}
        return {
            **layout_body(self.layout),
            "properties": dict(self.properties),
            "autoScalePolicy": None if self.policy is None else dict(self.policy),
            "subscriptions": dict(self.subscriptions),
            "consumers": {subscription: list(names) for subscription, names in self.consumers.items()},
            **regular,
            **({"removed": list(self.removed)} if self.removed else {}),
            **changing,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any], on_bad: OnBad = refuse) -> ScalableTopic:
        """Raises `InvalidRequest` without a valid layout."""
        fields = Fields(document, on_bad)
        changing = document.get("changingTo")
        return cls(
            layout_of(document),
            fields.read("properties", properties, {}),
            fields.read("subscriptions", properties, {}),
            {name: tuple(names) for name, names in fields.read("consumers", mapping, {}).items()},
            fields.read("autoScalePolicy", read_override),
            fields.read("wasRegular", truth, False),
            tuple(fields.read("removed", names, ())),
            None if changing is None else layout_of(changing),
        )


def layout_body(layout: Layout) -> Json:
    """Pulsar's `ScalableTopicMetadata` without properties and policy."""
    return {
        "epoch": layout.epoch,
        "nextSegmentId": layout.next_id,
        "segments": {str(segment_id): segment_body(segment) for segment_id, segment in sorted(layout.segments.items())},
    }


def segment_body(segment: Segment) -> Json:
    """Pulsar's `SegmentInfo`."""
    legacy = {"legacyTopicName": segment.legacy_topic} if segment.legacy_topic else {}
    return {
        "segmentId": segment.id,
        "hashRange": {"start": segment.start, "end": segment.end},
        "state": segment.state,
        "parentIds": list(segment.parents),
        "childIds": list(segment.children),
        "createdAtEpoch": segment.created_epoch,
        "sealedAtEpoch": segment.sealed_epoch,
        "createdAtMs": segment.created_ms,
        "sealedAtMs": segment.sealed_ms,
        **legacy,
        "entryBucketSplits": list(segment.splits),
    }


def layout_of(document: Mapping[str, Any]) -> Layout:
    """Reads `layout_body`; raises `InvalidRequest`."""
    segments = [_segment(value) for value in mapping(document.get("segments"), "segments").values()]
    by_id = {segment.id: segment for segment in sorted(segments, key=lambda one: one.id)}
    epoch, next_id = (whole_number(document.get(name), name) for name in ("epoch", "nextSegmentId"))
    return Layout(epoch, max([next_id, *(segment_id + 1 for segment_id in by_id)]), by_id)


def _segment(value: Any) -> Segment:
    fields = mapping(value, "segment")
    hashes = mapping(fields.get("hashRange"), "hashRange")
    start, end = (whole_number(hashes.get(name), name) for name in ("start", "end"))
    if not 0 <= start <= end < HASHES:
        raise InvalidRequest(f"hashRange must be between 0 and {HASHES - 1}, not {start} to {end}")
    number = {name: whole_number(fields.get(name, NOT_SEALED), name) for name in _NUMBERS}
    return Segment(
        number["segmentId"],
        start,
        end,
        number["createdAtEpoch"],
        number["createdAtMs"],
        tuple(whole_number(parent, "parentIds") for parent in fields.get("parentIds") or ()),
        tuple(whole_number(child, "childIds") for child in fields.get("childIds") or ()),
        number["sealedAtEpoch"],
        number["sealedAtMs"],
        string(fields.get("legacyTopicName") or "", "legacyTopicName"),
        _splits(fields.get("entryBucketSplits") or ()),
    )


def _splits(value: Any) -> tuple[int, ...]:
    splits = tuple(whole_number(split, "entryBucketSplits") for split in value)
    if any(start >= end for start, end in pairwise((0, *splits, HASHES))):
        raise InvalidRequest(f"entryBucketSplits must ascend between 1 and {HASHES - 1}")
    return splits


_NUMBERS = ("segmentId", "createdAtEpoch", "createdAtMs", "sealedAtEpoch", "sealedAtMs")


def read_record(key: str, document: Mapping[str, Any], on_bad: OnBad = refuse) -> tuple[TopicName, ScalableTopic]:
    name = parse_topic(key)
    if not name.is_scalable:
        raise InvalidRequest(f"{key} is not the name of a scalable topic")
    return name, ScalableTopic.from_document(document, on_bad)


class ScalableRecords:
    """All records, in memory; a change is in force once it is durable."""

    def __init__(self, metadata: Metadata, report: Callable[[BadValue], None]) -> None:
        self._metadata = metadata
        self._records = read_stored(KIND, read_record, metadata.list(KIND).items(), report)

    def get(self, name: TopicName) -> ScalableTopic | None:
        return self._records.get(name)

    def find(self, name: TopicName) -> ScalableTopic:
        """Raises `TopicNotFound`."""
        record = self._records.get(name)
        if record is None:
            raise TopicNotFound(f"Scalable topic not found: {name}")
        return record

    def all(self) -> list[TopicName]:
        return list(self._records)

    def unfinished(self) -> list[TopicName]:
        """The topics whose change began and has not ended."""
        return [name for name, record in self._records.items() if record.changing_to is not None or record.removed]

    def in_namespace(self, namespace: NamespaceName) -> list[TopicName]:
        """Sorted by name."""
        return sorted((name for name in self._records if name.namespace == namespace), key=str)

    async def put(self, name: TopicName, record: ScalableTopic) -> None:
        """Durable on return."""
        await self._metadata.put(KIND, str(name), record.to_document())
        self._records[name] = record

    async def delete(self, name: TopicName) -> None:
        await self._metadata.delete(KIND, str(name))
        del self._records[name]
