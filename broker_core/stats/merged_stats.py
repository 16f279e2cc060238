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
    publishers = _by_name(publisher for part in stats for publisher in part.publishers)
    subscriptions = _by_name(subscription for part in stats for subscription in part.subscriptions.values())
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
        open_transactions=sum(part.open_transactions for part in stats),
        committed_transactions=sum(part.committed_transactions for part in stats),
        aborted_transactions=sum(part.aborted_transactions for part in stats),
        lost_entries=sum(part.lost_entries for part in stats),
        replication=merged([part.replication for part in stats]),
    )


Named = TypeVar("Named", PublisherStats, SubscriptionStats, ConsumerStats)


def _by_name(stats: Iterable[Named]) -> dict[str, list[Named]]:
    by_name: dict[str, list[Named]] = {}
    for item in stats:
        by_name.setdefault(item.name, []).append(item)
    return by_name


def _merged_publisher(same: Sequence[PublisherStats]) -> PublisherStats:
    return same[0]._replace(traffic=sum((publisher.traffic for publisher in same), Traffic()))


def _merged_consumer(same: Sequence[ConsumerStats]) -> ConsumerStats:
    return same[0]._replace(
        traffic=sum((consumer.traffic for consumer in same), Traffic()),
        ack_rate=sum((consumer.ack_rate for consumer in same), 0.0),
        redelivery_rate=sum((consumer.redelivery_rate for consumer in same), 0.0),
        permits=sum(consumer.permits for consumer in same),
        unacked_messages=sum(consumer.unacked_messages for consumer in same),
        blocked=any(consumer.blocked for consumer in same),
        last_acked_ms=max(consumer.last_acked_ms for consumer in same),
        last_consumed_ms=max(consumer.last_consumed_ms for consumer in same),
        last_flow_ms=max(consumer.last_flow_ms for consumer in same),
        hash_ranges=None,
        draining=tuple(draining for consumer in same for draining in consumer.draining),
    )


def _merged_subscription(same: Sequence[SubscriptionStats]) -> SubscriptionStats:
    consumers = _by_name(consumer for part in same for consumer in part.consumers)
    return same[0]._replace(
        type=next((part.type for part in same if part.type), ""),
        active_consumer="",
        traffic=sum((part.traffic for part in same), Traffic()),
        ack_rate=sum((part.ack_rate for part in same), 0.0),
        redelivery_rate=sum((part.redelivery_rate for part in same), 0.0),
        expired=sum((part.expired for part in same), Traffic()),
        backlog_entries=sum(part.backlog_entries for part in same),
        backlog_messages=sum(part.backlog_messages for part in same),
        backlog_bytes=sum(part.backlog_bytes for part in same),
        earliest_backlog_ms=min((part.earliest_backlog_ms for part in same if part.earliest_backlog_ms > 0), default=0),
        unacked_messages=sum(part.unacked_messages for part in same),
        blocked=any(part.blocked for part in same),
        in_replay=sum(part.in_replay for part in same),
        last_expired_ms=max(part.last_expired_ms for part in same),
        last_acked_ms=max(part.last_acked_ms for part in same),
        last_consumed_ms=max(part.last_consumed_ms for part in same),
        last_flow_ms=max(part.last_flow_ms for part in same),
        last_advanced_ms=max(part.last_advanced_ms for part in same),
        ack_ranges=sum(part.ack_ranges for part in same),
        delayed=sum(part.delayed for part in same),
        delayed_index_bytes=sum(part.delayed_index_bytes for part in same),
        key_shared_mode="",
        read_failure=next((part.read_failure for part in same if part.read_failure), ""),
        throttled=sum((Counter(part.throttled) for part in same), Counter()),
        consumers=tuple(_merged_consumer(alike) for alike in consumers.values()),
    )
