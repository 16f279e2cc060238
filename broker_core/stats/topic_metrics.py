"""The metrics of a topic, its subscriptions, consumers, and producers, under the names and labels of Pulsar 4.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker_core.stats.replicator_stats import ReplicatorStats
from broker_core.stats.subscription_stats import ConsumerStats, SubscriptionStats
from broker_core.stats.topic_stats import PublisherStats, TopicStats

Sample = tuple[str, str, float]  # metric, labels, value

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
    )
)
_REASONS = {"Subscription": "subscription", "Topic": "topic", "Broker": "broker"}


def of_topic(labels: str, stats: TopicStats) -> Iterator[Sample]:
    yield "pulsar_subscriptions_count", labels, len(stats.subscriptions)
    yield "pulsar_producers_count", labels, len(stats.publishers)
    yield "pulsar_consumers_count", labels, sum(len(one.consumers) for one in stats.subscriptions.values())
    yield "pulsar_rate_in", labels, stats.incoming.message_rate
    yield "pulsar_rate_out", labels, stats.outgoing.message_rate
    yield "pulsar_throughput_in", labels, stats.incoming.byte_rate
    yield "pulsar_throughput_out", labels, stats.outgoing.byte_rate
    yield "pulsar_average_msg_size", labels, stats.incoming.average_size
    yield "pulsar_in_messages_total", labels, stats.incoming.messages
    yield "pulsar_in_bytes_total", labels, stats.incoming.bytes
    yield "pulsar_storage_size", labels, stats.storage_bytes
    yield "pulsar_storage_logical_size", labels, stats.storage_bytes
    yield "pulsar_storage_offloaded_size", labels, stats.offload.bytes
    yield "pulsar_storage_backlog_size", labels, stats.backlog_bytes
    yield "pulsar_storage_backlog_quota_limit", labels, stats.quota_bytes
    yield "pulsar_storage_backlog_quota_limit_time", labels, stats.quota_seconds
    yield "pulsar_msg_backlog", labels, stats.backlog_entries
    yield "pulsar_publish_rate_limit_times", labels, stats.publishes_held
    delayed = sum(one.delayed_index_bytes for one in stats.subscriptions.values())
    yield "pulsar_delayed_message_index_size_bytes", labels, delayed
    if stats.compaction.last_success_ms or stats.compaction.last_failure_ms:
        yield "pulsar_compaction_removed_event_count", labels, stats.compaction.removed_events
        yield "pulsar_compaction_duration_time_in_mills", labels, stats.compaction.last_duration_ms


def of_replicator(labels: str, stats: ReplicatorStats) -> Iterator[Sample]:
    yield "pulsar_replication_rate_in", labels, stats.incoming.message_rate
    yield "pulsar_replication_rate_out", labels, stats.outgoing.message_rate
    yield "pulsar_replication_throughput_in", labels, stats.incoming.byte_rate
    yield "pulsar_replication_throughput_out", labels, stats.outgoing.byte_rate
    yield "pulsar_replication_backlog", labels, stats.backlog_entries
    yield "pulsar_replication_connected_count", labels, stats.connected
    yield "pulsar_replication_disconnected_count", labels, not stats.connected
    yield "pulsar_replication_rate_expired", labels, stats.expired.message_rate
    yield "pulsar_replication_delay_in_seconds", labels, stats.delay_seconds


def of_subscription(labels: str, stats: SubscriptionStats) -> Iterator[Sample]:
    yield "pulsar_subscription_back_log", labels, stats.backlog_entries
    yield "pulsar_subscription_back_log_no_delayed", labels, stats.backlog_not_delayed
    yield "pulsar_subscription_delayed", labels, stats.delayed
    yield "pulsar_subscription_delayed_message_index_size_bytes", labels, stats.delayed_index_bytes
    yield "pulsar_subscription_unacked_messages", labels, stats.unacked_messages
    yield "pulsar_subscription_blocked_on_unacked_messages", labels, stats.blocked
    yield "pulsar_subscription_in_replay", labels, stats.in_replay
    yield "pulsar_subscription_consumers_count", labels, len(stats.consumers)
    yield "pulsar_subscription_msg_rate_out", labels, stats.traffic.message_rate
    yield "pulsar_subscription_msg_throughput_out", labels, stats.traffic.byte_rate
    yield "pulsar_subscription_msg_rate_redeliver", labels, stats.redelivery_rate
    yield "pulsar_subscription_msg_ack_rate", labels, stats.ack_rate
    yield "pulsar_subscription_msg_rate_expired", labels, stats.expired.message_rate
    yield "pulsar_subscription_total_msg_expired", labels, stats.expired.messages
    yield "pulsar_subscription_last_expire_timestamp", labels, stats.last_expired_ms
    yield "pulsar_subscription_last_acked_timestamp", labels, stats.last_acked_ms
    yield "pulsar_subscription_last_consumed_timestamp", labels, stats.last_consumed_ms
    yield "pulsar_subscription_last_consumed_flow_timestamp", labels, stats.last_flow_ms
    yield "pulsar_subscription_last_mark_delete_advanced_timestamp", labels, stats.last_advanced_ms
    yield from _throttled(labels, stats.throttled)
    yield "pulsar_out_messages_total", labels, stats.traffic.messages
    yield "pulsar_out_bytes_total", labels, stats.traffic.bytes


def _throttled(labels: str, events: Mapping[str, int]) -> Iterator[Sample]:
    """How many times a rate left nothing to dispatch; nothing for subscriptions without a rate."""
    for what, metric in (("Msg", "msg"), ("Bytes", "bytes")):
        for level, reason in _REASONS.items():
            count = events.get(f"dispatchThrottled{what}EventsBy{level}Limit")
            if count is not None:
                name = f"pulsar_subscription_dispatch_throttled_{metric}_events"
                yield name, f'{labels},reason="{reason}"', count


def of_consumer(labels: str, stats: ConsumerStats) -> Iterator[Sample]:
    yield "pulsar_consumer_msg_rate_redeliver", labels, stats.redelivery_rate
    yield "pulsar_consumer_unacked_messages", labels, stats.unacked_messages
    yield "pulsar_consumer_blocked_on_unacked_messages", labels, stats.blocked
    yield "pulsar_consumer_msg_rate_out", labels, stats.traffic.message_rate
    yield "pulsar_consumer_msg_ack_rate", labels, stats.ack_rate
    yield "pulsar_consumer_msg_throughput_out", labels, stats.traffic.byte_rate
    yield "pulsar_consumer_available_permits", labels, stats.permits


def of_producer(labels: str, stats: PublisherStats) -> Iterator[Sample]:
    yield "pulsar_producer_msg_rate_in", labels, stats.traffic.message_rate
    yield "pulsar_producer_msg_throughput_in", labels, stats.traffic.byte_rate
    yield "pulsar_producer_msg_average_Size", labels, stats.traffic.average_size
