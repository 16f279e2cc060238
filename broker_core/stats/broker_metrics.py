"""The metrics of the broker as a whole and of its process, under the names and labels of Pulsar 4.0."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker_core.stats.broker_load import resident_bytes
from broker_core.stats.health import unwell
from broker_core.stats.installed_commit import installed_commit
from broker_core.stats.topic_metrics import TOPIC, Block, Values, escaped

if TYPE_CHECKING:
    from broker_core.broker import Broker

_Sample = tuple[str, str, float]  # metric, labels, value
ROWS_TOGETHER = 100  # summed in one step, which takes a tenth of the time of one after the other
_QUANTILES = (0.0, 0.5, 0.95, 0.99, 0.999, 0.9999, 1.0)
_LOAD_TIMES = {
    "median": 0.5,
    "75percentile": 0.75,
    "95percentile": 0.95,
    "99_percentile": 0.99,
    "99_9_percentile": 0.999,
    "99_99_percentile": 0.9999,
}

COUNTERS = frozenset(
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
        "pulsar_replicated_subscriptions_timedout_snapshots_total",
        "pulsar_txn_aborted_total",
        "pulsar_txn_committed_total",
        "pulsar_txn_created_total",
        "pulsar_txn_timeout_total",
        "pulsarctl_authentication_refusals_total",
        "topic_load_failed_total",
    }
)


SUMMARIES = (
    "pulsar_broker_publish_latency",
    "pulsar_replicated_subscriptions_snapshot_ms",
    "pulsar_topic_load_times",
)


def summary_of(metric: str) -> str | None:
    base = metric.removesuffix("_count").removesuffix("_sum")
    return base if base in SUMMARIES else None


class Totals:
    """The sums of the metrics in `TOPIC` over all topics."""

    def __init__(self) -> None:
        self.topics = 0
        self.received = {False: 0.0, True: 0.0}  # bytes, of users' and of system topics
        self.write_rate = 0.0  # entries per second
        self.sent = 0.0  # bytes, to the consumers of all subscriptions
        self._sums: Values = (0,) * len(TOPIC)
        self._rows: list[Values] = []  # not in the sums yet

    def add(self, values: Values, sent: int, *, is_system: bool) -> None:
        self.topics += 1
        self.received[is_system] += values[_RECEIVED]
        self.sent += sent
        self._rows.append(values)
        if len(self._rows) == ROWS_TOGETHER:
            self._sum_up()

    def _sum_up(self) -> None:
        self._sums = list(map(sum, zip(self._sums, *self._rows, strict=True)))
        self._rows = []

    def of(self, metric: str) -> float:
        self._sum_up()
        return self._sums[TOPIC.index(metric)]


_RECEIVED = TOPIC.index("pulsar_in_bytes_total")


def of_broker(broker: Broker, cluster: str, totals: Totals) -> Iterator[Block]:
    for metric, labels, value in _samples(broker, cluster, totals):
        yield labels, (metric,), (value,)


def _samples(broker: Broker, cluster: str, totals: Totals) -> Iterator[_Sample]:
    yield "pulsar_version_info", f'{cluster},version="{broker.version}",commit="{installed_commit()}"', 1
    yield "pulsar_broker_topics_count", cluster, totals.topics
    yield "pulsar_broker_subscriptions_count", cluster, totals.of("pulsar_subscriptions_count")
    yield "pulsar_broker_producers_count", cluster, totals.of("pulsar_producers_count")
    yield "pulsar_broker_consumers_count", cluster, totals.of("pulsar_consumers_count")
    yield "pulsar_broker_rate_in", cluster, totals.of("pulsar_rate_in")
    yield "pulsar_broker_rate_out", cluster, totals.of("pulsar_rate_out")
    yield "pulsar_broker_throughput_in", cluster, totals.of("pulsar_throughput_in")
    yield "pulsar_broker_throughput_out", cluster, totals.of("pulsar_throughput_out")
    yield "pulsar_broker_storage_size", cluster, totals.of("pulsar_storage_size")
    yield "pulsar_broker_msg_backlog", cluster, totals.of("pulsar_msg_backlog")
    yield "pulsar_broker_storage_logical_size", cluster, totals.of("pulsar_storage_size")
    yield "pulsar_broker_storage_write_rate", cluster, totals.write_rate
    yield "pulsar_broker_storage_read_rate", cluster, totals.of("pulsar_storage_read_rate")
    yield "pulsar_broker_storage_read_cache_misses_rate", cluster, totals.of("pulsar_storage_read_cache_misses_rate")
    for is_system, size in totals.received.items():
        yield "pulsar_broker_in_bytes_total", f'{cluster},system_topic="{str(is_system).lower()}"', size
    yield "pulsar_broker_out_bytes_total", f'{cluster},system_subscription="false"', totals.sent
    yield "pulsar_broker_lookup_answers_total", cluster, broker.lookups.succeeded
    yield "pulsar_broker_lookup_failures_total", cluster, broker.lookups.failed
    yield "pulsar_broker_lookup_redirects_total", cluster, 0
    yield from _load_samples(broker, cluster)
    yield from _cache_samples(broker, cluster)
    yield "pulsarctl_storage_damaged_places", cluster, len(broker.storage.damage.open)
    yield from _snapshot_samples(broker, cluster)
    yield from _disk_samples(broker, cluster)
    yield from _connection_samples(broker, cluster)
    yield from _authentication_samples(broker, cluster)
    yield from _publish_latency(broker, cluster)
    yield from _process_samples(broker, cluster)


def _load_samples(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """Load times in milliseconds. Quantiles are those of the last minute, if a topic was loaded in it."""
    loads, recent = broker.topics.loads, broker.topics.load_ms
    for fraction, value in zip(_QUANTILES, recent.quantiles(_QUANTILES), strict=False):
        yield "pulsar_topic_load_times", f'{cluster},quantile="{fraction}"', value
    yield "pulsar_topic_load_times_count", cluster, loads.succeeded
    yield "pulsar_topic_load_times_sum", cluster, loads.seconds * 1000
    labels = f'{cluster},{_host(broker)},metric="pulsar_topic_load_times"'
    yield "pulsar_topic_load_failed_count", labels, loads.failed
    for reason, failed in broker.topics.load_failures.items():
        yield "topic_load_failed_total", f'{cluster},reason="{reason}"', failed
    for name, value in zip(_LOAD_TIMES, recent.quantiles(tuple(_LOAD_TIMES.values())), strict=False):
        yield f"pulsar_topic_load_time_{name}_ms", labels, value
    yield "pulsar_broker_topic_load_pending_requests", cluster, broker.topics.loading


def _cache_samples(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """Rates are per second, in entries and bytes. Evictions are those of the last minute."""
    cache = broker.storage.cache
    for name, rate in (("hits", cache.traffic.hits), ("misses", cache.traffic.misses)):
        entries, size = rate.per_second()
        yield f"pulsar_ml_cache_{name}_rate", cluster, entries
        yield f"pulsar_ml_cache_{name}_throughput", cluster, size
    yield "pulsar_ml_cache_evictions", cluster, round(cache.traffic.evictions.per_second()[0] * 60)
    yield "pulsar_ml_cache_used_size", cluster, cache.tail_bytes + cache.cold_bytes


def _publish_latency(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """Milliseconds from the message's arrival until it is on disk. Quantiles are those of the last minute."""
    latency = broker.topics.publish_latency
    for fraction, value in zip(_QUANTILES, latency.quantiles(_QUANTILES), strict=False):
        yield "pulsar_broker_publish_latency", f'{cluster},quantile="{fraction}"', value
    yield "pulsar_broker_publish_latency_count", cluster, latency.count
    yield "pulsar_broker_publish_latency_sum", cluster, latency.sum


def _snapshot_samples(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """The snapshots of replicated subscriptions."""
    snapshots = broker.topics.snapshots
    yield "pulsar_replicated_subscriptions_pending_snapshots", cluster, snapshots.pending
    yield "pulsar_replicated_subscriptions_timedout_snapshots_total", cluster, snapshots.timed_out
    yield "pulsar_replicated_subscriptions_snapshot_ms_count", cluster, snapshots.taken
    yield "pulsar_replicated_subscriptions_snapshot_ms_sum", cluster, snapshots.taken_ms


def _disk_samples(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """Whether messages are refused for lack of space, and the file system of the data directory if it answers."""
    yield "pulsarctl_storage_full", cluster, int(broker.storage.space.full is not None)
    with contextlib.suppress(OSError):
        usage = shutil.disk_usage(broker.storage.path)
        yield "pulsarctl_storage_free_bytes", cluster, usage.free
        yield "pulsarctl_storage_size_bytes", cluster, usage.total


def _connection_samples(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """Every accepted connection was created; one that exceeded a limit failed."""
    labels = f'{cluster},{_host(broker)},metric="broker_connection"'
    admitted, refused, active = broker.admissions.succeeded, broker.admissions.failed, len(broker.connections)
    yield "pulsar_active_connections", labels, active
    yield "pulsar_connection_created_total_count", labels, admitted + refused
    yield "pulsar_connection_create_success_count", labels, admitted
    yield "pulsar_connection_create_fail_count", labels, refused
    yield "pulsar_connection_closed_total_count", labels, admitted + refused - active
    yield "pulsar_broker_throttled_connections", cluster, sum(connection.is_held for connection in broker.connections)
    yield (
        "pulsar_broker_lookup_pending_requests",
        cluster,
        sum(connection.requests for connection in broker.connections),
    )
    yield "pulsar_health", f'{cluster},{_host(broker)},metric="broker_health"', int(not unwell(broker))


def _host(broker: Broker) -> str:
    return f'broker="{escaped(broker.config.server.advertised_address)}"'


def _authentication_samples(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """Refusals without a check have no method: too many attempts failed before."""
    if broker.security.authentication is None:
        return
    logins = broker.security.throttle
    for method in sorted({*broker.security.authentication.methods, *logins.succeeded, *logins.failed}):
        labels = f'{cluster},auth_method="{method}"'
        yield "pulsar_authentication_success_total", labels, logins.succeeded[method]
        yield "pulsar_authentication_failures_total", labels, logins.failed[method]
    yield "pulsarctl_authentication_refusals_total", cluster, logins.refused


def _process_samples(broker: Broker, cluster: str) -> Iterator[_Sample]:
    """The memory that the system counts, and the open files, are known only if there is /proc."""
    yield "process_start_time_seconds", cluster, broker.started_ms / 1000
    yield "process_cpu_seconds_total", cluster, time.process_time()
    if memory := resident_bytes():
        yield "process_resident_memory_bytes", cluster, memory
    with contextlib.suppress(OSError):
        yield "process_open_fds", cluster, open_files()


def open_files() -> int:
    """Since Linux 6.2, the size of the directory is their number. To list thousands takes milliseconds."""
    return os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))
