"""`/admin/v2/scalable`: scalable topics, their segments, and their subscriptions (Pulsar 5.0)."""

from __future__ import annotations

from functools import wraps
from typing import Any

from broker_core.admin.brokers import broker_id
from broker_core.admin.call import Call, Handler
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.scalable_body import stats_body
from broker_core.admin.shapes import PROPERTIES
from broker_core.admin.stats_body import topic_body
from broker_core.errors import NotFound, PreconditionFailed
from broker_core.metadata.policies.json_values import int32, whole_number
from broker_core.names import PERSISTENT, SCALABLE, TopicName
from broker_core.scalable.layout import Segment
from broker_core.scalable.records import QUEUE, STREAM, layout_body
from broker_core.security.operations import SUPER_USER, Operation, on_namespace, on_topic
from broker_core.stats.scalable_stats import scalable_stats, segment_stats

Json = dict[str, Any]


def if_enabled(handler: Handler) -> Handler:
    """Without scalable topics, their routes do not exist, as in Pulsar."""

    @wraps(handler)
    async def handle(call: Call) -> Any:
        if not call.broker.config.scalable.enabled:
            raise NotFound("This broker has no scalable topics (scalableTopicsEnabled=false)")
        return await handler(call)

    return handle


def _topic(call: Call) -> TopicName:
    return call.topic_of(SCALABLE)


async def list_topics(call: Call) -> list[str]:
    """Lists the scalable topics of a namespace; with `property=key=value`, only those with all these properties."""
    wanted = [_property(text) for text in call.values("property")]
    records = call.broker.scalable.records
    return [
        str(name)
        for name in records.in_namespace(call.namespace())
        if all(records.find(name).properties.get(key) == value for key, value in wanted)
    ]


def _property(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise PreconditionFailed(f"property must be KEY=VALUE, not {text!r}")
    return key, value


async def create_topic(call: Call) -> None:
    count = call.query.get("numInitialSegments", "1")
    properties = read_properties(call, call.json())
    await call.broker.scalable.changes.create(_topic(call), int32(count, "numInitialSegments"), properties)


async def get_metadata(call: Call) -> Json:
    record = call.broker.scalable.records.find(_topic(call))
    body = layout_body(record.layout)
    segments = record.layout.segments
    body["segments"] = {
        key: {**segment, **_derived(segments[segment["segmentId"]])} for key, segment in body["segments"].items()
    }
    policy = None if record.policy is None else dict(record.policy)
    return {**body, "properties": dict(record.properties), "autoScalePolicy": policy}


def _derived(segment: Segment) -> Json:
    return {
        "active": segment.is_active,
        "sealed": not segment.is_active,
        "root": not segment.parents,
        "leaf": not segment.children,
        "legacy": bool(segment.legacy_topic),
    }


async def delete_topic(call: Call) -> None:
    await call.broker.scalable.changes.delete(_topic(call), force=call.flag("force"))


async def stats(call: Call) -> Json:
    name, scalable = _topic(call), call.broker.scalable
    figures = await scalable_stats(scalable, name)
    kinds = await scalable.subscriptions.kinds(name)
    return stats_body(
        name, scalable.records.find(name), figures, kinds, scalable.groups.of(name), broker_id(call.broker)
    )


async def stats_of_segment(call: Call) -> Json:
    name, scalable = _topic(call), call.broker.scalable
    segment = scalable.records.find(name).layout.find(call.number("segment"))
    figures = await segment_stats(scalable, name, segment)
    return topic_body(figures, owner=broker_id(call.broker), now_ms=call.broker.clock.wall_ms())


async def split(call: Call) -> None:
    await call.broker.scalable.changes.split(_topic(call), call.number("segment"))


async def merge(call: Call) -> None:
    await call.broker.scalable.changes.merge(_topic(call), call.number("first"), call.number("second"))


async def rebucket(call: Call) -> None:
    count = int32(call.query.get("bucketCount"), "bucketCount")
    await call.broker.scalable.changes.rebucket(_topic(call), call.number("segment"), count)


async def migrate(call: Call) -> None:
    await call.broker.scalable.migrate(call.topic_of(PERSISTENT), force=call.flag("force"))


async def create_subscription(call: Call) -> None:
    kind = call.query.get("type", STREAM)
    if kind not in (STREAM, QUEUE):
        raise NotFound(f"type must be {STREAM} or {QUEUE}, not {kind!r}")
    await call.broker.scalable.subscriptions.create(_topic(call), call.subscription(), kind)


async def delete_subscription(call: Call) -> None:
    await call.broker.scalable.subscriptions.delete(_topic(call), call.subscription())


async def seek(call: Call) -> None:
    timestamp = whole_number(call.query.get("timestamp"), "timestamp")
    await call.broker.scalable.subscriptions.seek(_topic(call), call.subscription(), timestamp)


async def skip_all(call: Call) -> None:
    await call.broker.scalable.subscriptions.skip_all(_topic(call), call.subscription())


def _route(
    method: str, path: str, handler: Handler, operation: Operation, query: tuple[str, ...] = (), **more: Any
) -> Route:
    return Route(method, f"{_ROOT}{path}", if_enabled(handler), operation, query, domain=SCALABLE, **more)


_ROOT = "/admin/v2/scalable/{tenant}/{namespace}"
_SUBSCRIPTION = "/{topic}/subscriptions/{subscription}"

ROUTES = (
    _route("GET", "", list_topics, on_namespace("GET_TOPICS"), ("property",)),
    _route("PUT", "/{topic}", create_topic, on_namespace("CREATE_TOPIC"), ("numInitialSegments",), body=PROPERTIES),
    _route("GET", "/{topic}", get_metadata, on_topic("GET_METADATA")),
    _route("DELETE", "/{topic}", delete_topic, on_namespace("DELETE_TOPIC"), ("force",)),
    _route("GET", "/{topic}/stats", stats, on_topic("GET_STATS")),
    _route("GET", "/{topic}/segments/{segment}/stats", stats_of_segment, on_topic("GET_STATS")),
    _route("POST", "/{topic}/split/{segment}", split, SUPER_USER),
    _route("POST", "/{topic}/merge/{first}/{second}", merge, SUPER_USER),
    _route("POST", "/{topic}/rebucket/{segment}", rebucket, SUPER_USER, ("bucketCount",)),
    Route(
        "POST",
        f"{_ROOT}/{{topic}}/migrate",
        if_enabled(migrate),
        on_topic("MIGRATE_TO_SCALABLE"),
        query=("force",),
    ),
    _route("PUT", _SUBSCRIPTION, create_subscription, on_topic("SUBSCRIBE"), ("type",)),
    _route("DELETE", _SUBSCRIPTION, delete_subscription, on_topic("UNSUBSCRIBE")),
    _route("POST", f"{_SUBSCRIPTION}/seek", seek, on_topic("RESET_CURSOR"), ("timestamp",)),
    _route("POST", f"{_SUBSCRIPTION}/skip-all", skip_all, on_topic("SKIP")),
)
