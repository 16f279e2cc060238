"""The metrics of a topic, its subscriptions, consumers, and producers, under the names and labels of Pulsar 4.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from broker_core.stats.replicator_stats import ReplicatorStats
from broker_core.stats.subscription_stats import ConsumerStats, SubscriptionStats
from broker_core.stats.topic_stats import CompactionStats, PublisherStats, TopicStats
from broker_core.stats.write_stats import WriteStats

Sample = tuple[str, float]  # metric, value


class Block(NamedTuple):
    """Samples that have the same labels."""

    labels: str
    samples: Sequence[Sample]


_LATENCIES = tuple(
    f"pulsar_storage_write_latency_{name}"
    for name in ("le_0_5", "le_1", "le_5", "le_10", "le_20", "le_50", "le_100", "le_200", "le_1000", "overflow")
)
_SIZES = tuple(
    f"pulsar_entry_size_le_{name}"
    for name in ("128", "512", "1_kb", "2_kb", "4_kb", "16_kb", "100_kb", "1_mb", "overflow")
)

# Metrics of a topic that can be added up for its namespace.
SUMMED = frozenset(
    f"pulsar_{name}"
    for name in (
        "subscriptions_count",
        "producers_count",
        "consumers_count",
        "rate_in",
        "rate_out",
        "throughput_in",
        "throughput_out",
        "in_messages_total",
        "in_bytes_total",
        "out_messages_total",
        "out_bytes_total",
        "storage_size",
        "storage_logical_size",
        "storage_backlog_size",
        "msg_backlog",
        "publish_rate_limit_times",
        "delayed_message_index_size_bytes",
        "storage_offloaded_size",
        "storage_write_rate",
        "storage_write_latency_count",
        "storage_write_latency_sum",
        "entry_size_count",
        "entry_size_sum",
    )
).union(_LATENCIES, _SIZES)
_REASONS = {"Subscription": "subscription", "Topic": "topic", "Broker": "broker"}


def of_topic(stats: TopicStats) -> list[Sample]:
    subscriptions = stats.subscriptions.values()
    return [
        ("pulsar_subscriptions_count", len(subscriptions)),
        ("pulsar_producers_count", len(stats.publishers)),
        ("pulsar_consumers_count", sum([len(one.consumers) for one in subscriptions])),
        ("pulsar_rate_in", stats.incoming.message_rate),
        ("pulsar_rate_out", stats.outgoing.message_rate),
        ("pulsar_throughput_in", stats.incoming.byte_rate),
        ("pulsar_throughput_out", stats.outgoing.byte_rate),
        ("pulsar_average_msg_size", stats.incoming.average_size),
        ("pulsar_in_messages_total", stats.incoming.messages),
        ("pulsar_in_bytes_total", stats.incoming.bytes),
        ("pulsar_storage_size", stats.storage_bytes),
        ("pulsar_storage_logical_size", stats.storage_bytes),
        ("pulsar_storage_offloaded_size", stats.offload.bytes),
        ("pulsar_storage_backlog_size", stats.backlog_bytes),
        ("pulsar_storage_backlog_quota_limit", stats.quota_bytes),
        ("pulsar_storage_backlog_quota_limit_time", stats.quota_seconds),
        ("pulsar_msg_backlog", stats.backlog_entries),
        ("pulsar_publish_rate_limit_times", stats.publishes_held),
        ("pulsar_delayed_message_index_size_bytes", sum([one.delayed_index_bytes for one in subscriptions])),
        *_compaction(stats.compaction),
        *_writes(stats.writes),
    ]


def _compaction(stats: CompactionStats) -> list[Sample]:
    """Nothing for a topic that was never compacted."""
    if not stats.last_success_ms and not stats.last_failure_ms:
        return []
    return [
        ("pulsar_compaction_removed_event_count", stats.removed_events),
        ("pulsar_compaction_duration_time_in_mills", stats.last_duration_ms),
    ]


def _writes(stats: WriteStats | None) -> list[Sample]:
    """Nothing for a topic to which nothing was written lately. As in Pulsar, a bucket does not contain the lower ones,
    and the sum of the latency is in microseconds.
    """
    if stats is None:
        return []
    return [
        ("pulsar_storage_write_rate", stats.entry_rate),
        *zip(_LATENCIES, stats.latency_counts, strict=True),
        ("pulsar_storage_write_latency_count", sum(stats.latency_counts)),
        ("pulsar_storage_write_latency_sum", stats.latency_ms * 1000),
        *zip(_SIZES, stats.size_counts, strict=True),
        ("pulsar_entry_size_count", sum(stats.size_counts)),
        ("pulsar_entry_size_sum", stats.entry_bytes),
    ]


def of_replicator(stats: ReplicatorStats) -> list[Sample]:
    return [
        ("pulsar_replication_rate_in", stats.incoming.message_rate),
        ("pulsar_replication_rate_out", stats.outgoing.message_rate),
        ("pulsar_replication_throughput_in", stats.incoming.byte_rate),
        ("pulsar_replication_throughput_out", stats.outgoing.byte_rate),
        ("pulsar_replication_backlog", stats.backlog_entries),
        ("pulsar_replication_connected_count", stats.connected),
        ("pulsar_replication_disconnected_count", not stats.connected),
        ("pulsar_replication_rate_expired", stats.expired.message_rate),
        ("pulsar_replication_delay_in_seconds", stats.delay_seconds),
    ]


def of_subscription(stats: SubscriptionStats) -> list[Sample]:
    return [
        ("pulsar_subscription_back_log", stats.backlog_entries),
        ("pulsar_subscription_back_log_no_delayed", stats.backlog_not_delayed),
        ("pulsar_subscription_delayed", stats.delayed),
        ("pulsar_subscription_delayed_message_index_size_bytes", stats.delayed_index_bytes),
        ("pulsar_subscription_unacked_messages", stats.unacked_messages),
        ("pulsar_subscription_blocked_on_unacked_messages", stats.blocked),
        ("pulsar_subscription_in_replay", stats.in_replay),
        ("pulsar_subscription_consumers_count", len(stats.consumers)),
        ("pulsar_subscription_msg_rate_out", stats.traffic.message_rate),
        ("pulsar_subscription_msg_throughput_out", stats.traffic.byte_rate),
        ("pulsar_subscription_msg_rate_redeliver", stats.redelivery_rate),
        ("pulsar_subscription_msg_ack_rate", stats.ack_rate),
        ("pulsar_subscription_msg_rate_expired", stats.expired.message_rate),
        ("pulsar_subscription_total_msg_expired", stats.expired.messages),
        ("pulsar_subscription_last_expire_timestamp", stats.last_expired_ms),
        ("pulsar_subscription_last_acked_timestamp", stats.last_acked_ms),
        ("pulsar_subscription_last_consumed_timestamp", stats.last_consumed_ms),
        ("pulsar_subscription_last_consumed_flow_timestamp", stats.last_flow_ms),
        ("pulsar_subscription_last_mark_delete_advanced_timestamp", stats.last_advanced_ms),
        ("pulsar_out_messages_total", stats.traffic.messages),
        ("pulsar_out_bytes_total", stats.traffic.bytes),
    ]


def throttled(labels: str, events: Mapping[str, int]) -> Iterator[Block]:
    """How many times a rate left nothing to dispatch; nothing for subscriptions without a rate."""
    for what, metric in (("Msg", "msg"), ("Bytes", "bytes")):
        for level, reason in _REASONS.items():
            count = events.get(f"dispatchThrottled{what}EventsBy{level}Limit")
            if count is not None:
                name = f"pulsar_subscription_dispatch_throttled_{metric}_events"
                yield Block(f'{labels},reason="{reason}"', [(name, count)])


def of_consumer(stats: ConsumerStats) -> list[Sample]:
    return [
        ("pulsar_consumer_msg_rate_redeliver", stats.redelivery_rate),
        ("pulsar_consumer_unacked_messages", stats.unacked_messages),
        ("pulsar_consumer_blocked_on_unacked_messages", stats.blocked),
        ("pulsar_consumer_msg_rate_out", stats.traffic.message_rate),
        ("pulsar_consumer_msg_ack_rate", stats.ack_rate),
        ("pulsar_consumer_msg_throughput_out", stats.traffic.byte_rate),
        ("pulsar_consumer_available_permits", stats.permits),
    ]


def of_producer(stats: PublisherStats) -> list[Sample]:
    return [
        ("pulsar_producer_msg_rate_in", stats.traffic.message_rate),
        ("pulsar_producer_msg_throughput_in", stats.traffic.byte_rate),
        ("pulsar_producer_msg_average_Size", stats.traffic.average_size),
    ]


def escaped(value: str) -> str:
    """A label value, quoted for Prometheus' text format."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
