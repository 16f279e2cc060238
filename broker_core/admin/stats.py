"""`stats`, `partitioned-stats`, `internalStats`, and similar resources of a topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from broker_core.admin.brokers import broker_id
from broker_core.admin.call import Call
from broker_core.admin.internal_stats_body import info_body, internal_body
from broker_core.admin.non_persistent import add_drop_rates, drop_rates
from broker_core.admin.routes import Route
from broker_core.admin.stats_body import publisher_body, subscription_body, topic_body
from broker_core.admin.targets import one_topic, partitions_body
from broker_core.errors import TopicNotFound
from broker_core.names import TopicName, check_partitioned_name
from broker_core.rates.long_text import Json
from broker_core.rates.time_slices import sliced
from broker_core.security.operations import on_topic
from broker_core.stats.merged_stats import merge
from broker_core.stats.topic_stats import TopicStats, earliest_backlog, oldest_of, topic_stats

if TYPE_CHECKING:
    from broker_core.topic.topic import Topic

# Fields of the statistics of one partition. A merged publisher or consumer has several connections.
_OWN_PUBLISHER_FIELDS = ("accessMode", "address", "connectedSince", "clientVersion", "metadata", "producerName")
_OWN_CONSUMER_FIELDS = ("address", "connectedSince", "clientVersion", "metadata")


async def stats(call: Call) -> dict[str, Any]:
    topic = await one_topic(call)
    return add_drop_rates(await _body(call, await _snapshot(call, topic), dropped=drop_rates(topic)), topic)


async def partitioned_stats(call: Call) -> dict[str, Any]:
    """All partitions as one, and with `perPartition` also each of them."""
    name = _partitioned(call)
    parts = {
        str(part): await _snapshot(call, await call.broker.topics.get(part))
        async for part in sliced(await call.broker.partitioned.existing(name))
    }
    total = merge(parts.values())
    body = await _body(call, total, not_of_consumers=_OWN_CONSUMER_FIELDS)
    for field in ("deduplicationStatus", "ownerBroker"):
        del body[field]
    body["publishers"] = [] if call.flag("excludePublishers") else _merged_publishers(total)
    body["oldestBacklogMessageAgeSeconds"] = 0  # as in Pulsar: the sum does not have it
    body["metadata"] = partitions_body(call, name)
    shown = parts if call.flag("perPartition", True) else {}
    body["partitions"] = {part: await _body(call, partition) async for part, partition in sliced(shown.items())}
    return body


def _merged_publishers(total: TopicStats) -> list[dict[str, Any]]:
    bodies = [publisher_body(publisher) for publisher in total.publishers]
    return [{key: value for key, value in body.items() if key not in _OWN_PUBLISHER_FIELDS} for body in bodies]


async def internal_stats(call: Call) -> dict[str, Any]:
    return await internal_body(await one_topic(call))


async def partitioned_internal_stats(call: Call) -> dict[str, Any]:
    name = _partitioned(call)
    parts = {
        str(part): await internal_body(await call.broker.topics.get(part))
        async for part in sliced(await call.broker.partitioned.existing(name))
    }
    return {
        "metadata": partitions_body(call, name),
        "partitions": parts,
    }


async def internal_info(call: Call) -> dict[str, Any]:
    """Answer for the topic, or for each partition of it. Pulsar answers 500 for a missing topic."""
    name, broker = call.topic(), call.broker
    broker.tenancy.check_namespace_of(name)
    if broker.partitioned.count(name):
        parts = await broker.partitioned.existing(name)
        bodies = {str(part): await info_body(await broker.topics.get(part)) async for part in sliced(parts)}
        return {"version": 0, "partitions": bodies}
    if not broker.topics.exists(name):
        raise TopicNotFound(f"Topic {name} not found")
    return await info_body(await broker.topics.get(name))


def _partitioned(call: Call) -> TopicName:
    name = call.topic()
    check_partitioned_name(name)
    call.broker.tenancy.check_namespace_of(name)
    if not call.broker.partitioned.count(name):
        raise TopicNotFound(f"Partitioned Topic {name} not found")
    return name


async def _snapshot(call: Call, topic: Topic) -> TopicStats:
    """Exact: reads first what is needed from disk to compute each backlog."""
    async for subscription in sliced(list(topic.subscriptions.values())):
        await subscription.cursor.measure()
    earliest = await earliest_backlog(topic)
    shown = earliest if call.flag("getEarliestTimeInBacklog") else None
    return await topic_stats(topic, shown, oldest_of(topic, earliest))


async def _body(
    call: Call,
    snapshot: TopicStats,
    *,
    not_of_consumers: Iterable[str] = (),
    dropped: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Any]:
    """Writes each subscription separately: as objects, many of them would burden the garbage collector."""
    body = topic_body(
        snapshot,
        owner=broker_id(call.broker),
        now_ms=call.broker.clock.wall_ms(),
    )
    with_size = call.flag("subscriptionBacklogSize", True)
    async for name, stats in sliced(snapshot.subscriptions.items()):
        subscription = subscription_body(stats, with_size=with_size)
        if name in dropped:
            subscription["msgDropRate"] = dropped[name]
        _trim_consumers(call, subscription, not_of_consumers)
        body["subscriptions"][name] = Json.of(subscription)
    if call.flag("excludePublishers"):
        body["publishers"] = []
    return body


def _trim_consumers(call: Call, subscription: dict[str, Any], fields: Iterable[str]) -> None:
    if call.flag("excludeConsumers"):
        subscription["consumers"] = []
    for consumer in subscription["consumers"]:
        for field in fields:
            del consumer[field]


STATS_QUERY = (
    "getPreciseBacklog",
    "subscriptionBacklogSize",
    "getEarliestTimeInBacklog",
    "excludePublishers",
    "excludeConsumers",
)
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route("GET", f"{_TOPIC}/stats", stats, on_topic("GET_STATS"), query=STATS_QUERY),
    Route(
        "GET",
        f"{_TOPIC}/partitioned-stats",
        partitioned_stats,
        on_topic("GET_STATS"),
        query=("perPartition", *STATS_QUERY),
    ),
    Route("GET", f"{_TOPIC}/internalStats", internal_stats, on_topic("GET_STATS"), query=("metadata",)),
    Route("GET", f"{_TOPIC}/partitioned-internalStats", partitioned_internal_stats, on_topic("GET_STATS")),
    Route("GET", f"{_TOPIC}/internal-info", internal_info, on_topic("GET_STATS")),
)
