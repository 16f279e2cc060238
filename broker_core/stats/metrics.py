"""`/metrics`: Prometheus text under Pulsar's metric names, for loaded topics.

Names and labels are those of Pulsar 4.0. Metrics of features that this broker does not have are omitted and not shown
as 0. Metrics that only this broker has begin with `pulsarctl_`. Topics are written in slices, so that a scrape of many
topics does not delay messages.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from broker_core.rates.long_text import LongText
from broker_core.rates.turns import Turns
from broker_core.stats.broker_metrics import COUNTERS, SUMMARIES, Totals, of_broker, summary_of
from broker_core.stats.metric_lines import MetricLines
from broker_core.stats.replicator_stats import replication_stats
from broker_core.stats.topic_metrics import (
    CONSUMER,
    PRODUCER,
    REPLICATION,
    SUBSCRIPTION,
    SUMMED,
    TOPIC,
    Block,
    TopicReading,
    escaped,
    of_compaction,
    of_consumer,
    of_producer,
    of_replicator,
    of_writes,
    throttled,
)
from broker_core.tenancy.system_topics import is_system_topic

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.config.metrics import MetricsConfig
    from broker_core.topic.topic import Topic


async def prometheus_text(broker: Broker) -> LongText:
    lines = MetricLines(_head)
    async for block in blocks_of(broker):
        if lines.add(block):
            await lines.write(block.metrics)
    return await lines.text()


async def blocks_of(broker: Broker) -> AsyncIterator[Block]:
    """Every sample; the event loop has its turn in between."""
    cluster = f'cluster="{escaped(broker.config.server.cluster_name)}"'
    totals, turns = Totals(), Turns()
    namespaces: dict[tuple[str, str], _OfNamespace] = {}
    for topic in list(broker.topics.loaded.values()):
        place = topic.name.tenant, topic.name.namespace_local
        namespace = namespaces.get(place)
        if namespace is None:
            namespace = namespaces[place] = _OfNamespace(f'{cluster},namespace="{topic.name.namespace}"')
        namespace.topics += 1
        labels = f'{namespace.labels},topic="{escaped(str(topic.name))}"'
        if topic.replicators.by_cursor and broker.config.replication.metrics:
            for other, one in (await replication_stats(topic)).items():
                yield Block(f'{labels},remote_cluster="{escaped(other)}"', REPLICATION, of_replicator(one))
        for block in _of_topic(labels, topic, broker.config.metrics):
            await turns.pause()
            if block.metrics is TOPIC:
                totals.add(block.values, is_system=is_system_topic(topic.name))
            if broker.config.metrics.topics:
                yield block
            else:
                namespace.add(block)
    for namespace in namespaces.values():
        yield namespace.block()
    for block in of_broker(broker, cluster, totals):
        yield block


def _of_topic(labels: str, topic: Topic, shows: MetricsConfig) -> Iterator[Block]:
    """The samples of a topic and of what belongs to it. Others may run in between."""
    reading = TopicReading(topic)
    for one in list(topic.subscriptions.values()):
        own = f'{labels},subscription="{escaped(one.name)}"'
        yield Block(own, SUBSCRIPTION, reading.subscription(one))
        yield from throttled(own, one.delivery.dispatcher.throttled)
        for consumer in list(one.consumers) if shows.consumers else ():
            yield Block(f'{own},consumer_name="{escaped(consumer.name)}"', CONSUMER, of_consumer(consumer))
    if topic.compaction.cursor is not None:
        own = f'{labels},subscription="{escaped(topic.compaction.cursor.name)}"'
        yield Block(own, SUBSCRIPTION, reading.compaction(topic.compaction.cursor))
    yield Block(labels, TOPIC, reading.values())
    yield from of_compaction(labels, topic.compaction)
    yield from of_writes(labels, topic)
    for producer in topic.admission.users if shows.producers else ():
        own = f'{labels},producer_name="{escaped(producer.name)}",producer_id="{producer.producer_id}"'
        yield Block(own, PRODUCER, of_producer(producer))


class _OfNamespace:
    """The sums of a namespace's topics, which are shown instead of each of them."""

    def __init__(self, labels: str) -> None:
        self.labels = labels
        self.topics = 0
        self._sums: dict[str, float] = {}

    def add(self, block: Block) -> None:
        for metric, value in zip(block.metrics, block.values, strict=True):
            if metric in SUMMED:
                self._sums[metric] = self._sums.get(metric, 0) + value

    def block(self) -> Block:
        return Block(self.labels, ("pulsar_topics_count", *self._sums), (self.topics, *self._sums.values()))


def _head(metric: str) -> str:
    """The type of the metric, which a summary names before its first line only."""
    base = summary_of(metric)
    if base is None:
        return f"# TYPE {metric} {'counter' if metric in COUNTERS else 'gauge'}\n"
    return f"# TYPE {base} summary\n" if metric == SUMMARIES[base] else ""
