"""What a topic is doing, as immutable snapshots; `admin.stats_body` and `metrics` only put them into words.

Rates are per second over about the last minute, sizes in bytes, times in wall milliseconds (0: never).
A backlog counts entries, as Pulsar's `msgBacklog` does; a batch is one entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.dispatch.individual import IndividualDispatcher

if TYPE_CHECKING:
    from broker_core.consumer import Consumer
    from broker_core.delayed.tracker import DelayedTracker
    from broker_core.producer import Producer
    from broker_core.rate import Rate
    from broker_core.storage.cursor import ManagedCursor
    from broker_core.subscription import Subscription
    from broker_core.topic import Topic


NO_BACKLOG = -1  # publish time of the oldest message of an empty backlog


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages and bytes so far, and their rates."""

    messages: int = 0
    bytes: int = 0
    message_rate: float = 0.0
    byte_rate: float = 0.0

    @property
    def average_size(self) -> float:
        """Bytes a message at the current rates; 0 when nothing moves."""
        return self.byte_rate / self.message_rate if self.message_rate else 0.0

    @classmethod
    def of(cls, rates: Iterable[Rate]) -> Traffic:
        total = cls()
        for rate in rates:
            message_rate, byte_rate = rate.per_second()
            total += cls(rate.messages, rate.bytes, message_rate, byte_rate)
        return total

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.messages + other.messages,
            self.bytes + other.bytes,
            self.message_rate + other.message_rate,
            self.byte_rate + other.byte_rate,
        )


@dataclass(frozen=True, slots=True)
class PublisherStats:
    name: str
    producer_id: int
    traffic: Traffic
    address: str
    connected_since_ms: int
    client_version: str
    metadata: Mapping[str, str]

    @classmethod
    def of(cls, producer: Producer) -> PublisherStats:
        return cls(
            producer.name,
            producer.producer_id,
            Traffic.of([producer.rate]),
            producer.session.address,
            producer.connected_since_ms,
            producer.session.client_version,
            producer.metadata,
        )


@dataclass(frozen=True, slots=True)
class ConsumerStats:
    name: str
    traffic: Traffic
    ack_rate: float
    redelivery_rate: float
    permits: int
    unacked_messages: int
    messages_per_entry: int
    blocked: bool
    address: str
    connected_since_ms: int
    client_version: str
    last_acked_ms: int
    last_consumed_ms: int
    last_flow_ms: int
    metadata: Mapping[str, str]

    @classmethod
    def of(cls, consumer: Consumer) -> ConsumerStats:
        return cls(
            consumer.name,
            Traffic.of([consumer.rate]),
            consumer.acks.per_second()[0],
            consumer.redeliveries.per_second()[0],
            consumer.permits,
            consumer.unacked_messages,
            round(consumer.rate.messages / consumer.delivered_entries) if consumer.delivered_entries else 0,
            consumer.blocked,
            consumer.session.address,
            consumer.connected_since_ms,
            consumer.session.client_version,
            consumer.last_acked_ms,
            consumer.last_consumed_ms,
            consumer.last_flow_ms,
            consumer.metadata,
        )


@dataclass(frozen=True, slots=True)
class SubscriptionStats:
    """`type` is Pulsar's name of it, "" before the first consumer; `active_consumer` only of an Exclusive one."""

    name: str
    type: str
    active_consumer: str
    durable: bool
    traffic: Traffic
    ack_rate: float
    redelivery_rate: float
    expired: Traffic
    backlog_entries: int
    backlog_bytes: int
    earliest_backlog_ms: int
    unacked_messages: int
    blocked: bool
    in_replay: int
    last_expired_ms: int
    last_acked_ms: int
    last_consumed_ms: int
    last_flow_ms: int
    ack_ranges: int
    delayed: int
    delayed_index_bytes: int
    properties: Mapping[str, str]
    consumers: tuple[ConsumerStats, ...]

    @property
    def backlog_not_delayed(self) -> int:
        """Entries of the backlog that are not held back; approximate while some are being acknowledged."""
        return max(0, self.backlog_entries - self.delayed)

    @classmethod
    def of(cls, subscription: Subscription, earliest_backlog_ms: int = 0) -> SubscriptionStats:
        cursor = subscription.cursor
        consumers = tuple(ConsumerStats.of(consumer) for consumer in subscription.consumers)
        kind = subscription.type_name if subscription.was_used else ""
        unacked = sum(consumer.unacked_messages for consumer in consumers)
        active = subscription.dispatcher.active_consumer
        delays = _delays(subscription)
        return cls(
            name=subscription.name,
            type=kind,
            active_consumer=active.name if active is not None else "",
            durable=subscription.durable,
            traffic=sum((one.traffic for one in consumers), Traffic.of([subscription.deliveries])),
            ack_rate=sum((one.ack_rate for one in consumers), 0.0),
            redelivery_rate=sum((one.redelivery_rate for one in consumers), 0.0),
            expired=Traffic.of([subscription.expired]),
            backlog_entries=cursor.backlog_entries,
            backlog_bytes=cursor.backlog_bytes,
            earliest_backlog_ms=earliest_backlog_ms,
            unacked_messages=unacked,
            blocked=0 < subscription.topic.dispatch_config.max_unacked_per_subscription <= unacked,
            in_replay=_in_replay(subscription),
            last_expired_ms=subscription.last_expired_ms,
            last_acked_ms=subscription.last_acked_ms,
            last_consumed_ms=max([subscription.last_consumed_ms, *(one.last_consumed_ms for one in consumers)]),
            last_flow_ms=max([subscription.last_flow_ms, *(one.last_flow_ms for one in consumers)]),
            ack_ranges=sum(1 for _range in cursor.ack_ranges()),
            delayed=0 if delays is None else delays.count,
            delayed_index_bytes=0 if delays is None else delays.memory,
            properties=cursor.properties,
            consumers=consumers,
        )


def _compaction_subscription(cursor: ManagedCursor) -> SubscriptionStats:
    """The compactor as Pulsar shows it: its backlog is what is not compacted yet."""
    return SubscriptionStats(
        name=cursor.name,
        type="Exclusive",
        active_consumer="",
        durable=True,
        traffic=Traffic(),
        ack_rate=0.0,
        redelivery_rate=0.0,
        expired=Traffic(),
        backlog_entries=cursor.backlog_entries,
        backlog_bytes=cursor.backlog_bytes,
        earliest_backlog_ms=0,
        unacked_messages=0,
        blocked=False,
        in_replay=0,
        last_expired_ms=0,
        last_acked_ms=0,
        last_consumed_ms=0,
        last_flow_ms=0,
        ack_ranges=0,
        delayed=0,
        delayed_index_bytes=0,
        properties={},
        consumers=(),
    )


def _delays(subscription: Subscription) -> DelayedTracker | None:
    dispatcher = subscription.dispatcher
    return dispatcher.delays if isinstance(dispatcher, IndividualDispatcher) else None


def _in_replay(subscription: Subscription) -> int:
    """Messages given back by consumers and not delivered again yet."""
    dispatcher = subscription.dispatcher
    return dispatcher.waiting if isinstance(dispatcher, IndividualDispatcher) else 0


@dataclass(frozen=True, slots=True)
class CompactionStats:
    removed_events: int = 0
    last_success_ms: int = 0
    last_failure_ms: int = 0
    last_duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class TopicStats:
    incoming: Traffic
    outgoing: Traffic
    storage_bytes: int
    backlog_bytes: int
    created_ms: int
    last_published_ms: int
    publishers: tuple[PublisherStats, ...]
    subscriptions: Mapping[str, SubscriptionStats]
    compaction: CompactionStats

    @property
    def earliest_backlog_ms(self) -> int:
        """Publish time of the oldest message that some subscription has not acknowledged; 0: not looked at."""
        known = [one.earliest_backlog_ms for one in self.subscriptions.values() if one.earliest_backlog_ms > 0]
        return min(known, default=0)

    @property
    def backlog_entries(self) -> int:
        return sum(one.backlog_entries for one in self.subscriptions.values())


def topic_stats(topic: Topic, earliest_backlog_ms: Mapping[str, int] | None = None) -> TopicStats:
    """The snapshot of a loaded topic; `earliest_backlog_ms` by subscription, where it was looked up."""
    earliest = earliest_backlog_ms or {}
    subscriptions = {
        name: SubscriptionStats.of(one, earliest.get(name, 0)) for name, one in topic.subscriptions.items()
    }
    compaction = topic.compaction
    if compaction.cursor is not None:
        subscriptions[compaction.cursor.name] = _compaction_subscription(compaction.cursor)
    return TopicStats(
        incoming=Traffic.of([topic.published, *(producer.rate for producer in topic.producers.values())]),
        outgoing=sum((one.traffic for one in subscriptions.values()), Traffic.of([topic.delivered])),
        storage_bytes=topic.ledger.size,
        backlog_bytes=max((one.backlog_bytes for one in subscriptions.values() if one.durable), default=0),
        created_ms=topic.created_ms,
        last_published_ms=max((info.written_ms for info in topic.ledger.ledger_infos()), default=0),
        publishers=tuple(PublisherStats.of(topic.producers[name]) for name in sorted(topic.producers)),
        subscriptions=subscriptions,
        compaction=CompactionStats(
            compaction.last_removed,
            compaction.last_success_ms,
            compaction.last_failure_ms,
            compaction.last_duration_ms,
        ),
    )


async def earliest_backlog(topic: Topic) -> dict[str, int]:
    """Publish time of each subscription's oldest unacknowledged message, or `NO_BACKLOG`; may read from disk."""
    found = {}
    for name, subscription in list(topic.subscriptions.items()):
        oldest = subscription.cursor.oldest_unacknowledged()
        published = await topic.ledger.publish_time(oldest) if oldest is not None else None
        found[name] = published or NO_BACKLOG
    return found
