"""`/metrics`: Prometheus text under Pulsar's metric names, for loaded topics.

Names and labels are those of Pulsar 4.0. Metrics of features that this broker does not have are omitted and not shown
as 0. Metrics that only this broker has begin with `pulsarctl_`. Topics are written in slices, so that a scrape of many
topics does not delay messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from broker_core.rates.turns import Turns, in_turns
from broker_core.stats.broker_metrics import COUNTERS, SUMMARIES, Totals, of_broker, summary_of
from broker_core.stats.topic_metrics import (
    SUMMED,
    Block,
    Sample,
    escaped,
    of_consumer,
    of_producer,
    of_replicator,
    of_subscription,
    of_topic,
    throttled,
)
from broker_core.stats.topic_stats import TopicStats, topic_stats

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.config.metrics import MetricsConfig
    from broker_core.names import NamespaceName


async def prometheus_text(broker: Broker) -> bytearray:
    lines: dict[str, list[str]] = defaultdict(list)  # of each metric, which Prometheus requires together
    async for labels, samples in blocks_of(broker):
        tail = f"{{{labels}}} "
        for metric, value in samples:
            lines[metric].append(f"{metric}{tail}{value if value.__class__ is int else _shown(value)}\n")
    text = bytearray()
    async for metric in in_turns(sorted(lines)):
        text += _lines(metric, lines.pop(metric))
    return text


def _shown(value: float) -> float:
    return int(value) if value == int(value) else round(value, 3)


async def blocks_of(broker: Broker) -> AsyncIterator[Block]:
    """Every sample; the event loop has its turn in between."""
    cluster, shows = f'cluster="{escaped(broker.config.server.cluster_name)}"', broker.config.metrics
    totals, turns = Totals(), Turns()
    namespaces: dict[NamespaceName, _OfNamespace] = {}
    for topic in list(broker.topics.loaded.values()):
        await turns.pause()
        name, snapshot = topic.name.namespace, await topic_stats(topic)
        totals.add(snapshot)
        if name not in namespaces:
            namespaces[name] = _OfNamespace(f'{cluster},namespace="{name}"')
        namespace = namespaces[name]
        namespace.topics += 1
        labels = f'{namespace.labels},topic="{escaped(str(topic.name))}"'
        if broker.config.replication.metrics:
            for other, one in snapshot.replication.items():
                yield Block(f'{labels},remote_cluster="{escaped(other)}"', of_replicator(one))
        for block in of_one(labels, snapshot, shows):
            await turns.pause()
            if shows.topics:
                yield block
            else:
                namespace.add(block.samples)
    for namespace in namespaces.values():
        yield Block(namespace.labels, [("pulsar_topics_count", namespace.topics), *namespace.sums.items()])
    for block in of_broker(broker, cluster, totals):
        yield block


def of_one(labels: str, stats: TopicStats, shows: MetricsConfig) -> Iterator[Block]:
    """The samples of a topic and of what belongs to it."""
    yield Block(labels, of_topic(stats))
    if shows.producers:
        for publisher in stats.publishers:
            own = f'{labels},producer_name="{escaped(publisher.name)}",producer_id="{publisher.producer_id}"'
            yield Block(own, of_producer(publisher))
    for one in stats.subscriptions.values():
        own = f'{labels},subscription="{escaped(one.name)}"'
        yield Block(own, of_subscription(one))
        yield from throttled(own, one.throttled)
        for consumer in one.consumers if shows.consumers else ():
            yield Block(f'{own},consumer_name="{escaped(consumer.name)}"', of_consumer(consumer))


class _OfNamespace:
    """The sums of a namespace's topics, which are shown instead of each of them."""

    def __init__(self, labels: str) -> None:
        self.labels = labels
        self.topics = 0
        self.sums: dict[str, float] = {}

    def add(self, samples: Iterable[Sample]) -> None:
        for metric, value in samples:
            if metric in SUMMED:
                self.sums[metric] = self.sums.get(metric, 0) + value


def _lines(metric: str, lines: Iterable[str]) -> bytes:
    """With the type of the metric, which a summary names before its first line only."""
    base = summary_of(metric)
    if base is None:
        head = f"# TYPE {metric} {'counter' if metric in COUNTERS else 'gauge'}\n"
    else:
        head = f"# TYPE {base} summary\n" if metric == SUMMARIES[base] else ""
    return "".join((head, *lines)).encode()
