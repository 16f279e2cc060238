"""Backlog quotas of a namespace and of a topic. Both kinds share one path; `policies` has the other policies."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.policy_places import READ_POLICY, WRITE_POLICY
from broker_core.admin.routes import Route
from broker_core.admin.shapes import shape_of
from broker_core.admin.targets import is_global, policy_topic
from broker_core.errors import InvalidRequest, TopicNotFound
from broker_core.metadata.policies.policy_set import as_json
from broker_core.metadata.policies.values import BacklogQuota
from broker_core.security.operations import namespace_policy, topic_policy

FIELDS = {"destination_storage": "size_quota", "message_age": "age_quota"}


def _field(call: Call) -> str:
    kind = call.query.get("backlogQuotaType", "destination_storage")
    if kind not in FIELDS:
        raise TopicNotFound(f"there is no backlog quota of type {kind!r}")
    return FIELDS[kind]


def _quota(call: Call) -> BacklogQuota | None:
    body = call.json()
    try:
        return None if body is None else BacklogQuota.from_document(body)
    except InvalidRequest as error:
        name = f"Set namespace[{call.namespace()}] backlog quota failed because the data validation failed. "
        raise InvalidRequest(f"{name}{error}") from None


def quota_map(values: Any) -> dict[str, Any]:
    """`values(field)` gives a quota, or None if there is none."""
    quotas = {kind: values(field) for kind, field in FIELDS.items()}
    return {kind: as_json(quota) for kind, quota in quotas.items() if quota is not None}


async def map_of_namespace(call: Call) -> dict[str, Any]:
    return quota_map(call.broker.tenancy.namespace(call.namespace()).policies.get)


async def set_of_namespace(call: Call) -> None:
    await call.broker.tenancy.set_namespace_policies(call.namespace(), **{_field(call): _quota(call)})


async def remove_of_namespace(call: Call) -> None:
    await call.broker.tenancy.set_namespace_policies(call.namespace(), **{_field(call): None})


async def map_of_topic(call: Call) -> dict[str, Any]:
    """Answer with the topic's map, or if it is empty with `applied`, the namespace's or the configuration's."""
    topic, tenancy = policy_topic(call), call.broker.tenancy
    own = quota_map(tenancy.topic_policies.of(topic, is_global=is_global(call)).get)
    if own or not call.flag("applied"):
        return own
    in_force = tenancy.effective.of(topic)
    return quota_map(tenancy.namespace(topic.namespace).policies.get) or quota_map(
        lambda field: getattr(in_force, field)
    )


async def set_of_topic(call: Call) -> None:
    topic, quota = policy_topic(call), {_field(call): _quota(call)}
    await call.broker.tenancy.topic_policies.set(topic, is_global=is_global(call), **quota)


async def remove_of_topic(call: Call) -> None:
    topic, removed = policy_topic(call), {_field(call): None}
    await call.broker.tenancy.topic_policies.set(topic, is_global=is_global(call), **removed)


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route("GET", f"{_NAMESPACE}/backlogQuotaMap", map_of_namespace, namespace_policy("BACKLOG", "GET")),
    Route(
        "POST",
        f"{_NAMESPACE}/backlogQuota",
        set_of_namespace,
        namespace_policy("BACKLOG", "POST"),
        query=("backlogQuotaType",),
        body=shape_of(BacklogQuota),
    ),
    Route(
        "DELETE",
        f"{_NAMESPACE}/backlogQuota",
        remove_of_namespace,
        namespace_policy("BACKLOG", "DELETE"),
        query=("backlogQuotaType",),
    ),
    Route("GET", f"{_TOPIC}/backlogQuotaMap", map_of_topic, topic_policy("BACKLOG", "GET"), query=READ_POLICY),
    Route(
        "POST",
        f"{_TOPIC}/backlogQuota",
        set_of_topic,
        topic_policy("BACKLOG", "POST"),
        query=("backlogQuotaType", *WRITE_POLICY),
        body=shape_of(BacklogQuota),
    ),
    Route(
        "DELETE",
        f"{_TOPIC}/backlogQuota",
        remove_of_topic,
        topic_policy("BACKLOG", "DELETE"),
        query=("backlogQuotaType", *WRITE_POLICY),
    ),
)
