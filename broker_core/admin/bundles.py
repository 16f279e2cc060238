"""Bundles of a namespace: split, deleted, and the hash positions of their topics. One broker owns all of them."""

from __future__ import annotations

import contextlib
from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import INT64, array
from broker_core.errors import Conflict, InvalidValue, PreconditionFailed, TopicNotFound
from broker_core.metadata.policies.json_values import whole_number
from broker_core.metadata.tenancy.bundles import hash_of, limits_of
from broker_core.metadata.tenancy.namespace import Namespace
from broker_core.names import NON_PERSISTENT, PERSISTENT, SEGMENT, parse_topic
from broker_core.rates.time_slices import sliced
from broker_core.security.operations import SUPER_USER, namespace_policy, on_namespace

EVENLY = "range_equally_divide"
BY_TOPICS = "topic_count_equally_divide"
AT_POSITIONS = "specified_positions_divide"
BY_TRAFFIC = "flow_or_qps_equally_divide"
ALGORITHMS = (EVENLY, BY_TOPICS, AT_POSITIONS, BY_TRAFFIC)
LARGEST, HOT = "LARGEST", "HOT"
MOST_POSITIONS = 1000  # positions in one request


async def split(call: Call) -> None:
    """Does nothing if the algorithm finds no position to split at, as in Pulsar."""
    algorithm = call.query.get("splitAlgorithmName") or EVENLY
    if algorithm not in ALGORITHMS:
        raise InvalidValue(
            f"Unsupported namespace bundle split algorithm, supported algorithms are [{', '.join(ALGORITHMS)}]"
        )
    name = call.namespace()
    bundle = await _bundle(call)
    lower, upper = limits_of(bundle)
    positions = await _positions(call, algorithm, bundle)
    inside = sorted({position for position in positions if lower < position < upper})
    unloaded = await _topics_in(call, bundle) if call.flag("unload") else []
    await call.broker.tenancy.split_bundle(name, bundle, inside)
    for topic in unloaded:
        with contextlib.suppress(TopicNotFound):  # deleted in the meantime
            await call.broker.topics.unload(parse_topic(topic))


async def _bundle(call: Call) -> str:
    """The bundle in the path, or the one with most topics, or with most traffic."""
    namespace = call.broker.tenancy.namespace(call.namespace())
    name = call.part("bundle")
    if name not in (LARGEST, HOT):
        return namespace.bundles.find(str(namespace.name), name)
    sizes = dict.fromkeys(namespace.bundles.ranges(), 0.0)
    async for topic in sliced(await _topics(call, namespace)):
        sizes[namespace.bundles.bundle_of(topic)] += 1 if name == LARGEST else _rate(call, topic)
    return max(sizes, key=lambda bundle: sizes[bundle])


async def _topics(call: Call, namespace: Namespace) -> list[str]:
    domains = (PERSISTENT, NON_PERSISTENT, SEGMENT)
    return [topic for domain in domains for topic in await call.broker.topics.listed(namespace.name, domain)]


async def owned_topics(call: Call) -> list[str]:
    """The topics of the bundle in the path. As in Pulsar, no broker owns a bundle before a topic in it is used.

    Raises `PreconditionFailed` if the bundle has no topics.
    """
    namespace = call.broker.tenancy.namespace(call.namespace())
    bundle = namespace.bundles.find(str(namespace.name), call.part("bundle"))
    topics = await _topics_in(call, bundle)
    if not topics:
        raise PreconditionFailed(f"Failed to find ownership for ServiceUnit:{namespace.name}/{bundle}")
    return topics


async def _topics_in(call: Call, bundle: str) -> list[str]:
    namespace = call.broker.tenancy.namespace(call.namespace())
    topics = sliced(await _topics(call, namespace))
    return [topic async for topic in topics if namespace.bundles.bundle_of(topic) == bundle]


def _rate(call: Call, topic: str) -> float:
    """Messages per second into a loaded topic and out of it."""
    loaded = call.broker.topics.loaded.get(topic)
    return 0.0 if loaded is None else sum(rate.per_second()[0] for rate in loaded.rates())


async def _positions(call: Call, algorithm: str, bundle: str) -> list[int]:
    lower, upper = limits_of(bundle)
    if algorithm == EVENLY:
        return [lower + (upper - lower) // 2]
    if algorithm == AT_POSITIONS:
        return _sent_positions(call)
    topics = sorted((hash_of(topic), topic) for topic in await _topics_in(call, bundle))
    if len(topics) < 2:
        return []
    middle = (len(topics) - 1) // 2
    before = middle if algorithm == BY_TOPICS else _half([_rate(call, topic) for _, topic in topics])
    return [_between(topics[before][0], topics[before + 1][0])]


def _sent_positions(call: Call) -> list[int]:
    body = call.json()
    if not isinstance(body, list) or not body:
        raise InvalidValue(f"With {AT_POSITIONS} split algorithm, splitBoundaries must not be empty")
    return [whole_number(position, "a split position") for position in body[:MOST_POSITIONS]]


def _half(rates: list[float]) -> int:
    """The index after which half of the traffic is seen; never the last one."""
    half, seen = sum(rates) / 2, 0.0
    for index, rate in enumerate(rates[:-1]):
        seen += rate
        if seen >= half:
            return index
    return len(rates) - 2


def _between(first: int, second: int) -> int:
    """A position that puts the two hashes into different bundles, if they differ."""
    return first + (second - first + 1) // 2


async def delete(call: Call) -> None:
    """Deletes its topics; the range of the bundle stays in the namespace, as in Pulsar."""
    topics = await owned_topics(call)
    if not call.flag("force"):
        raise Conflict("Cannot delete non empty bundle")
    for topic in topics:
        await call.broker.topics.delete(parse_topic(topic), force=True)


async def topic_hash_positions(call: Call) -> dict[str, Any]:
    """Return the positions of the topics of the query that are in the bundle; without a query, of all its topics."""
    namespace = call.broker.tenancy.namespace(call.namespace())
    bundle = namespace.bundles.find(str(namespace.name), call.part("bundle"))
    named = {_full_name(namespace, topic) for topic in call.values("topics") if topic}
    topics = await owned_topics(call)
    hashes = {topic: hash_of(topic) for topic in topics if not named or topic in named}
    return {"namespace": str(namespace.name), "bundle": bundle, "topicHashPositions": hashes}


def _full_name(namespace: Namespace, topic: str) -> str:
    return topic if "://" in topic else f"{PERSISTENT}://{namespace.name}/{topic}"


_BUNDLE = "/admin/v2/namespaces/{tenant}/{namespace}/{bundle}"

ROUTES = (
    Route("PUT", f"{_BUNDLE}/split", split, SUPER_USER, query=("splitAlgorithmName", "unload"), body=array(INT64)),
    Route("DELETE", _BUNDLE, delete, on_namespace("DELETE_BUNDLE"), query=("force",)),
    Route(
        "GET",
        f"{_BUNDLE}/topicHashPositions",
        topic_hash_positions,
        namespace_policy("PERSISTENCE", "GET"),
        query=("topics",),
    ),
)
