"""Clears backlogs, unsubscribes, and unloads in a whole namespace, or in one of its bundles."""

from __future__ import annotations

import contextlib

from broker_core.admin.bundles import owned_topics
from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.errors import PreconditionFailed, TopicNotFound
from broker_core.names import NON_PERSISTENT, PERSISTENT, SEGMENT, TopicName, parse_topic
from broker_core.rates.time_slices import sliced
from broker_core.security.operations import SUPER_USER, on_namespace


async def _with_backlogs(call: Call) -> list[TopicName]:
    """The persistent topics of the namespace, or of the bundle if the path names one, which then must have topics."""
    if "bundle" not in call.parts:
        return await _topics(call, PERSISTENT, SEGMENT)
    return [name for name in map(parse_topic, await owned_topics(call)) if name.is_persistent]


async def _topics(call: Call, *domains: str) -> list[TopicName]:
    """The topics of the namespace, or of the bundle if the path names one."""
    namespace = call.broker.tenancy.namespace(call.namespace())
    topics: list[str] = []
    for domain in domains:
        topics += await call.broker.topics.listed(namespace.name, domain)
    if "bundle" in call.parts:
        bundle = namespace.bundles.find(str(namespace.name), call.part("bundle"))
        topics = [topic async for topic in sliced(topics) if namespace.bundles.bundle_of(topic) == bundle]
    return [parse_topic(topic) async for topic in sliced(topics)]


async def clear_backlog(call: Call) -> None:
    """Clears the backlog of every subscription, or of the one in the path where it exists."""
    only = call.subscription() if "subscription" in call.parts else None
    async for name in sliced(await _with_backlogs(call)):
        topic = await call.broker.topics.get(name)
        topic.migration.check_acknowledgeable()
        async for backlog in sliced(list(topic.backlogs.values())):
            if only is None or backlog.name == only:
                await backlog.clear_backlog()


async def unsubscribe(call: Call) -> None:
    """Unsubscribes from every topic; does nothing if one of the subscriptions has consumers."""
    subscription = call.subscription()
    topics = [await call.broker.topics.get(name) async for name in sliced(await _with_backlogs(call))]
    having = [topic for topic in topics if subscription in topic.subscriptions]
    if any(topic.subscriptions[subscription].consumers for topic in having):
        raise PreconditionFailed("Subscription has active connected consumers")
    for topic in having:
        await topic.subscriptions.delete(subscription)


async def unload(call: Call) -> None:
    """Closes the topics; clients look them up and reconnect, which loads them again."""
    for name in await _topics(call, PERSISTENT, NON_PERSISTENT, SEGMENT):
        with contextlib.suppress(TopicNotFound):  # deleted in the meantime
            await call.broker.topics.unload(name)


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_BUNDLE = f"{_NAMESPACE}/{{bundle}}"

ROUTES = (
    Route("PUT", f"{_NAMESPACE}/unload", unload, SUPER_USER),
    Route("PUT", f"{_BUNDLE}/unload", unload, SUPER_USER),
    Route("POST", f"{_NAMESPACE}/clearBacklog", clear_backlog, on_namespace("CLEAR_BACKLOG")),
    Route("POST", f"{_NAMESPACE}/clearBacklog/{{subscription}}", clear_backlog, on_namespace("CLEAR_BACKLOG")),
    Route("POST", f"{_BUNDLE}/clearBacklog", clear_backlog, on_namespace("CLEAR_BACKLOG")),
    Route("POST", f"{_BUNDLE}/clearBacklog/{{subscription}}", clear_backlog, on_namespace("CLEAR_BACKLOG")),
    Route("POST", f"{_NAMESPACE}/unsubscribe/{{subscription}}", unsubscribe, on_namespace("UNSUBSCRIBE")),
    Route("POST", f"{_BUNDLE}/unsubscribe/{{subscription}}", unsubscribe, on_namespace("UNSUBSCRIBE")),
)
