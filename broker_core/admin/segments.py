"""`/admin/v2/segments`: single segments of scalable topics, for superusers and tools (Pulsar 5.0).

The broker itself does not need them: a split or merge creates, seals, and removes the segments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.scalable import if_enabled
from broker_core.admin.shapes import STRINGS
from broker_core.errors import Conflict, SubscriptionNotFound, TopicNotFound
from broker_core.metadata.policies.json_values import names, whole_number
from broker_core.names import SCALABLE
from broker_core.security.operations import SUPER_USER

if TYPE_CHECKING:
    from broker_core.admin.call import Handler
    from broker_core.names import TopicName
    from broker_core.scalable.layout import Segment
    from broker_core.topic.subscription import Subscription
    from broker_core.topic.topic import Topic


def _in_layout(call: Call, name: TopicName) -> Segment | None:
    """The segment of that name that its topic has."""
    record = call.broker.scalable.records.get(name.base)
    segments = () if record is None else record.layout.segments.values()
    return next((one for one in segments if one.topic_of(name.base) == str(name)), None)


async def _segment(call: Call) -> Topic:
    name = call.segment()
    if not call.broker.topics.exists(name):
        raise TopicNotFound(f"Segment {name} not found")
    return await call.broker.topics.get(name)


async def _subscription(call: Call) -> Subscription:
    topic = await _segment(call)
    if call.subscription() not in topic.subscriptions:
        raise SubscriptionNotFound(f"Subscription {call.subscription()} not found for {topic.name}")
    return topic.subscriptions[call.subscription()]


async def create(call: Call) -> None:
    """Creates a segment that its topic has, with subscriptions at its start."""
    name, body = call.segment(), call.json()
    call.broker.scalable.records.find(name.base)
    segment = _in_layout(call, name)
    if segment is None:
        raise TopicNotFound(f"{name.base} has no segment {name}")
    await call.broker.scalable.segments.create(name.base, segment, () if body is None else names(body, "subscriptions"))


async def terminate(call: Call) -> None:
    await (await _segment(call)).terminate()


async def delete(call: Call) -> None:
    """Deletes a segment, which an unknown one is already."""
    name = call.segment()
    if _in_layout(call, name) is not None:
        raise Conflict(f"{name.base} has this segment; a merge seals it, and it goes once it is read")
    if call.broker.topics.exists(name):
        await call.broker.topics.delete(name, force=call.flag("force"))


async def create_subscription(call: Call) -> None:
    await call.broker.scalable.segments.subscribe(await _segment(call), call.subscription())


async def delete_subscription(call: Call) -> None:
    topic = await _segment(call)
    if call.subscription() in topic.subscriptions:
        await topic.subscriptions.delete(call.subscription(), force=True)


async def backlog(call: Call) -> int:
    """In entries."""
    return (await _subscription(call)).cursor.backlog_entries


async def seek(call: Call) -> None:
    timestamp = whole_number(call.query.get("timestamp"), "timestamp")
    await (await _subscription(call)).reset_to_time(timestamp)


async def skip_all(call: Call) -> None:
    await (await _subscription(call)).clear_backlog()


def _route(method: str, path: str, handler: Handler, query: tuple[str, ...] = (), **more: Any) -> Route:
    return Route(method, f"{_SEGMENT}{path}", if_enabled(handler), SUPER_USER, query, domain=SCALABLE, **more)


_SEGMENT = "/admin/v2/segments/{tenant}/{namespace}/{topic}/{descriptor}"
_SUBSCRIPTION = "/subscription/{subscription}"

ROUTES = (
    _route("PUT", "", create, body=STRINGS),
    _route("POST", "/terminate", terminate),
    _route("DELETE", "", delete, ("force",)),
    _route("PUT", _SUBSCRIPTION, create_subscription),
    _route("DELETE", _SUBSCRIPTION, delete_subscription),
    _route("GET", f"{_SUBSCRIPTION}/backlog", backlog),
    _route("POST", f"{_SUBSCRIPTION}/seek", seek, ("timestamp",)),
    _route("POST", f"{_SUBSCRIPTION}/skip-all", skip_all),
)
