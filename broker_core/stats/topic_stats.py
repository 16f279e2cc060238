"""The state of a topic, as immutable snapshots; `admin.stats_body` and `metrics` only format them.

Rates are per second over about the last minute, sizes in bytes, times in wall milliseconds (0: never).
Subscriptions and consumers are in `subscription_stats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.publishing.access import AccessMode
from broker_core.rates.time_slices import TimeSlices, sliced
from broker_core.rates.traffic import Traffic
from broker_core.stats.offload_stats import NOTHING_OFFLOADED, OffloadStats
from broker_core.stats.replicator_stats import ReplicatorStats, replication_stats
from broker_core.stats.subscription_stats import EMPTY, SubscriptionStats, compaction_subscription
from broker_core.stats.write_stats import WriteStats

if TYPE_CHECKING:
    from broker_core.compaction.compaction import Compaction
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.publishing.producer import Producer
    from broker_core.storage.records.position import Position
    from broker_core.topic.topic import Topic

NO_BACKLOG = -1  # publish time of the oldest message of an empty backlog
NO_QUOTA = -1


class PublisherStats(NamedTuple):
    name: str
    producer_id: int
    traffic: Traffic
    address: str
    connected_since_ms: int
    client_version: str
    metadata: Mapping[str, str]
    access_mode: AccessMode

    @classmethod
    def of(cls, producer: Producer) -> PublisherStats:
        return cls(
            producer.name,
            producer.producer_id,
            Traffic.of([producer.rate]),
            producer.client.address,
            producer.connected_since_ms,
            producer.client.client_version,
            producer.metadata,
            producer.access_mode,
        )


class CompactionStats(NamedTuple):
    removed_events: int = 0
    last_success_ms: int = 0
    last_failure_ms: int = 0
    last_duration_ms: int = 0

    @classmethod
    def of(cls, compaction: Compaction) -> CompactionStats:
        if not compaction.last_success_ms and not compaction.last_failure_ms:
            return NEVER_COMPACTED
        return cls(
            compaction.last_removed,
            compaction.last_success_ms,
            compaction.last_failure_ms,
            compaction.last_duration_ms,
        )


NEVER_COMPACTED = CompactionStats()


class OldestMessage(NamedTuple):
    """The oldest message that some durable subscription has not acknowledged."""

    subscription: str
    published_ms: int


class TopicStats(NamedTuple):
    """`quota_bytes` and `quota_seconds`: of the backlog, -1 for none. `oldest`: None without a backlog.

    `lost_entries`: the number of entries that cannot be read.
    """

    incoming: Traffic
    outgoing: Traffic
    storage_bytes: int
    backlog_bytes: int
    created_ms: int
    last_published_ms: int
    publishers: tuple[PublisherStats, ...]
    subscriptions: Mapping[str, SubscriptionStats]
    compaction: CompactionStats
    waiting_publishers: int = 0
    publishes_held: int = 0
    offload: OffloadStats = NOTHING_OFFLOADED
    quota_bytes: int = NO_QUOTA
    quota_seconds: int = NO_QUOTA
    oldest: OldestMessage | None = None
    deduplicates: bool = False
    epoch: int | None = None
    has_chunks: bool = False
    open_transactions: int = 0
    committed_transactions: int = 0
    aborted_transactions: int = 0
    lost_entries: int = 0
    is_system: bool = False
    writes: WriteStats | None = None
    replication: Mapping[str, ReplicatorStats] = EMPTY

    @property
    def earliest_backlog_ms(self) -> int:
        """Publish time of the oldest message that some subscription has not acknowledged; 0 if it was not looked up."""
        known = [
            subscription.earliest_backlog_ms
            for subscription in self.subscriptions.values()
            if subscription.earliest_backlog_ms > 0
        ]
        return min(known, default=0)

    @property
    def backlog_entries(self) -> int:
        return sum([subscription.backlog_entries for subscription in self.subscriptions.values()])


async def topic_stats(
    topic: Topic, earliest_backlog_ms: Mapping[str, int] | None = None, oldest: OldestMessage | None = None
) -> TopicStats:
    """The snapshot of a loaded topic; `earliest_backlog_ms` by subscription and `oldest` if they were looked up.

    If there are many subscriptions, the last ones are slightly newer than the first.
    """
    subscriptions, outgoing, backlog_bytes = await _subscriptions(topic, earliest_backlog_ms or {})
    replication = await replication_stats(topic) if topic.replicators else {}
    compaction, (quota_bytes, quota_seconds) = topic.compaction, quota_limits(topic.policies)
    if compaction.cursor is not None:
        stats = subscriptions[compaction.cursor.name] = compaction_subscription(compaction.cursor)
        backlog_bytes = max(backlog_bytes, stats.backlog_bytes)
    return TopicStats(
        incoming=Traffic.of([topic.published, *(producer.rate for producer in topic.producers.values())]),
        outgoing=outgoing,
        storage_bytes=topic.ledger.size,
        backlog_bytes=max([backlog_bytes, *[replicator.backlog_bytes for replicator in replication.values()]]),
        created_ms=topic.created_ms,
        last_published_ms=max([info.written_ms for info in topic.ledger.ledger_infos()], default=0),
        publishers=tuple(
            PublisherStats.of(producer)
            for producer in sorted(topic.admission.users, key=lambda producer: producer.name)
        ),
        subscriptions=subscriptions,
        compaction=CompactionStats.of(compaction),
        waiting_publishers=topic.admission.waiting,
        publishes_held=topic.throttles.publishes_held,
        offload=OffloadStats.of(topic.offloading),
        quota_bytes=quota_bytes,
        quota_seconds=quota_seconds,
        oldest=oldest,
        deduplicates=topic.deduplication.enabled,
        epoch=topic.admission.epoch,
        has_chunks=topic.special_entries.has_chunks,
        open_transactions=topic.transactions.open,
        committed_transactions=topic.transactions.committed,
        aborted_transactions=topic.transactions.aborted,
        is_system=is_system_topic(topic.name),
        lost_entries=sum([lost.last - lost.first + 1 for lost in topic.ledger.lost]),
        writes=WriteStats.of(topic.writes) if topic.name.is_persistent else None,
        replication=replication,
    )


async def _subscriptions(
    topic: Topic, earliest_backlog_ms: Mapping[str, int]
) -> tuple[dict[str, SubscriptionStats], Traffic, int]:
    """The subscriptions by name, what all consumers got, and the largest backlog in bytes."""
    by_name: dict[str, SubscriptionStats] = {}
    outgoing, backlog_bytes = Traffic.of([topic.subscriptions.delivered]), 0
    slices = TimeSlices()
    for name, subscription in list(topic.subscriptions.items()):
        await slices.pause()
        stats = by_name[name] = SubscriptionStats.of(subscription, earliest_backlog_ms.get(name, 0))
        outgoing += stats.traffic
        if stats.durable:
            backlog_bytes = max(backlog_bytes, stats.backlog_bytes)
    return by_name, outgoing, backlog_bytes


def quota_limits(policies: TopicPolicies) -> tuple[int, int]:
    """Bytes and seconds, -1 for none."""
    size, seconds = policies.size_quota.size, policies.age_quota.seconds
    return size if size > 0 else NO_QUOTA, seconds if seconds > 0 else NO_QUOTA


async def earliest_backlog(topic: Topic) -> dict[str, int]:
    """Publish time of each subscription's oldest unacknowledged message, or `NO_BACKLOG`; may read from disk."""
    earliest: dict[str, int] = {}
    times: dict[Position, int] = {}  # many subscriptions wait for the same message, which may have to be read
    async for name, subscription in sliced(list(topic.subscriptions.items())):
        oldest = subscription.cursor.oldest_unacknowledged()
        if oldest is None:
            earliest[name] = NO_BACKLOG
            continue
        if oldest not in times:
            times[oldest] = await topic.ledger.publish_time(oldest) or NO_BACKLOG
        earliest[name] = times[oldest]
    return earliest


def oldest_of(topic: Topic, earliest: Mapping[str, int]) -> OldestMessage | None:
    """The oldest message in `earliest_backlog`'s result that a durable subscription waits for."""
    subscriptions = topic.subscriptions
    waiting = (
        item
        for item in earliest.items()
        if item[1] != NO_BACKLOG and item[0] in subscriptions and subscriptions[item[0]].durable
    )
    oldest = min(waiting, key=itemgetter(1), default=None)
    return None if oldest is None else OldestMessage(*oldest)
