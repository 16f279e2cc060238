"""Permissions of roles on namespaces, topics, and subscriptions: stored and shown.

`security.authorization` enforces them where authorization is on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import ACTIONS, STRING, STRINGS, array, obj
from broker_core.admin.targets import check_exists
from broker_core.errors import InvalidRequest, InvalidValue
from broker_core.metadata.policies.json_values import mapping, names, shown, string
from broker_core.metadata.policies.kept import AUTH_POLICIES
from broker_core.names import NamespaceName, TopicName, parse_topic
from broker_core.security.operations import TENANT_ADMIN, on_namespace

KNOWN_ACTIONS = ("produce", "consume", "functions", "sources", "sinks", "packages")
MOST_GRANTS = 1000  # grants in one request
Grants = dict[str, Any]  # Pulsar's `auth_policies`


def _grants(call: Call, name: NamespaceName) -> Grants:
    grants: Grants = call.broker.tenancy.namespace(name).to_body()[AUTH_POLICIES]
    return grants


async def _change(call: Call, name: NamespaceName, change: Callable[[Grants], Grants]) -> None:
    await call.broker.tenancy.change_kept(name, AUTH_POLICIES, change, lambda: _grants(call, name))


# Namespace


async def of_namespace(call: Call) -> dict[str, Any]:
    roles: dict[str, Any] = _grants(call, call.namespace())["namespace_auth"]
    return roles


async def grant_on_namespace(call: Call) -> None:
    role, actions = call.part("role"), _actions(call.json())

    def granted(before: Grants) -> Grants:
        return {**before, "namespace_auth": {**before["namespace_auth"], role: actions}}

    await _change(call, call.namespace(), granted)


async def revoke_on_namespace(call: Call) -> None:
    role = call.part("role")

    def revoked(before: Grants) -> Grants:
        return {**before, "namespace_auth": _without(before["namespace_auth"], role)}

    await _change(call, call.namespace(), revoked)


def _actions(body: Any) -> list[str]:
    actions = list(dict.fromkeys(names(body or [], "the list of actions")))
    for action in actions:
        if action not in KNOWN_ACTIONS:
            raise InvalidRequest(f"unknown action {shown(action)}; use {', '.join(KNOWN_ACTIONS)}")
    return actions


def _without(members: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name != key}


# Subscriptions of a namespace


async def of_subscriptions(call: Call) -> dict[str, Any]:
    roles: dict[str, Any] = _grants(call, call.namespace())["subscription_auth_roles"]
    return roles


async def grant_on_subscription(call: Call) -> None:
    """The roles in the body replace those of the subscription."""
    name, roles = call.subscription(), list(names(call.json() or [], "the list of roles"))

    def granted(before: Grants) -> Grants:
        roles_of = before["subscription_auth_roles"]
        return {**before, "subscription_auth_roles": {**roles_of, name: sorted({*roles})}}

    await _change(call, call.namespace(), granted)


async def revoke_on_subscription(call: Call) -> None:
    name, role = call.subscription(), call.part("role")

    def revoked(before: Grants) -> Grants:
        roles_of = before["subscription_auth_roles"]
        remaining = [other for other in roles_of.get(name, []) if other != role]
        others = _without(roles_of, name)
        return {**before, "subscription_auth_roles": {**others, name: remaining} if remaining else others}

    await _change(call, call.namespace(), revoked)


# Topics


async def of_topic(call: Call) -> dict[str, Any]:
    """The permissions on the namespace, and those on the topic."""
    topic = call.topic()
    check_exists(call.broker, topic)
    grants = _grants(call, topic.namespace)
    return _union(grants["namespace_auth"], grants["destination_auth"].get(str(topic.base), {}))


def _union(first: dict[str, list[str]], second: dict[str, list[str]]) -> dict[str, list[str]]:
    roles = dict.fromkeys((*first, *second))
    return {role: list(dict.fromkeys((*first.get(role, []), *second.get(role, [])))) for role in roles}


async def grant_on_topic(call: Call) -> None:
    topic, actions = call.topic(), _actions(call.json())
    check_exists(call.broker, topic)
    await _grant(call, topic, call.part("role"), actions)


async def _grant(call: Call, topic: TopicName, role: str, actions: list[str]) -> None:
    def granted(before: Grants) -> Grants:
        of_topics = before["destination_auth"]
        changed = {**of_topics.get(str(topic.base), {}), role: actions}
        return {**before, "destination_auth": {**of_topics, str(topic.base): changed}}

    await _change(call, topic.namespace, granted)


async def revoke_on_topic(call: Call) -> None:
    topic = call.topic()
    check_exists(call.broker, topic)
    await _revoke(call, topic, call.part("role"))


async def _revoke(call: Call, topic: TopicName, role: str) -> None:
    def revoked(before: Grants) -> Grants:
        of_topics = before["destination_auth"]
        roles = of_topics.get(str(topic.base), {})
        if role not in roles:
            raise InvalidValue("Permissions are not set at the topic level")
        remaining, others = _without(roles, role), _without(of_topics, str(topic.base))
        return {**before, "destination_auth": {**others, str(topic.base): remaining} if remaining else others}

    await _change(call, topic.namespace, revoked)


async def grant_on_topics(call: Call) -> None:
    for topic, role, actions in _listed(call):
        await _grant(call, topic, role, actions)


async def revoke_on_topics(call: Call) -> None:
    for topic, role, _ in _listed(call):
        await _revoke(call, topic, role)


def _listed(call: Call) -> list[tuple[TopicName, str, list[str]]]:
    """Everything is read and checked before anything is changed."""
    body = call.json()
    if not isinstance(body, list) or len(body) > MOST_GRANTS:
        raise InvalidRequest(f"the request body must be a list of up to {MOST_GRANTS} grants")
    grants = []
    for item in body:
        grant = mapping(item, "a grant")
        topic = parse_topic(string(grant.get("topic") or "", "topic"))
        if topic.is_scalable:
            call.broker.scalable.layout_of(topic)
        else:
            check_exists(call.broker, topic)
        grants.append((topic, string(grant.get("role") or "", "role"), _actions(grant.get("actions"))))
    return grants


_ROOT = "/admin/v2/namespaces"
_NAMESPACE = f"{_ROOT}/{{tenant}}/{{namespace}}/permissions"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}/permissions"
_GRANTS = array(obj(topic=STRING, role=STRING, actions=ACTIONS))

ROUTES = (
    Route("GET", _NAMESPACE, of_namespace, on_namespace("GET_PERMISSION")),
    Route("POST", f"{_NAMESPACE}/{{role}}", grant_on_namespace, on_namespace("GRANT_PERMISSION"), body=ACTIONS),
    Route("DELETE", f"{_NAMESPACE}/{{role}}", revoke_on_namespace, on_namespace("REVOKE_PERMISSION")),
    Route("GET", f"{_NAMESPACE}/subscription", of_subscriptions, on_namespace("GET_PERMISSION")),
    Route(
        "POST",
        f"{_NAMESPACE}/subscription/{{subscription}}",
        grant_on_subscription,
        on_namespace("GRANT_PERMISSION"),
        body=STRINGS,
    ),
    Route(
        "DELETE", f"{_NAMESPACE}/{{subscription}}/{{role}}", revoke_on_subscription, on_namespace("REVOKE_PERMISSION")
    ),
    Route("GET", _TOPIC, of_topic, TENANT_ADMIN),
    Route("POST", f"{_TOPIC}/{{role}}", grant_on_topic, TENANT_ADMIN, body=ACTIONS),
    Route("DELETE", f"{_TOPIC}/{{role}}", revoke_on_topic, TENANT_ADMIN),
    Route("POST", f"{_ROOT}/grantPermissionsOnTopics", grant_on_topics, TENANT_ADMIN, body=_GRANTS),
    Route("POST", f"{_ROOT}/revokePermissionsOnTopics", revoke_on_topics, TENANT_ADMIN, body=_GRANTS),
)
