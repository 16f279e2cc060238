"""`/admin/v2/namespaces`: creates, deletes, lists, and shows namespaces. `policies` has their policies."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Answer, Call
from broker_core.admin.properties import read_properties
from broker_core.admin.replication import with_own_cluster
from broker_core.admin.routes import Route
from broker_core.admin.shapes import ANY_OBJECT, PROPERTIES
from broker_core.errors import InvalidRequest, NotAllowed, TopicNotFound
from broker_core.metadata.tenancy.system_topics import users_topics
from broker_core.names import NON_PERSISTENT, PERSISTENT, NamespaceName, parse_topic
from broker_core.security.operations import TENANT_ADMIN, namespace_policy, on_namespace, on_tenant

if TYPE_CHECKING:
    from broker_core.broker import Broker

MODES = {"PERSISTENT": (PERSISTENT,), "NON_PERSISTENT": (NON_PERSISTENT,), "ALL": (PERSISTENT, NON_PERSISTENT)}


async def list_namespaces(call: Call) -> list[str]:
    return [str(name) for name in call.broker.tenancy.namespaces(call.part("tenant"))]


async def get_namespace(call: Call) -> dict[str, Any]:
    return call.broker.tenancy.namespace(call.namespace()).to_body()


async def create_namespace(call: Call) -> Answer:
    document = call.json_object()
    read_properties(call, document.get("properties"))  # raises an error for too many properties
    await call.broker.tenancy.create_namespace(call.namespace(), document)
    return with_own_cluster(call, Answer(204))


async def delete_namespace(call: Call) -> None:
    name = call.namespace()
    if call.flag("force"):
        if not call.broker.config.policies.force_delete_namespace:
            raise NotAllowed("Broker doesn't allow forced deletion of namespaces")
        await delete_with_topics(call.broker, name)
    else:
        await delete_without_topics(call.broker, name)


async def delete_without_topics(broker: Broker, name: NamespaceName) -> None:
    """Deletes a namespace with its system topics. Raises `Conflict` if it has others."""

    def is_empty() -> bool:
        creating = users_topics(name, broker.topics.creation.being_created(name))
        listed = any(visible_topics(broker, name, domain) for domain in (PERSISTENT, NON_PERSISTENT))
        return not creating and not listed and not broker.scalable.in_namespace(name)

    await broker.tenancy.delete_namespace(name, is_empty, partial(_remove_rest, broker, name))


async def delete_with_topics(broker: Broker, name: NamespaceName) -> None:
    """Deletes a namespace with all its topics, even if clients use them."""
    with broker.topics.being_deleted.closed(name):
        await _delete_scalable(broker, name)
        await _delete_partitioned(broker, name)
        await _delete_topics(broker, name)
        await delete_without_topics(broker, name)


async def _delete_scalable(broker: Broker, name: NamespaceName) -> None:
    while topics := broker.scalable.in_namespace(name):
        for topic in topics:
            with contextlib.suppress(TopicNotFound):  # its creation failed, or another request deleted it
                await broker.scalable.changes.delete(topic, force=True)


async def _delete_partitioned(broker: Broker, name: NamespaceName) -> None:
    while topics := {
        *broker.partitioned.being_changed(name),  # a deletion waits for the change
        *broker.tenancy.partitioned.in_namespace(name, PERSISTENT),
        *broker.tenancy.partitioned.in_namespace(name, NON_PERSISTENT),
    }:
        for topic in sorted(topics, key=str):
            with contextlib.suppress(TopicNotFound):  # its creation failed, or another request deleted it
                await broker.partitioned.delete(topic, force=True)


async def _remove_rest(broker: Broker, name: NamespaceName) -> None:
    await _delete_topics(broker, name)  # system topics
    await broker.schemas.forget_namespace(name)


async def _delete_topics(broker: Broker, name: NamespaceName) -> None:
    while created := [
        *broker.topics.creation.being_created(name),
        *await broker.topics.listed(name, PERSISTENT, system=True),
        *await broker.topics.listed(name, NON_PERSISTENT, system=True),
    ]:
        for topic in created:
            with contextlib.suppress(TopicNotFound):  # its creation failed, or another request deleted it
                await broker.topics.delete(parse_topic(topic), force=True)


def visible_topics(broker: Broker, name: NamespaceName, domain: str = PERSISTENT) -> list[str]:
    """The full names of the users' topics, each partition separately."""
    return users_topics(name, broker.topics.of_namespace(name, domain))


async def topics_of_namespace(call: Call) -> list[str]:
    name = call.namespace()
    call.broker.tenancy.namespace(name)
    mode = call.query.get("mode", "PERSISTENT")
    if mode not in MODES:
        raise InvalidRequest(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    system = call.flag("includeSystemTopic")
    topics: list[str] = []
    for domain in MODES[mode]:
        topics += await call.broker.topics.listed(name, domain, system=system)
    return topics


async def bundles(call: Call) -> dict[str, Any]:
    return call.broker.tenancy.namespace(call.namespace()).bundles.to_document()


async def get_properties(call: Call) -> dict[str, str]:
    return dict(call.broker.tenancy.namespace(call.namespace()).properties)


async def merge_properties(call: Call) -> None:
    added = call.json_object()
    await call.broker.tenancy.change_namespace_properties(
        call.namespace(), lambda before: read_properties(call, added, before)
    )


async def clear_properties(call: Call) -> None:
    await call.broker.tenancy.change_namespace_properties(call.namespace(), lambda _: {})


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"

ROUTES = (
    Route("GET", "/admin/v2/namespaces/{tenant}", list_namespaces, on_tenant("LIST_NAMESPACES")),
    Route("GET", _NAMESPACE, get_namespace, namespace_policy("ALL", "GET")),
    Route("PUT", _NAMESPACE, create_namespace, on_tenant("CREATE_NAMESPACE"), body=ANY_OBJECT),
    Route("DELETE", _NAMESPACE, delete_namespace, on_tenant("DELETE_NAMESPACE"), query=("force",)),
    Route(
        "GET",
        f"{_NAMESPACE}/topics",
        topics_of_namespace,
        on_namespace("GET_TOPICS"),
        query=("mode", "includeSystemTopic"),
    ),
    Route("GET", f"{_NAMESPACE}/bundles", bundles, on_namespace("GET_BUNDLE")),
    Route("GET", f"{_NAMESPACE}/properties", get_properties, TENANT_ADMIN),
    Route("PUT", f"{_NAMESPACE}/properties", merge_properties, TENANT_ADMIN, body=PROPERTIES),
    Route("DELETE", f"{_NAMESPACE}/properties", clear_properties, TENANT_ADMIN),
)
