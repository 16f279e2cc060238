"""`/metrics`: Prometheus text under Pulsar's metric names, for loaded topics.

Names and labels are those of Pulsar 4.0. Metrics of features that this broker does not have are omitted and not shown
as 0. Metrics that only this broker has begin with `pulsarctl_`. Topics are written in slices, so that a scrape of many
topics does not delay messages.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from broker_core.rates.turns import in_turns
from broker_core.stats.broker_load import resident_bytes
from broker_core.stats.subscription_stats import SubscriptionStats
from broker_core.stats.topic_stats import TopicStats, topic_stats

if TYPE_CHECKING:
    from broker_core.broker import Broker

Sample = tuple[str, str, float]  # metric, labels, value
Samples = dict[str, list[str]]  # metric -> its lines, which Prometheus requires together

_COUNTERS = frozenset(
    {
        "process_cpu_seconds_total",
        "pulsar_in_bytes_total",
        "pulsar_in_messages_total",
        "pulsar_out_bytes_total",
        "pulsar_out_messages_total",
    }
)


async def prometheus_text(broker: Broker) -> bytearray:
    samples: Samples = {}
    async for metric, labels, value in samples_of(broker):
        shown = int(value) if value == int(value) else round(value, 3)
        samples.setdefault(metric, []).append(f"{metric}{{{labels}}} {shown}\n")
    text = bytearray()
    async for metric in in_turns(sorted(samples)):
        text += _lines(metric, samples.pop(metric))
    return text


async def samples_of(broker: Broker) -> AsyncIterator[Sample]:
    """Every sample; the event loop has its turn in between."""
    cluster = f'cluster="{_escaped(broker.config.server.cluster_name)}"'
    namespaces: dict[str, int] = {}
    totals = _Totals()
    async for topic in in_turns(list(broker.topics.loaded.values())):
        namespace = str(topic.name.namespace)
        namespaces[namespace] = namespaces.get(namespace, 0) + 1
        snapshot = await topic_stats(topic)
        totals.add(snapshot)
        labels = f'{cluster},namespace="{namespace}",topic="{_escaped(str(topic.name))}"'
        for sample in _topic_samples(labels, snapshot):
            yield sample
        async for one in in_turns(snapshot.subscriptions.values()):
            for sample in _subscription_samples(f'{labels},subscription="{_escaped(one.name)}"', one):
                yield sample
    for namespace, count in namespaces.items():
        yield "pulsar_topics_count", f'{cluster},namespace="{namespace}"', count
    for sample in (
        *_broker_samples(broker, cluster, totals, sum(namespaces.values())),
        *_process_samples(broker, cluster),
    ):
        yield sample


class _Totals:
    def __init__(self) -> None:
        self.stats: list[TopicStats] = []
        self.subscriptions = self.producers = self.consumers = 0
        self.backlog = self.storage = 0
        self.rate_in = self.rate_out = self.bytes_in = self.bytes_out = 0.0

    def add(self, stats: TopicStats) -> None:
        self.subscriptions += len(stats.subscriptions)
        self.producers += len(stats.publishers)
        self.consumers += sum(len(one.consumers) for one in stats.subscriptions.values())
        self.backlog += stats.backlog_entries
        self.storage += stats.storage_bytes
        self.rate_in += stats.incoming.message_rate
        self.rate_out += stats.outgoing.message_rate
        self.bytes_in += stats.incoming.byte_rate
        self.bytes_out += stats.outgoing.byte_rate


def _broker_samples(broker: Broker, cluster: str, totals: _Totals, topics: int) -> Iterator[Sample]:
    yield "pulsar_version_info", f'{cluster},version="{broker.version}"', 1
    yield "pulsar_broker_topics_count", cluster, topics
    yield "pulsar_broker_subscriptions_count", cluster, totals.subscriptions
    yield "pulsar_broker_producers_count", cluster, totals.producers
    yield "pulsar_broker_consumers_count", cluster, totals.consumers
    yield "pulsar_broker_rate_in", cluster, totals.rate_in
    yield "pulsar_broker_rate_out", cluster, totals.rate_out
    yield "pulsar_broker_throughput_in", cluster, totals.bytes_in
    yield "pulsar_broker_throughput_out", cluster, totals.bytes_out
    yield "pulsar_broker_storage_size", cluster, totals.storage
    yield "pulsar_broker_msg_backlog", cluster, totals.backlog
    yield "pulsarctl_storage_damaged_places", cluster, len(broker.storage.damage.open)
    host = _escaped(broker.config.server.advertised_address)
    yield (
        "pulsar_active_connections",
        f'{cluster},broker="{host}",metric="broker_connection"',
        len(broker.connections),
    )


def _process_samples(broker: Broker, cluster: str) -> Iterator[Sample]:
    """The memory that the system counts is known only if there is /proc."""
    yield "process_start_time_seconds", cluster, broker.started_ms / 1000
    yield "process_cpu_seconds_total", cluster, time.process_time()
    if memory := resident_bytes():
        yield "process_resident_memory_bytes", cluster, memory


def _topic_samples(labels: str, stats: TopicStats) -> Iterator[Sample]:
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
    yield "pulsar_storage_backlog_size", labels, stats.backlog_bytes
    yield "pulsar_msg_backlog", labels, stats.backlog_entries


def _subscription_samples(labels: str, stats: SubscriptionStats) -> Iterator[Sample]:
    yield "pulsar_subscription_back_log", labels, stats.backlog_entries
    yield "pulsar_subscription_back_log_no_delayed", labels, stats.backlog_not_delayed
    yield "pulsar_subscription_delayed", labels, stats.delayed
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
    yield "pulsar_out_messages_total", labels, stats.traffic.messages
    yield "pulsar_out_bytes_total", labels, stats.traffic.bytes


def _lines(metric: str, lines: Iterable[str]) -> bytes:
    head = f"# TYPE {metric} {'counter' if metric in _COUNTERS else 'gauge'}\n"
    return "".join((head, *lines)).encode()


def _escaped(value: str) -> str:
    """A label value, quoted for Prometheus' text format."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
