"""Layouts and assignments as the binary protocol writes them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from broker_core.scalable.buckets import bucket_ranges
from broker_core.wire.pulsar_api_pb2 import (
    ACTIVE,
    SEALED,
    IntRange,
    ScalableAssignedSegment,
    ScalableConsumerAssignment,
    ScalableTopicDAG,
    SegmentBrokerAddress,
    SegmentInfoProto,
)

if TYPE_CHECKING:
    from broker_core.names import TopicName
    from broker_core.scalable.layout import Layout, Segment


def layout_message(layout: Layout, url: str, url_tls: str, *, over_tls: bool = False) -> ScalableTopicDAG:
    """`url` and `url_tls`: the addresses of this broker, which serves every segment and is the controller.

    `over_tls`: the client uses TLS. The client of 5.0.0-M1 would then use TLS also with the plain address of the
    controller; without that address, it uses the one that it has.
    """
    message = ScalableTopicDAG(
        epoch=layout.epoch,
        controller_broker_url=None if over_tls else url or None,
        controller_broker_url_tls=url_tls or None,
    )
    message.segments.extend(_segment(segment) for _id, segment in sorted(layout.segments.items()))
    message.segment_brokers.extend(
        SegmentBrokerAddress(segment_id=segment.id, broker_url=url, broker_url_tls=url_tls or None)
        for segment in layout.active
    )
    return message


def _segment(segment: Segment) -> SegmentInfoProto:
    message = SegmentInfoProto(
        segment_id=segment.id,
        hash_start=segment.start,
        hash_end=segment.end,
        state=ACTIVE if segment.is_active else SEALED,
        parent_ids=segment.parents,
        child_ids=segment.children,
        created_at_epoch=segment.created_epoch,
        created_at_ms=segment.created_ms,
        legacy_topic_name=segment.legacy_topic or None,
        entry_bucket_splits=segment.splits,
    )
    if not segment.is_active:
        message.sealed_at_epoch, message.sealed_at_ms = segment.sealed_epoch, segment.sealed_ms
    return message


def assignment_message(
    name: TopicName, epoch: int, segments: Iterable[Segment], shared: Collection[int] = ()
) -> ScalableConsumerAssignment:
    """`name`: the topic whose segments they are. `shared`: the IDs of those that the consumer shares with others."""
    message = ScalableConsumerAssignment(layout_epoch=epoch)
    message.segments.extend(
        ScalableAssignedSegment(
            segment_id=segment.id,
            hash_start=segment.start,
            hash_end=segment.end,
            segment_topic=segment.topic_of(name),
            bucket_ranges=_buckets(segment) if segment.id in shared else (),
        )
        for segment in segments
    )
    return message


def _buckets(segment: Segment) -> list[IntRange]:
    return [IntRange(start=first, end=last) for first, last in bucket_ranges(segment.splits)]
