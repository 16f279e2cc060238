"""The metrics of a topic, its subscriptions, consumers, and producers, under the names and labels of Pulsar 4.0.

The values are read from the topic itself and not from its stats, which cost several times as much: a scrape reads
thousands of topics. `tests/broker/admin/test_metrics.py` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from broker_core.rates.traffic import summed
from broker_core.stats.replicator_stats import ReplicatorStats
from broker_core.stats.subscription_stats import ConsumerStats
from broker_core.stats.topic_stats import PublisherStats, quota_limits
from broker_core.stats.write_stats import WriteStats

if TYPE_CHECKING:
    from broker_core.compaction.compaction import Compaction
    from broker_core.dispatch.consumer import Consumer
    from broker_core.publishing.producer import Producer
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic.subscription import Subscription
    from broker_core.topic.topic import Topic

Metrics = tuple[str, ...]
Values = Sequence[float]


Block = tuple[str, Metrics, Values]
"""Samples that have the same labels: the labels, and a value for each metric. A plain tuple, because a scrape makes
tens of thousands."""


def _metrics(prefix: str, names: str) -> Metrics:
    return tuple(f"{prefix}{name}" for name in names.split())


TOPIC = _metrics(
    "pulsar_",
    "subscriptions_count producers_count consumers_count rate_in rate_out throughput_in throughput_out average_msg_size"
    " in_messages_total in_bytes_total storage_size storage_logical_size storage_offloaded_size storage_backlog_size"
    " storage_backlog_quota_limit storage_backlog_quota_limit_time msg_backlog publish_rate_limit_times"
    " delayed_message_index_size_bytes storage_read_rate storage_read_cache_misses_rate",
)
WRITES = (
    "pulsar_storage_write_rate",
    *_metrics(
        "pulsar_storage_write_latency_",
        "le_0_5 le_1 le_5 le_10 le_20 le_50 le_100 le_200 le_1000 overflow count sum",
    ),
    *_metrics("pulsar_entry_size_le_", "128 512 1_kb 2_kb 4_kb 16_kb 100_kb 1_mb overflow"),
    "pulsar_entry_size_count",
    "pulsar_entry_size_sum",
)
COMPACTION = _metrics("pulsar_compaction_", "removed_event_count duration_time_in_mills")
REPLICATION = _metrics(
    "pulsar_replication_",
    "rate_in rate_out throughput_in throughput_out backlog connected_count disconnected_count rate_expired"
    " delay_in_seconds",
)
SUBSCRIPTION = (
    *_metrics(
        "pulsar_subscription_",
        "back_log back_log_no_delayed delayed delayed_message_index_size_bytes unacked_messages"
        " blocked_on_unacked_messages in_replay consumers_count msg_rate_out msg_throughput_out msg_rate_redeliver"
        " msg_ack_rate msg_rate_expired total_msg_expired last_expire_timestamp last_acked_timestamp"
        " last_consumed_timestamp last_consumed_flow_timestamp last_mark_delete_advanced_timestamp",
    ),
    "pulsar_out_messages_total",
    "pulsar_out_bytes_total",
)
CONSUMER = _metrics(
    "pulsar_consumer_",
    "msg_rate_redeliver unacked_messages blocked_on_unacked_messages msg_rate_out msg_ack_rate msg_throughput_out"
    " available_permits",
)
PRODUCER = _metrics("pulsar_producer_", "msg_rate_in msg_throughput_in msg_average_Size")

_NOT_SUMMED = _metrics("pulsar_", "average_msg_size storage_backlog_quota_limit storage_backlog_quota_limit_time")
# Metrics of a topic and its subscriptions that can be added up for its namespace.
SUMMED = frozenset((*TOPIC, *WRITES, "pulsar_out_messages_total", "pulsar_out_bytes_total")).difference(_NOT_SUMMED)
_REASONS = {"Subscription": "subscription", "Topic": "topic", "Broker": "broker"}


class TopicReading:
    """Reads the metrics of a topic: first those of each subscription, and then of the topic, which has their sums."""

    __slots__ = (
        "_backlog_bytes",
        "_byte_rate",
        "_consumers",
        "_delayed_index_bytes",
        "_entries",
        "_message_rate",
        "_subscriptions",
        "_topic",
        "bytes_sent",
    )

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._subscriptions = self._consumers = self._entries = self._backlog_bytes = self._delayed_index_bytes = 0
        former = topic.subscriptions.delivered
        self.bytes_sent = former.bytes
        self._message_rate, self._byte_rate = former.per_second()
        for replicator in topic.replicators.by_cursor.values():
            self._backlog_bytes = max(self._backlog_bytes, replicator.cursor.backlog_bytes)

    def subscription(self, subscription: Subscription) -> Values:
        """The values of a subscription, in the order of `SUBSCRIPTION`."""
        delivery, expired = subscription.delivery, subscription.expired
        held, consumers, rates = (
            delivery.dispatcher.held_back(),
            delivery.dispatcher.consumers,
            [delivery.former_rate],
        )
        unacked, redelivered, acked = 0, 0.0, 0.0
        consumed_ms, flow_ms = delivery.last_consumed_ms, delivery.last_flow_ms
        for consumer in consumers:
            rates.append(consumer.rate)
            unacked += consumer.pending.messages
            if consumer.redeliveries.messages:
                redelivered += consumer.redeliveries.per_second()[0]
            if consumer.acks.messages:
                acked += consumer.acks.per_second()[0]
            if consumer.last_consumed_ms > consumed_ms:
                consumed_ms = consumer.last_consumed_ms
            if consumer.last_flow_ms > flow_ms:
                flow_ms = consumer.last_flow_ms
        messages, size, message_rate, byte_rate = summed(rates)
        entries = self._add(subscription.cursor)
        self._consumers += len(consumers)
        self._delayed_index_bytes += held.delayed_index_bytes
        self.bytes_sent += size
        self._message_rate += message_rate
        self._byte_rate += byte_rate
        return (
            entries,
            max(0, entries - held.delayed) if held.delayed else entries,
            held.delayed,
            held.delayed_index_bytes,
            unacked,
            held.blocked,
            held.in_replay,
            len(consumers),
            message_rate,
            byte_rate,
            redelivered,
            acked,
            expired.per_second()[0] if expired.messages else 0,
            expired.messages,
            subscription.last_expired_ms,
            subscription.last_acked_ms,
            consumed_ms,
            flow_ms,
            subscription.last_advanced_ms,
            messages,
            size,
        )

    def compaction(self, cursor: ManagedCursor) -> Values:
        """The compactor as a subscription: its backlog is what is not compacted yet."""
        entries = self._add(cursor)
        return (entries, entries, *(0,) * (len(SUBSCRIPTION) - 2))

    def _add(self, cursor: ManagedCursor) -> int:
        if cursor.durable:
            entries, size = cursor.backlog_entries_and_bytes()
            if size > self._backlog_bytes:
                self._backlog_bytes = size
        else:
            entries = cursor.backlog_entries
        self._subscriptions += 1
        self._entries += entries
        return entries

    def values(self) -> Values:
        """The values of the topic, in the order of `TOPIC`."""
        topic = self._topic
        users, rates = 0, [topic.published]
        for producer in topic.producers.values():
            users += not producer.is_replicator
            rates.append(producer.rate)
        messages, received, message_rate, byte_rate = summed(rates)
        size, reads = topic.ledger.size, topic.stored_reads
        read_rate = reads.per_second()[0] if reads is not None else 0
        return (
            self._subscriptions,
            users,
            self._consumers,
            message_rate,
            self._message_rate,
            byte_rate,
            self._byte_rate,
            byte_rate / message_rate if message_rate else 0,
            messages,
            received,
            size,
            size,
            topic.offloading.offloaded_bytes,
            self._backlog_bytes,
            *quota_limits(topic.policies),
            self._entries,
            topic.throttles.publishes_held,
            self._delayed_index_bytes,
            read_rate,
            read_rate,  # as in Pulsar, a read from storage is a read that missed the cache
        )


def of_compaction(compaction: Compaction) -> Values | None:
    """The metrics of compaction; None for a topic that was never compacted."""
    if compaction.last_success_ms or compaction.last_failure_ms:
        return compaction.last_removed, compaction.last_duration_ms
    return None


def of_writes(topic: Topic) -> Values | None:
    """The write metrics; None without recent writes. As in Pulsar, a bucket does not contain the lower ones,
    and the sum of the latency is in microseconds.
    """
    stats = WriteStats.of(topic.writes)
    if stats is None or not topic.name.is_persistent:
        return None
    latency = (*stats.latency_counts, sum(stats.latency_counts), stats.latency_ms * 1000)
    sizes = (*stats.size_counts, sum(stats.size_counts), stats.entry_bytes)
    return stats.entry_rate, *latency, *sizes


def of_replicator(stats: ReplicatorStats) -> Values:
    return (
        stats.incoming.message_rate,
        stats.outgoing.message_rate,
        stats.incoming.byte_rate,
        stats.outgoing.byte_rate,
        stats.backlog_entries,
        stats.connected,
        not stats.connected,
        stats.expired.message_rate,
        stats.delay_seconds,
    )


def of_throttled(labels: str, events: Mapping[str, int]) -> Iterator[Block]:
    """The metrics of how many times a rate left nothing to dispatch."""
    for unit, metric in (("Msg", "msg"), ("Bytes", "bytes")):
        for level, reason in _REASONS.items():
            count = events.get(f"dispatchThrottled{unit}EventsBy{level}Limit")
            if count is not None:
                name = f"pulsar_subscription_dispatch_throttled_{metric}_events"
                yield f'{labels},reason="{reason}"', (name,), (count,)


def of_consumer(consumer: Consumer) -> Values:
    stats = ConsumerStats.of(consumer)
    return (
        stats.redelivery_rate,
        stats.unacked_messages,
        stats.blocked,
        stats.traffic.message_rate,
        stats.ack_rate,
        stats.traffic.byte_rate,
        stats.permits,
    )


def of_producer(producer: Producer) -> Values:
    traffic = PublisherStats.of(producer).traffic
    return traffic.message_rate, traffic.byte_rate, traffic.average_size


def escaped(value: str) -> str:
    """A label value, quoted for Prometheus' text format."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def labels_in(text: str) -> Iterator[tuple[str, str]]:
    """The names of labels and their values, which were `escaped`."""
    for label in _LABEL.finditer(text):
        name, value = label.groups()
        yield name, _ESCAPE.sub(_unescaped, value)


_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
