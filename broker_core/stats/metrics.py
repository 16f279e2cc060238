"""`/metrics`: Prometheus text under Pulsar's metric names, for loaded topics.

Names and labels are those of Pulsar 4.0. Metrics of features that this broker does not have are omitted and not shown
as 0. Metrics that only this broker has begin with `pulsarctl_`. Topics are written in slices, so that a scrape of many
topics does not delay messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from broker_core.rates.long_text import LongText
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


BLOCKS_TOGETHER = 200


async def prometheus_text(broker: Broker) -> LongText:
    found, blocks = _Lines(), 0
    async for labels, samples in blocks_of(broker):
        tail = f"{{{labels}}} "
        for metric, value in samples:
            found.new[metric].append(f"{metric}{tail}{value if value.__class__ is int else _shown(value)}\n")
        blocks += 1
        if blocks % BLOCKS_TOGETHER == 0:
            await found.join()
    await found.join()
    return await found.text()


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


class _Lines:
    """The lines of each metric, which Prometheus requires together. In pieces: there may be hundreds of thousands."""

    def __init__(self) -> None:
        self.new: dict[str, list[str]] = defaultdict(list)
        self._joined: dict[str, list[bytes]] = defaultdict(list)

    async def join(self) -> None:
        async for metric, lines in in_turns(self.new.items()):
            self._joined[metric].append("".join(lines).encode())
            lines.clear()

    async def text(self) -> LongText:
        text = LongText()
        async for metric in in_turns(sorted(self._joined)):
            text.add(_head(metric).encode())
            async for piece in in_turns(self._joined.pop(metric)):
                text.add(piece)
        return text


def _head(metric: str) -> str:
    """The type of the metric, which a summary names before its first line only."""
    base = summary_of(metric)
    if base is None:
        return f"# TYPE {metric} {'counter' if metric in COUNTERS else 'gauge'}\n"
    return f"# TYPE {base} summary\n" if metric == SUMMARIES[base] else ""
