"""The policies of a namespace and of a topic: read, set, and removed at the paths of `policy_places`.

A policy that is not set answers 204 without a body; for a topic, `applied=true` answers with the policy in force. A
null body removes a policy. With `isGlobal=true`, a topic's policy is that for all clusters. Backlog quotas, which share
one path, are in `quotas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from broker_core.admin import policy_places, quotas
from broker_core.admin.call import Answer, Call, json_answer
from broker_core.admin.policy_places import READ_POLICY, WRITE_POLICY, PolicyPlace
from broker_core.admin.routes import Route
from broker_core.admin.shapes import of_policy, shape_of
from broker_core.admin.targets import is_global, policy_topic
from broker_core.errors import InvalidValue, NotFound
from broker_core.metadata.policies.json_values import whole_number
from broker_core.metadata.policies.policy_set import PolicySet, as_json
from broker_core.metadata.policies.topic_policies import POLICIES
from broker_core.metadata.policies.values import DispatchRate
from broker_core.security.operations import SUPER_USER, TENANT_ADMIN, Operation, namespace_policy, topic_policy

# For these, Pulsar has another message for a missing namespace.
_WORDED_APART = {"retention", "replicatorDispatchRate"}


def _answer(value: Any, unset: Any = None) -> Answer:
    shown = unset if value is None else as_json(value)
    return Answer(204) if shown is None else json_answer(shown)


def _read(call: Call, place: PolicyPlace) -> Any:
    """The policy in the body, checked; None removes it."""
    body = call.json()
    return (place.is_switch or None) if body is None else _checked(call, place, body)


def _checked(call: Call, place: PolicyPlace, body: Any) -> Any:
    try:
        value = POLICIES[place.field].read(body, place.name)
        if place.field == "max_message_size" and value > call.broker.config.connection.max_message_size:
            raise InvalidValue(place.refused)
    except InvalidValue:
        if place.refused:
            raise InvalidValue(place.refused) from None
        raise
    return value


# Namespace


def of_namespace(call: Call) -> PolicySet:
    return call.broker.tenancy.namespace(call.namespace()).policies


async def get_of_namespace(place: PolicyPlace, call: Call) -> Answer:
    if place.name == "replicatorDispatchRate":
        _check_policies_of(call)
    value = of_namespace(call).get(place.field)
    if value is None and (call.flag("applied") or place.falls_back):
        value = getattr(call.broker.tenancy.effective.in_namespace(call.namespace()), place.field)
    return _answer(value, place.unset)


async def set_of_namespace(place: PolicyPlace, call: Call) -> None:
    if place.name in _WORDED_APART:
        _check_policies_of(call)
    await call.broker.tenancy.set_namespace_policies(call.namespace(), **{place.field: _read(call, place)})


async def remove_of_namespace(place: PolicyPlace, call: Call) -> None:
    if place.name in _WORDED_APART:
        _check_policies_of(call)
    off = False if place.is_switch else None  # Pulsar keeps a switch that is turned off in the document
    await call.broker.tenancy.set_namespace_policies(call.namespace(), **{place.field: off})


def _check_policies_of(call: Call) -> None:
    if not call.broker.tenancy.has_namespace(call.namespace()):
        raise NotFound("Namespace policies does not exist")


# Topic


async def get_of_topic(place: PolicyPlace, call: Call) -> Answer:
    topic, tenancy = policy_topic(call), call.broker.tenancy
    value = tenancy.topic_policies.of(topic, is_global=is_global(call)).get(place.field)
    if call.flag("applied") and (value is None or not is_global(call)):
        return _answer(getattr(tenancy.effective.of(topic), place.field))
    return _answer(value, place.unset)


async def set_of_topic(place: PolicyPlace, call: Call) -> None:
    topic = policy_topic(call)
    value = _read(call, place)
    await call.broker.tenancy.topic_policies.set(topic, is_global=is_global(call), **{place.field: value})


async def remove_of_topic(place: PolicyPlace, call: Call) -> None:
    topic = policy_topic(call)
    await call.broker.tenancy.topic_policies.set(topic, is_global=is_global(call), **{place.field: None})


async def get_all_of_topic(call: Call) -> dict[str, Any]:
    """Every policy that is set on the topic, by the name of its path. Pulsar has no such request, only one for each."""
    own = call.broker.tenancy.topic_policies.of(policy_topic(call), is_global=is_global(call))
    policies = {_NAME_OF[field]: as_json(value) for field, value in own if field in _NAME_OF}
    quota_map = quotas.quota_map(own.get)
    return policies | ({"backlogQuotaMap": quota_map} if quota_map else {})


async def remove_all_of_topic(call: Call) -> None:
    """Removes every policy of the topic, local and global; a missing topic has none, as in Pulsar."""
    topic = call.topic()
    call.broker.tenancy.check_namespace_of(topic)
    await call.broker.tenancy.topic_policies.remove(topic.base)


_NAME_OF = {place.field: place.name for place in (*policy_places.TOPIC, *policy_places.TOPIC_IN_QUERY)} | {
    "replication_clusters": "replication",
    "dispatch_rates": "subscriptionDispatchRates",
}


async def set_from_query(place: PolicyPlace, call: Call) -> None:
    """Without a value in the query, the policy is removed."""
    topic, text = policy_topic(call), call.query.get(place.name)
    value = None if text is None else _checked(call, place, whole_number(text, place.name))
    await call.broker.tenancy.topic_policies.set(topic, is_global=is_global(call), **{place.field: value})


# The dispatch rate of one subscription of a topic


async def get_rate_of_subscription(call: Call) -> Answer:
    topic, name = policy_topic(call), call.subscription()
    rates = call.broker.tenancy.topic_policies.of(topic, is_global=is_global(call)).get("dispatch_rates") or {}
    if name not in rates and call.flag("applied"):
        return _answer(call.broker.tenancy.effective.of(topic).subscription_dispatch_rate)
    return _answer(rates.get(name))


async def set_rate_of_subscription(call: Call) -> None:
    body = call.json()
    await _change_rate(call, None if body is None else DispatchRate.from_document(body, "dispatchRate"))


async def remove_rate_of_subscription(call: Call) -> None:
    await _change_rate(call, None)


async def _change_rate(call: Call, rate: DispatchRate | None) -> None:
    topic, name = policy_topic(call), call.subscription()
    await call.broker.tenancy.topic_policies.set_dispatch_rate(topic, name, rate, is_global=is_global(call))


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"


def _of_namespace(place: PolicyPlace) -> Iterator[Route]:
    path, body = f"{_NAMESPACE}/{place.name}", of_policy(place.field)
    may = partial(_may_in_namespace, place)
    get, put, delete = (partial(act, place) for act in (get_of_namespace, set_of_namespace, remove_of_namespace))
    policy = f"{place.name} of a namespace"
    yield Route("GET", path, get, may("GET"), ("applied",), summary=f"Get {policy}")
    yield Route(place.write, path, put, may(place.write), body=body, summary=f"Set {policy}")
    if place.removable:
        yield Route("DELETE", path, delete, may("DELETE"), summary=f"Remove {policy}")


def _may_in_namespace(place: PolicyPlace, method: str) -> Operation:
    return SUPER_USER if place.super_users_write and method != "GET" else namespace_policy(place.kind, method)


def _of_topic(place: PolicyPlace) -> Iterator[Route]:
    path, body = f"{_TOPIC}/{place.name}", of_policy(place.field)
    get, put, delete = (partial(act, place) for act in (get_of_topic, set_of_topic, remove_of_topic))
    policy = f"{place.name} of a topic"
    yield Route("GET", path, get, _may(place, "GET"), READ_POLICY, summary=f"Get {policy}")
    may_write = _may(place, place.write)
    if place in policy_places.TOPIC_IN_QUERY:
        query = (place.name, *WRITE_POLICY)
        yield Route(place.write, path, partial(set_from_query, place), may_write, query, summary=f"Set {policy}")
    else:
        yield Route(place.write, path, put, may_write, WRITE_POLICY, body, f"Set {policy}")
    yield Route("DELETE", path, delete, _may(place, "DELETE"), WRITE_POLICY, summary=f"Remove {policy}")


def _may(place: PolicyPlace, method: str) -> Operation:
    """For `maxMessageSize`, Pulsar asks for an administrator of the tenant."""
    return topic_policy(place.kind, method) if place.kind else TENANT_ADMIN


_RATE = f"{_TOPIC}/{{subscription}}/dispatchRate"
_SET_RATE = topic_policy("RATE", "POST")

ROUTES = (
    *(route for place in policy_places.NAMESPACE for route in _of_namespace(place)),
    *(route for place in (*policy_places.TOPIC, *policy_places.TOPIC_IN_QUERY) for route in _of_topic(place)),
    Route("GET", _RATE, get_rate_of_subscription, topic_policy("RATE", "GET"), READ_POLICY),
    Route("POST", _RATE, set_rate_of_subscription, _SET_RATE, WRITE_POLICY, shape_of(DispatchRate)),
    Route("DELETE", _RATE, remove_rate_of_subscription, _SET_RATE, WRITE_POLICY),
    Route(
        "GET",
        f"{_TOPIC}/policies",
        get_all_of_topic,
        topic_policy("MAX_PRODUCERS", "GET"),
        ("isGlobal",),
        summary="Get all policies of a topic. Apache Pulsar has no such request",
    ),
    Route("DELETE", f"{_TOPIC}/policies", remove_all_of_topic, topic_policy("MAX_PRODUCERS", "DELETE")),
)
