"""`/admin/v2/broker-stats`: the topics with their traffic, the load of the broker, and its metrics as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from broker_core.admin.brokers import broker_id
from broker_core.admin.call import Call
from broker_core.admin.non_persistent import add_drop_rates
from broker_core.admin.routes import Route
from broker_core.admin.stats_body import subscription_body, topic_body
from broker_core.errors import Conflict, NotAcceptable
from broker_core.names import NON_PERSISTENT, PERSISTENT
from broker_core.rates.long_text import Json
from broker_core.rates.time_slices import TimeSlices, sliced
from broker_core.security.operations import SUPER_USER
from broker_core.stats.broker_load import BrokerLoad, measured
from broker_core.stats.metrics import blocks_of
from broker_core.stats.topic_metrics import labels_in
from broker_core.stats.topic_stats import topic_stats

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.topic.topic import Topic


async def topics(call: Call) -> dict[str, Any]:
    """The loaded topics by namespace, bundle, and domain: four levels, which Pulsar Manager depends on."""
    namespaces: dict[str, Any] = {}
    async for topic in sliced(list(call.broker.topics.loaded.values())):
        namespace = topic.name.namespace
        bundle = call.broker.tenancy.bundles_of(namespace).bundle_of(str(topic.name))
        domains = namespaces.setdefault(str(namespace), {}).setdefault(bundle, {})
        domain = PERSISTENT if topic.name.is_persistent else NON_PERSISTENT
        domains.setdefault(domain, {})[str(topic.name)] = Json.of(await _topic(call, topic))
    return namespaces


async def _topic(call: Call, topic: Topic) -> dict[str, Any]:
    stats = await topic_stats(topic)
    body = topic_body(stats, owner=broker_id(call.broker), now_ms=call.broker.clock.wall_ms())
    async for name, subscription in sliced(stats.subscriptions.items()):
        body["subscriptions"][name] = subscription_body(subscription)
    short = {"producerCount": len(stats.publishers), "pendingAddEntriesCount": 0, "filteredEntriesCount": 0}
    return add_drop_rates({**body, **short}, topic)


async def metrics(call: Call) -> list[dict[str, Any]]:
    """The metrics of `/metrics`, those with the same labels together."""
    dimensions: dict[str, dict[str, float]] = {}
    slices = TimeSlices()
    async for blocks in blocks_of(call.broker, slices):
        for labels, names, values in blocks:
            dimensions.setdefault(labels, {}).update(zip(names, values, strict=True))
    return [
        {"metrics": values, "dimensions": dict(labels_in(labels))}
        async for labels, values in sliced(dimensions.items(), slices)
    ]


async def mbeans(call: Call) -> list[dict[str, Any]]:
    """The counterpart of the MBeans of a Java process: memory, threads, and times of this process."""
    load = await measured(call.broker)
    runtime = {"StartTime": call.broker.started_ms, "VmName": "Python", "SpecVersion": call.broker.version}
    memory = {"ResidentMemory": load.memory_bytes, "TotalPhysicalMemorySize": load.memory_limit_bytes}
    return [
        {"metrics": runtime, "dimensions": {"MBean": "java.lang:type=Runtime"}},
        {"metrics": {**memory, "ProcessCpuLoad": load.cpu_percent}, "dimensions": {"MBean": _SYSTEM}},
    ]


_SYSTEM = "java.lang:type=OperatingSystem"


def _urls(broker: Broker) -> dict[str, str]:
    urls = {
        "webServiceUrl": broker.http_url,
        "webServiceUrlTls": broker.http_url_tls,
        "pulsarServiceUrl": broker.service_url,
        "pulsarServiceUrlTls": broker.service_url_tls,
    }
    return {name: url for name, url in urls.items() if url}


async def load_report(call: Call) -> dict[str, Any]:
    """LocalBrokerData."""
    broker, load = call.broker, await measured(call.broker)
    return {
        **_urls(broker),
        "persistentTopicsEnabled": True,
        "nonPersistentTopicsEnabled": broker.config.topics.non_persistent,
        **_usages(load),
        "msgThroughputIn": load.bytes_in,
        "msgThroughputOut": load.bytes_out,
        "msgRateIn": load.messages_in,
        "msgRateOut": load.messages_out,
        "lastUpdate": broker.clock.wall_ms(),
        "lastStats": {name: _bundle(bundle) for name, bundle in load.bundles.items()},
        "numTopics": load.topics,
        "numBundles": len(load.bundles),
        "numConsumers": load.consumers,
        "numProducers": load.producers,
        "bundles": list(load.bundles),
        "lastBundleGains": [],
        "lastBundleLosses": [],
        "brokerVersionString": broker.version,
        "protocols": {},
        "advertisedListeners": {},
        "bundleStats": {name: _bundle(bundle) for name, bundle in load.bundles.items()},
        "loadReportType": "LocalBrokerData",
    }


def _usages(load: BrokerLoad) -> Mapping[str, dict[str, float]]:
    """Bandwidth has no limit that the broker could know."""
    mb = 1 << 20
    return {
        "cpu": {"usage": load.cpu_percent, "limit": load.cpu_limit_percent},
        "memory": {"usage": load.memory_bytes / mb, "limit": load.memory_limit_bytes / mb},
        "directMemory": {"usage": 0.0, "limit": 0.0},
        "bandwidthIn": {"usage": load.bytes_in * 8 / 1000, "limit": -1.0},
        "bandwidthOut": {"usage": load.bytes_out * 8 / 1000, "limit": -1.0},
    }


def _bundle(bundle: Any) -> dict[str, Any]:
    return {
        "msgRateIn": bundle.messages_in,
        "msgThroughputIn": bundle.bytes_in,
        "msgRateOut": bundle.messages_out,
        "msgThroughputOut": bundle.bytes_out,
        "consumerCount": bundle.consumers,
        "producerCount": bundle.producers,
        "topics": bundle.topics,
        "cacheSize": 0,
    }


async def allocator_stats(call: Call) -> dict[str, Any]:
    """The broker has no allocator of its own: the arenas are empty."""
    name = call.part("allocator")
    if name not in ("default", "ml-cache"):
        raise NotAcceptable(f"Invalid allocator name : {name}")
    counts = dict.fromkeys(("numDirectArenas", "numHeapArenas", "numThreadLocalCaches"), 0)
    sizes = dict.fromkeys(("normalCacheSize", "smallCacheSize"), 0)
    used = {"usedDirectMemory": 0, "usedHeapMemory": 0}
    return {**counts, **sizes, **used, "directArenas": [], "heapArenas": []}


async def bookie_operations(call: Call) -> dict[str, Any]:
    """No ledger is on a bookie, so no operation is pending."""
    operations: dict[str, Any] = {}
    async for topic in sliced(list(call.broker.topics.loaded.values())):
        operations.setdefault(str(topic.name.namespace), {})[str(topic.name)] = _NO_OPERATIONS
    return operations


_NO_OPERATIONS = {
    f"{kind}Ledger{act}Op": 0 for kind in ("data", "cursor") for act in ("Open", "Close", "Create", "Delete")
}


async def resource_availability(call: Call) -> None:
    call.broker.tenancy.namespace(call.namespace())
    raise Conflict("cannot compare brokers: this is the only one, and it serves every namespace")


_STATS = "/admin/v2/broker-stats"

ROUTES = (
    Route("GET", f"{_STATS}/topics", topics, SUPER_USER),
    Route("GET", f"{_STATS}/destinations", topics, SUPER_USER, summary="Topics, under their former name"),
    Route("GET", f"{_STATS}/metrics", metrics, SUPER_USER),
    Route("GET", f"{_STATS}/mbeans", mbeans, SUPER_USER),
    Route("GET", f"{_STATS}/load-report", load_report, SUPER_USER),
    Route("GET", f"{_STATS}/allocator-stats/{{allocator}}", allocator_stats, SUPER_USER),
    Route("GET", f"{_STATS}/bookieops", bookie_operations, SUPER_USER),
    Route(
        "GET",
        f"{_STATS}/broker-resource-availability/{{tenant}}/{{namespace}}",
        resource_availability,
        SUPER_USER,
    ),
)
