"""The statistics of a scalable topic as Pulsar 5.0 answers them (`ScalableTopicStats`), with those of 5.0.0-M1.

The milestone's client reads five members that the release no longer has: `epoch`, `totalSegments`, `activeSegments`,
`sealedSegments`, and `segments`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from broker_core.admin.stats_body import consumer_body, publisher_body

if TYPE_CHECKING:
    from broker_core.names import TopicName
    from broker_core.scalable.group import ConsumerGroup
    from broker_core.scalable.layout import Layout, Segment
    from broker_core.scalable.records import ScalableTopic
    from broker_core.stats.scalable_stats import ScalableStats
    from broker_core.stats.subscription_stats import ConsumerStats, SubscriptionStats

Json = dict[str, Any]


def stats_body(
    name: TopicName,
    record: ScalableTopic,
    figures: ScalableStats,
    kinds: Mapping[str, str],
    groups: Mapping[str, ConsumerGroup],
    owner: str,
) -> Json:
    """`kinds`: STREAM or QUEUE by subscription. `groups`: the registered consumers. `owner`: the ID of this broker."""
    total, layout = figures.total, record.layout
    subscriptions = {
        subscription: _subscription(subscription, kind, figures, groups.get(subscription))
        for subscription, kind in sorted(kinds.items())
    }
    return {
        "layout": {"epoch": layout.epoch, "segments": _segments(name, layout, owner)},
        "msgRateIn": total.incoming.message_rate,
        "msgThroughputIn": total.incoming.byte_rate,
        "msgRateOut": total.outgoing.message_rate,
        "msgThroughputOut": total.outgoing.byte_rate,
        "averageMsgSize": total.incoming.average_size,
        "storageSize": total.storage_bytes,
        "backlogSize": total.backlog_bytes,
        "producers": [publisher_body(publisher) for publisher in total.publishers],
        "subscriptions": subscriptions,
        **_of_the_milestone(name, layout),
    }


def _segments(name: TopicName, layout: Layout, owner: str) -> Json:
    return {str(segment.id): _segment(name, segment, owner) for segment in layout.segments.values()}


def _segment(name: TopicName, segment: Segment, owner: str) -> Json:
    return {
        "segmentId": segment.id,
        "topic": segment.topic_of(name),
        "hashRange": {"start": segment.start, "end": segment.end},
        "state": segment.state,
        "parentIds": list(segment.parents),
        "childIds": list(segment.children),
        "createdAtMs": segment.created_ms,
        "sealedAtMs": segment.sealed_ms,
        "entryBuckets": segment.buckets,
        "ownerBroker": owner,
    }


def _of_the_milestone(name: TopicName, layout: Layout) -> Json:
    active = len(layout.active)
    return {
        "epoch": layout.epoch,
        "totalSegments": len(layout.segments),
        "activeSegments": active,
        "sealedSegments": len(layout.segments) - active,
        "segments": {
            str(segment.id): {"name": segment.topic_of(name), "state": segment.state}
            for segment in layout.segments.values()
        },
    }


def _subscription(name: str, kind: str, figures: ScalableStats, group: ConsumerGroup | None) -> Json:
    parts = {
        segment_id: stats.subscriptions[name]
        for segment_id, stats in figures.by_segment.items()
        if name in stats.subscriptions
    }
    total = figures.total.subscriptions.get(name)
    consumers = _consumers(total, group)
    return {
        "type": kind,
        **_figures(parts.values()),
        "msgRateRedeliver": sum(part.redelivery_rate for part in parts.values()),
        "messageAckRate": sum(part.ack_rate for part in parts.values()),
        "segments": {
            str(segment_id): {**_figures((part,)), "consumerCount": len(part.consumers)}
            for segment_id, part in parts.items()
        },
        "consumers": consumers,
        "consumerCount": len(consumers),
    }


def _figures(parts: Any) -> Json:
    stats: list[SubscriptionStats] = list(parts)
    return {
        "msgBacklog": sum(one.backlog_entries for one in stats),
        "backlogSize": sum(one.backlog_bytes for one in stats),
        "unackedMessages": sum(one.unacked_messages for one in stats),
        "msgRateOut": sum(one.traffic.message_rate for one in stats),
        "msgThroughputOut": sum(one.traffic.byte_rate for one in stats),
    }


def _consumers(total: SubscriptionStats | None, group: ConsumerGroup | None) -> list[Json]:
    """Connected consumers, and registered ones, which may have no segment or no connection."""
    connected: dict[str, ConsumerStats] = {} if total is None else {one.name: one for one in total.consumers}
    registered = {} if group is None else group.consumers
    return [
        {
            **(consumer_body(connected[name]) if name in connected else {"consumerName": name}),
            "connected": name in connected or registered[name].outbound is not None,
            "segmentIds": [segment.id for segment in registered[name].segments] if name in registered else [],
        }
        for name in sorted({*connected, *registered})
    ]
