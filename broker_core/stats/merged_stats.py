"""Merges the snapshots of a topic's partitions into one.

Publishers, subscriptions, and consumers with the same name are added up; for texts and times the first or the newest
one counts, as in Pulsar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from broker_core.rates.traffic import Traffic
from broker_core.stats.offload_stats import OffloadStats
from broker_core.stats.replicator_stats import merged
from broker_core.stats.subscription_stats import ConsumerStats, SubscriptionStats
from broker_core.stats.topic_stats import CompactionStats, PublisherStats, TopicStats


def merge(parts: Iterable[TopicStats]) -> TopicStats:
    """The partitions of a topic as one; publishers, subscriptions, and consumers of the same name are added up."""
    stats = list(parts)
    publishers = _by_name(one for part in stats for one in part.publishers)
    subscriptions = _by_name(one for part in stats for one in part.subscriptions.values())
    return TopicStats(
        incoming=sum((part.incoming for part in stats), Traffic()),
        outgoing=sum((part.outgoing for part in stats), Traffic()),
        storage_bytes=sum(part.storage_bytes for part in stats),
        backlog_bytes=sum(part.backlog_bytes for part in stats),
        created_ms=min((part.created_ms for part in stats), default=0),
        last_published_ms=max((part.last_published_ms for part in stats), default=0),
        publishers=tuple(_merged_publisher(same) for same in publishers.values()),
        subscriptions={name: _merged_subscription(same) for name, same in subscriptions.items()},
        compaction=CompactionStats(
            sum(part.compaction.removed_events for part in stats),
            max((part.compaction.last_success_ms for part in stats), default=0),
            max((part.compaction.last_failure_ms for part in stats), default=0),
            max((part.compaction.last_duration_ms for part in stats), default=0),
        ),
        waiting_publishers=sum(part.waiting_publishers for part in stats),
        publishes_held=sum(part.publishes_held for part in stats),
        offload=OffloadStats.merged([part.offload for part in stats]),
        has_chunks=any(part.has_chunks for part in stats),
        lost_entries=sum(part.lost_entries for part in stats),
        replication=merged([part.replication for part in stats]),
    )


Named = TypeVar("Named", PublisherStats, SubscriptionStats, ConsumerStats)


def _by_name(stats: Iterable[Named]) -> dict[str, list[Named]]:
    found: dict[str, list[Named]] = {}
    for one in stats:
        found.setdefault(one.name, []).append(one)
    return found


def _merged_publisher(same: Sequence[PublisherStats]) -> PublisherStats:
    return same[0]._replace(traffic=sum((one.traffic for one in same), Traffic()))


def _merged_consumer(same: Sequence[ConsumerStats]) -> ConsumerStats:
    return same[0]._replace(
        traffic=sum((one.traffic for one in same), Traffic()),
        ack_rate=sum((one.ack_rate for one in same), 0.0),
        redelivery_rate=sum((one.redelivery_rate for one in same), 0.0),
        permits=sum(one.permits for one in same),
        unacked_messages=sum(one.unacked_messages for one in same),
        blocked=any(one.blocked for one in same),
        last_acked_ms=max(one.last_acked_ms for one in same),
        last_consumed_ms=max(one.last_consumed_ms for one in same),
        last_flow_ms=max(one.last_flow_ms for one in same),
        hash_ranges=None,
        draining=tuple(draining for one in same for draining in one.draining),
    )


def _merged_subscription(same: Sequence[SubscriptionStats]) -> SubscriptionStats:
    consumers = _by_name(consumer for one in same for consumer in one.consumers)
    return same[0]._replace(
        type=next((one.type for one in same if one.type), ""),
        active_consumer="",
        traffic=sum((one.traffic for one in same), Traffic()),
        ack_rate=sum((one.ack_rate for one in same), 0.0),
        redelivery_rate=sum((one.redelivery_rate for one in same), 0.0),
        expired=sum((one.expired for one in same), Traffic()),
        backlog_entries=sum(one.backlog_entries for one in same),
        backlog_messages=sum(one.backlog_messages for one in same),
        backlog_bytes=sum(one.backlog_bytes for one in same),
        earliest_backlog_ms=min((one.earliest_backlog_ms for one in same if one.earliest_backlog_ms > 0), default=0),
        unacked_messages=sum(one.unacked_messages for one in same),
        blocked=any(one.blocked for one in same),
        in_replay=sum(one.in_replay for one in same),
        last_expired_ms=max(one.last_expired_ms for one in same),
        last_acked_ms=max(one.last_acked_ms for one in same),
        last_consumed_ms=max(one.last_consumed_ms for one in same),
        last_flow_ms=max(one.last_flow_ms for one in same),
        last_advanced_ms=max(one.last_advanced_ms for one in same),
        ack_ranges=sum(one.ack_ranges for one in same),
        delayed=sum(one.delayed for one in same),
        delayed_index_bytes=sum(one.delayed_index_bytes for one in same),
        key_shared_mode="",
        read_failure=next((one.read_failure for one in same if one.read_failure), ""),
        throttled=sum((Counter(one.throttled) for one in same), Counter()),
        consumers=tuple(_merged_consumer(alike) for alike in consumers.values()),
    )
