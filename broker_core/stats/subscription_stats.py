"""The state of a subscription and its consumers, as immutable snapshots.

Rates are per second over about the last minute, sizes in bytes, times in wall milliseconds (0: never).
`backlog_entries` is Pulsar's `msgBacklog`: a batch is one entry of several messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.rates.traffic import NOTHING, Traffic

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.facts import DrainingHash, OwnedHashes
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic.subscription import Subscription

EMPTY: Mapping[str, Any] = MappingProxyType({})


class ConsumerStats(NamedTuple):
    """`hash_ranges` (both ends included) and `draining` are for Key_Shared, None and empty for other types."""

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
    hash_ranges: Sequence[tuple[int, int]] | None = None
    draining: Sequence[DrainingHash] = ()

    @classmethod
    def of(cls, consumer: Consumer, hashes: OwnedHashes | None = None) -> ConsumerStats:
        return cls(
            consumer.name,
            Traffic.of([consumer.rate]),
            consumer.acks.per_second()[0],
            consumer.redeliveries.per_second()[0],
            consumer.permits,
            consumer.unacked_messages,
            round(consumer.rate.messages / consumer.delivered_entries) if consumer.delivered_entries else 0,
            consumer.blocked,
            consumer.client.address,
            consumer.connected_since_ms,
            consumer.client.client_version,
            consumer.last_acked_ms,
            consumer.last_consumed_ms,
            consumer.last_flow_ms,
            consumer.metadata,
            None if hashes is None else hashes.ranges,
            () if hashes is None else hashes.draining,
        )


class SubscriptionStats(NamedTuple):
    """`type` is Pulsar's name, "" before the first consumer; `active_consumer` if only one gets messages.

    `key_shared_mode`: Pulsar's name, "" for other types. `throttled`: how often a dispatch rate left nothing to send,
    by Pulsar's name of the counter. `read_failure`: why it cannot be read further, "" if it can.
    """

    name: str
    type: str = ""
    active_consumer: str = ""
    durable: bool = True
    traffic: Traffic = NOTHING
    ack_rate: float = 0.0
    redelivery_rate: float = 0.0
    expired: Traffic = NOTHING
    backlog_entries: int = 0
    backlog_messages: int = 0
    backlog_bytes: int = 0
    earliest_backlog_ms: int = 0
    unacked_messages: int = 0
    blocked: bool = False
    in_replay: int = 0
    last_expired_ms: int = 0
    last_acked_ms: int = 0
    last_consumed_ms: int = 0
    last_flow_ms: int = 0
    last_advanced_ms: int = 0
    ack_ranges: int = 0
    delayed: int = 0
    delayed_index_bytes: int = 0
    key_shared_mode: str = ""
    out_of_order: bool = False
    throttled: Mapping[str, int] = EMPTY
    read_failure: str = ""
    replicated: bool = False
    properties: Mapping[str, str] = EMPTY
    consumers: tuple[ConsumerStats, ...] = ()

    @property
    def backlog_not_delayed(self) -> int:
        """Entries of the backlog that are not delayed; approximate while some are being acknowledged."""
        return max(0, self.backlog_entries - self.delayed)

    @property
    def draining(self) -> list[DrainingHash]:
        return [draining for consumer in self.consumers for draining in consumer.draining]

    @classmethod
    def of(cls, subscription: Subscription, earliest_backlog_ms: int = 0) -> SubscriptionStats:
        cursor, delivery = subscription.cursor, subscription.delivery
        facts = delivery.dispatcher.facts()
        hashes = facts.hashes or {}
        consumers = tuple(ConsumerStats.of(consumer, hashes.get(consumer)) for consumer in subscription.consumers)
        active = delivery.dispatcher.active_consumer
        messages, size = cursor.backlog_messages_and_bytes()
        return cls(
            name=subscription.name,
            type=delivery.type_name if delivery.was_used else "",
            active_consumer=active.name if active is not None else "",
            durable=subscription.durable,
            traffic=sum((consumer.traffic for consumer in consumers), Traffic.of([delivery.former_rate])),
            ack_rate=sum((consumer.ack_rate for consumer in consumers), 0.0),
            redelivery_rate=sum((consumer.redelivery_rate for consumer in consumers), 0.0),
            expired=Traffic.of([subscription.expired]),
            backlog_entries=cursor.backlog_entries,
            backlog_messages=messages,
            backlog_bytes=size,
            earliest_backlog_ms=earliest_backlog_ms,
            unacked_messages=sum(consumer.unacked_messages for consumer in consumers),
            last_expired_ms=subscription.last_expired_ms,
            last_acked_ms=subscription.last_acked_ms,
            last_consumed_ms=max([delivery.last_consumed_ms, *(consumer.last_consumed_ms for consumer in consumers)]),
            last_flow_ms=max([delivery.last_flow_ms, *(consumer.last_flow_ms for consumer in consumers)]),
            last_advanced_ms=subscription.last_advanced_ms,
            read_failure=delivery.dispatcher.reader.failure,
            ack_ranges=sum(1 for _range in cursor.ack_ranges()),
            replicated=subscription.is_replicated,
            properties=subscription.properties,
            consumers=consumers,
            in_replay=facts.held.in_replay,
            blocked=facts.held.blocked,
            delayed=facts.held.delayed,
            delayed_index_bytes=facts.held.delayed_index_bytes,
            key_shared_mode=facts.key_shared_mode,
            out_of_order=facts.out_of_order,
            throttled=facts.throttled,
        )


def compaction_subscription(cursor: ManagedCursor) -> SubscriptionStats:
    """The compactor as Pulsar shows it: its backlog is what is not compacted yet."""
    return SubscriptionStats(
        cursor.name,
        type="Exclusive",
        backlog_entries=cursor.backlog_entries,
        backlog_messages=cursor.backlog_messages,
        backlog_bytes=cursor.backlog_bytes,
    )
