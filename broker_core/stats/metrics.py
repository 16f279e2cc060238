"""`/metrics`: Prometheus text under Pulsar's metric names, for loaded topics.

Names and labels are those of Pulsar 4.0. Metrics of features that this broker does not have are omitted and not shown
as 0. Metrics that only this broker has begin with `pulsarctl_`. Topics are written in slices, so that a scrape of many
topics does not delay messages.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from broker_core.rates.turns import in_turns
from broker_core.stats.broker_load import resident_bytes
from broker_core.stats.topic_metrics import (
    SUMMED,
    Sample,
    of_consumer,
    of_producer,
    of_replicator,
    of_subscription,
    of_topic,
)
from broker_core.stats.topic_stats import TopicStats, topic_stats

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.config.metrics import MetricsConfig

AT_A_TIME = 500  # samples without a turn for others: well below a millisecond
Samples = dict[str, list[str]]  # metric -> its lines, which Prometheus requires together

_COUNTERS = frozenset(
    {
        "process_cpu_seconds_total",
        "pulsar_authentication_failures_total",
        "pulsar_authentication_success_total",
        "pulsar_broker_lookup_answers_total",
        "pulsar_broker_lookup_failures_total",
        "pulsar_broker_lookup_redirects_total",
        "pulsar_in_bytes_total",
        "pulsar_in_messages_total",
        "pulsar_out_bytes_total",
        "pulsar_out_messages_total",
        "pulsarctl_authentication_refusals_total",
    }
)


_SUMMARIES = frozenset({"pulsar_replicated_subscriptions_snapshot_ms", "pulsar_topic_load_times"})


async def prometheus_text(broker: Broker) -> bytearray:
    samples: Samples = {}
    async for some in samples_of(broker):
        for metric, labels, value in some:
            shown = int(value) if value == int(value) else round(value, 3)
            samples.setdefault(metric, []).append(f"{metric}{{{labels}}} {shown}\n")
    text = bytearray()
    async for metric in in_turns(sorted(samples)):
        text += _lines(metric, samples.pop(metric))
    return text


async def samples_of(broker: Broker) -> AsyncIterator[list[Sample]]:
    """Every sample, some at a time; the event loop has its turn in between."""
    cluster, shows = f'cluster="{escaped(broker.config.server.cluster_name)}"', broker.config.metrics
    totals, namespaces = _Totals(), dict[str, _OfNamespace]()
    async for topic in in_turns(list(broker.topics.loaded.values())):
        name = str(topic.name.namespace)
        snapshot = await topic_stats(topic)
        totals.add(snapshot)
        namespace = namespaces.setdefault(name, _OfNamespace())
        namespace.topics += 1
        topic_labels = f'{cluster},namespace="{name}",topic="{escaped(str(topic.name))}"'
        if broker.config.replication.metrics:
            for other, one in snapshot.replication.items():
                remote = f'{topic_labels},remote_cluster="{escaped(other)}"'
                yield list(of_replicator(remote, one))
        found = of_one(topic_labels, snapshot, shows)
        async for some in in_turns(_some_at_a_time(found)):
            if shows.topics:
                yield some
            else:
                namespace.add(some)
    for name, namespace in namespaces.items():
        labels = f'{cluster},namespace="{name}"'
        yield [("pulsar_topics_count", labels, namespace.topics)]
        yield [(metric, labels, value) for metric, value in namespace.sums.items()]
    yield [*_broker_samples(broker, cluster, totals), *_process_samples(broker, cluster)]


def _some_at_a_time(samples: Iterator[Sample]) -> Iterator[list[Sample]]:
    while some := list(islice(samples, AT_A_TIME)):
        yield some


def of_one(labels: str, stats: TopicStats, shows: MetricsConfig) -> Iterator[Sample]:
    """The samples of a topic and of what belongs to it."""
    yield from of_topic(labels, stats)
    if shows.producers:
        for publisher in stats.publishers:
            own = f'{labels},producer_name="{escaped(publisher.name)}",producer_id="{publisher.producer_id}"'
            yield from of_producer(own, publisher)
    for one in stats.subscriptions.values():
        own = f'{labels},subscription="{escaped(one.name)}"'
        yield from of_subscription(own, one)
        for consumer in one.consumers if shows.consumers else ():
            yield from of_consumer(f'{own},consumer_name="{escaped(consumer.name)}"', consumer)


class _OfNamespace:
    """The sums of a namespace's topics, which are shown instead of each of them."""

    def __init__(self) -> None:
        self.topics = 0
        self.sums: dict[str, float] = {}

    def add(self, samples: Iterable[Sample]) -> None:
        for metric, _, value in samples:
            if metric in SUMMED:
                self.sums[metric] = self.sums.get(metric, 0.0) + value


class _Totals:
    def __init__(self) -> None:
        self.topics = self.subscriptions = self.producers = self.consumers = 0
        self.backlog = self.storage = 0
        self.rate_in = self.rate_out = self.bytes_in = self.bytes_out = 0.0
        self.received = {False: 0, True: 0}  # bytes, of users' and of system topics
        self.sent = 0

    def add(self, stats: TopicStats) -> None:
        self.topics += 1
        self.received[stats.is_system] += stats.incoming.bytes
        self.sent += stats.outgoing.bytes
        self.subscriptions += len(stats.subscriptions)
        self.producers += len(stats.publishers)
        self.consumers += sum(len(one.consumers) for one in stats.subscriptions.values())
        self.backlog += stats.backlog_entries
        self.storage += stats.storage_bytes
        self.rate_in += stats.incoming.message_rate
        self.rate_out += stats.outgoing.message_rate
        self.bytes_in += stats.incoming.byte_rate
        self.bytes_out += stats.outgoing.byte_rate


def _broker_samples(broker: Broker, cluster: str, totals: _Totals) -> Iterator[Sample]:
    yield "pulsar_version_info", f'{cluster},version="{broker.version}"', 1
    yield "pulsar_broker_topics_count", cluster, totals.topics
    yield "pulsar_broker_subscriptions_count", cluster, totals.subscriptions
    yield "pulsar_broker_producers_count", cluster, totals.producers
    yield "pulsar_broker_consumers_count", cluster, totals.consumers
    yield "pulsar_broker_rate_in", cluster, totals.rate_in
    yield "pulsar_broker_rate_out", cluster, totals.rate_out
    yield "pulsar_broker_throughput_in", cluster, totals.bytes_in
    yield "pulsar_broker_throughput_out", cluster, totals.bytes_out
    yield "pulsar_broker_storage_size", cluster, totals.storage
    yield "pulsar_broker_msg_backlog", cluster, totals.backlog
    yield "pulsar_broker_storage_logical_size", cluster, totals.storage
    for is_system, size in totals.received.items():
        yield "pulsar_broker_in_bytes_total", f'{cluster},system_topic="{str(is_system).lower()}"', size
    yield "pulsar_broker_out_bytes_total", f'{cluster},system_subscription="false"', totals.sent
    yield "pulsar_broker_lookup_answers_total", cluster, broker.lookups.succeeded
    yield "pulsar_broker_lookup_failures_total", cluster, broker.lookups.failed
    yield "pulsar_broker_lookup_redirects_total", cluster, 0
    loads = broker.topics.loads
    yield "pulsar_topic_load_times_count", cluster, loads.succeeded
    yield "pulsar_topic_load_times_sum", cluster, loads.seconds * 1000
    yield "pulsar_topic_load_failed_count", f'{cluster},metric="pulsar_topic_load_times"', loads.failed
    yield "pulsarctl_storage_damaged_places", cluster, len(broker.storage.damage.open)
    yield from _snapshot_samples(broker, cluster)
    yield from _disk_samples(broker, cluster)
    yield from _connection_samples(broker, cluster)
    yield from _authentication_samples(broker, cluster)


def _snapshot_samples(broker: Broker, cluster: str) -> Iterator[Sample]:
    """Of replicated subscriptions."""
    snapshots = broker.topics.snapshots
    yield "pulsar_replicated_subscriptions_pending_snapshots", cluster, snapshots.pending
    yield "pulsar_replicated_subscriptions_timedout_snapshots", cluster, snapshots.timed_out
    yield "pulsar_replicated_subscriptions_snapshot_ms_count", cluster, snapshots.taken
    yield "pulsar_replicated_subscriptions_snapshot_ms_sum", cluster, snapshots.taken_ms


def _disk_samples(broker: Broker, cluster: str) -> Iterator[Sample]:
    """Of the file system with the data directory; nothing if it does not answer."""
    with contextlib.suppress(OSError):
        usage = shutil.disk_usage(broker.storage.path)
        yield "pulsarctl_storage_free_bytes", cluster, usage.free
        yield "pulsarctl_storage_size_bytes", cluster, usage.total


def _connection_samples(broker: Broker, cluster: str) -> Iterator[Sample]:
    """Every accepted connection was created; one that found no room failed."""
    host = escaped(broker.config.server.advertised_address)
    labels = f'{cluster},broker="{host}",metric="broker_connection"'
    admitted, refused, active = broker.admissions.succeeded, broker.admissions.failed, len(broker.connections)
    yield "pulsar_active_connections", labels, active
    yield "pulsar_connection_created_total_count", labels, admitted + refused
    yield "pulsar_connection_create_success_count", labels, admitted
    yield "pulsar_connection_create_fail_count", labels, refused
    yield "pulsar_connection_closed_total_count", labels, admitted + refused - active


def _authentication_samples(broker: Broker, cluster: str) -> Iterator[Sample]:
    """What was refused without a check has no method: too many attempts failed before."""
    if broker.security.authentication is None:
        return
    logins = broker.security.throttle
    for method in sorted({*broker.security.authentication.methods, *logins.succeeded, *logins.failed}):
        labels = f'{cluster},auth_method="{method}"'
        yield "pulsar_authentication_success_total", labels, logins.succeeded[method]
        yield "pulsar_authentication_failures_total", labels, logins.failed[method]
    yield "pulsarctl_authentication_refusals_total", cluster, logins.refused


def _process_samples(broker: Broker, cluster: str) -> Iterator[Sample]:
    """The memory that the system counts is known only if there is /proc."""
    yield "process_start_time_seconds", cluster, broker.started_ms / 1000
    yield "process_cpu_seconds_total", cluster, time.process_time()
    if memory := resident_bytes():
        yield "process_resident_memory_bytes", cluster, memory


def _lines(metric: str, lines: Iterable[str]) -> bytes:
    base = metric.removesuffix("_count").removesuffix("_sum")
    if base in _SUMMARIES:  # their lines follow one another, and the first one names the type
        head = f"# TYPE {base} summary\n" if metric.endswith("_count") else ""
    else:
        head = f"# TYPE {metric} {'counter' if metric in _COUNTERS else 'gauge'}\n"
    return "".join((head, *lines)).encode()


def escaped(value: str) -> str:
    """A label value, quoted for Prometheus' text format."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
