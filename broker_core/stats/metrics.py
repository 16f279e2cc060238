"""`/metrics`: Prometheus text under Pulsar's metric names, for loaded topics.

Names and labels are those of Pulsar 4.0. Metrics of features that this broker does not have are omitted and not shown
as 0. Metrics that only this broker has begin with `pulsarctl_`. Topics are written in slices, so that a scrape of many
topics does not delay messages.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.rates.long_text import LongText
from broker_core.rates.time_slices import TimeSlices
from broker_core.stats.broker_metrics import COUNTERS, Totals, of_broker, summary_of
from broker_core.stats.metric_lines import MetricLines
from broker_core.stats.replicator_stats import replication_stats
from broker_core.stats.topic_metrics import (
    COMPACTION,
    CONSUMER,
    PRODUCER,
    REPLICATION,
    SUBSCRIPTION,
    SUMMED,
    TOPIC,
    WRITES,
    Block,
    TopicReading,
    escaped,
    of_compaction,
    of_consumer,
    of_producer,
    of_replicator,
    of_throttled,
    of_writes,
)
from broker_core.stats.topic_stats import NO_BACKLOG, earliest_backlog
from broker_core.stats.transaction_metrics import BUFFER, of_buffer, of_coordinator

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.config.metrics import MetricsConfig
    from broker_core.topic.topic import Topic


async def prometheus_text(broker: Broker) -> LongText:
    slices = TimeSlices()
    lines = MetricLines(_Heads(), slices)
    async for blocks in blocks_of(broker, slices):
        for block in blocks:
            if lines.add(block):
                await lines.write(block[1])
    return await lines.text()


async def blocks_of(broker: Broker, slices: TimeSlices) -> AsyncIterator[list[Block]]:
    """Yield every sample; those of one time slice together.

    No object for each topic outlives a time slice: many objects that stay make a full collection of garbage due.
    """
    cluster = f'cluster="{escaped(broker.config.server.cluster_name)}"'
    shows, totals = broker.config.metrics, Totals()
    namespaces: dict[tuple[str, str], _OfNamespace] = {}
    blocks: list[Block] = []
    for topic in list(broker.topics.loaded.values()):
        name = topic.name
        place = name.tenant, name.namespace_local
        namespace = namespaces.get(place)
        if namespace is None:
            namespace = namespaces[place] = _OfNamespace(f'{cluster},namespace="{name.namespace}"')
        namespace.topics += 1
        labels = f'{namespace.labels},topic="{escaped(str(name))}"{_own_labels(broker, topic)}'
        if topic.replicators.by_cursor and broker.config.replication.metrics:
            for other, stats in (await replication_stats(topic)).items():
                blocks.append((f'{labels},remote_cluster="{escaped(other)}"', REPLICATION, of_replicator(stats)))
        if shows.topics and shows.backlog_age:
            blocks += [block async for block in _ages(labels, topic)]
        for block in _of_topic(labels, topic, totals, shows):
            if shows.topics:
                blocks.append(block)
            else:
                namespace.add(block)
            if slices.over:
                yield blocks
                blocks = []
                await slices.pause()
    yield blocks
    yield [namespace.block() for namespace in namespaces.values()]
    yield list(of_broker(broker, cluster, totals))
    if broker.transactions is not None:
        yield [of_coordinator(broker.transactions, cluster)]


def _own_labels(broker: Broker, topic: Topic) -> str:
    """Labels from the properties of a topic, each with the comma before it."""
    keys = topic.policies.metric_labels
    if not broker.config.metrics.property_labels or not keys:
        return ""
    properties = broker.topics.properties_of(topic.name)
    return "".join(f',{key}="{escaped(properties[key])}"' for key in keys if key in properties)


async def _ages(labels: str, topic: Topic) -> AsyncIterator[Block]:
    """How old the oldest message is that each subscription has not acknowledged, in seconds; -1 without one."""
    now = topic.clock.wall_ms()
    for name, published_ms in (await earliest_backlog(topic)).items():
        age = NO_BACKLOG if published_ms == NO_BACKLOG else max(0, now - published_ms) // 1000
        yield f'{labels},subscription="{escaped(name)}"', ("pulsar_subscription_storage_backlog_age_seconds",), (age,)


def _of_topic(labels: str, topic: Topic, totals: Totals, shows: MetricsConfig) -> Iterator[Block]:
    """The samples of a topic and of what belongs to it. Others may run in between."""
    reading = TopicReading(topic)
    for subscription in list(topic.subscriptions.by_name.values()):
        own = f'{labels},subscription="{escaped(subscription.name)}"'
        yield own, SUBSCRIPTION, reading.subscription(subscription)
        if subscription.dropped is not None:
            yield own, ("pulsar_subscription_msg_drop_rate",), (subscription.dropped.per_second()[0],)
        if throttled := subscription.delivery.dispatcher.throttled:
            yield from of_throttled(own, throttled)
        for consumer in list(subscription.consumers) if shows.consumers else ():
            yield f'{own},consumer_name="{escaped(consumer.name)}"', CONSUMER, of_consumer(consumer)
    if (cursor := topic.compaction.cursor) is not None:
        yield f'{labels},subscription="{escaped(cursor.name)}"', SUBSCRIPTION, reading.compaction(cursor)
    values = reading.values()
    totals.add(values, reading.bytes_sent, is_system=is_system_topic(topic.name))
    yield labels, TOPIC, values
    if transactions := of_buffer(topic.transactions):
        yield labels, BUFFER, transactions
    if compacted := of_compaction(topic.compaction):
        yield labels, COMPACTION, compacted
    if writes := of_writes(topic):
        totals.write_rate += writes[0]
        yield labels, WRITES, writes
    for producer in topic.admission.users if shows.producers else ():
        own = f'{labels},producer_name="{escaped(producer.name)}",producer_id="{producer.producer_id}"'
        yield own, PRODUCER, of_producer(producer)


class _OfNamespace:
    """The sums of a namespace's topics, which are shown instead of each of them."""

    def __init__(self, labels: str) -> None:
        self.labels = labels
        self.topics = 0
        self._sums: dict[str, float] = {}

    def add(self, block: Block) -> None:
        for metric, value in zip(*block[1:], strict=True):
            if metric in SUMMED:
                self._sums[metric] = self._sums.get(metric, 0) + value

    def block(self) -> Block:
        return self.labels, ("pulsar_topics_count", *self._sums), (self.topics, *self._sums.values())


class _Heads:
    """The types of the metrics. That of a summary precedes the first of its lines only."""

    def __init__(self) -> None:
        self._summaries: set[str] = set()

    def __call__(self, metric: str) -> str:
        base = summary_of(metric)
        if base is None:
            return f"# TYPE {metric} {'counter' if metric in COUNTERS else 'gauge'}\n"
        if base in self._summaries:
            return ""
        self._summaries.add(base)
        return f"# TYPE {base} summary\n"
