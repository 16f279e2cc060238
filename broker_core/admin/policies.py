"""The policies of a namespace and of a topic: read, set, and removed at the paths of `policy_places`.

A policy that is not set answers 204 without a body; for a topic, `applied=true` answers with the policy in force. A
null body removes a policy. Backlog quotas, which share one path, are in `quotas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from broker_core.admin import policy_places
from broker_core.admin.call import Answer, Call, json_answer
from broker_core.admin.policy_places import PolicyPlace
from broker_core.admin.routes import Route
from broker_core.admin.targets import policy_topic
from broker_core.errors import InvalidValue, NamespaceNotFound
from broker_core.policies.json_values import whole_number
from broker_core.policies.topic_policies import POLICIES, PolicySet, as_json
from broker_core.policies.values import DispatchRate

# For these, Pulsar has another message for a missing namespace.
_WORDED_APART = {"retention", "replicatorDispatchRate"}


def _answer(value: Any, unset: Any = None) -> Answer:
    shown = unset if value is None else as_json(value)
    return Answer(204) if shown is None else json_answer(shown)


def _read(call: Call, place: PolicyPlace) -> Any:
    """The policy in the body, checked; None removes it."""
    body = call.json()
    if body is None:
        return None
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
    await call.broker.tenancy.set_namespace_policies(call.namespace(), **{place.field: None})


def _check_policies_of(call: Call) -> None:
    if not call.broker.tenancy.has_namespace(call.namespace()):
        raise NamespaceNotFound("Namespace policies does not exist")


# Topic


async def get_of_topic(place: PolicyPlace, call: Call) -> Answer:
    topic, tenancy = policy_topic(call), call.broker.tenancy
    if call.flag("applied"):
        return _answer(getattr(tenancy.effective.of(topic), place.field))
    return _answer(tenancy.topic_policies(topic).get(place.field), place.unset)


async def set_of_topic(place: PolicyPlace, call: Call) -> None:
    topic = policy_topic(call)
    await call.broker.tenancy.set_topic_policies(topic, **{place.field: _read(call, place)})


async def remove_of_topic(place: PolicyPlace, call: Call) -> None:
    await call.broker.tenancy.set_topic_policies(policy_topic(call), **{place.field: None})


TTL_OF_TOPIC = PolicyPlace("messageTTL", "ttl_seconds")


async def set_topic_ttl(call: Call) -> None:
    """The value is in the query; without one, the policy is removed."""
    text = call.query.get("messageTTL")
    seconds = None if text is None else POLICIES["ttl_seconds"].read(whole_number(text, "messageTTL"), "messageTTL")
    await call.broker.tenancy.set_topic_policies(policy_topic(call), ttl_seconds=seconds)


# The dispatch rate of one subscription of a topic


async def get_rate_of_subscription(call: Call) -> Answer:
    topic, name = policy_topic(call), call.subscription()
    rates = call.broker.tenancy.topic_policies(topic).get("dispatch_rates") or {}
    if name not in rates and call.flag("applied"):
        return _answer(call.broker.tenancy.effective.of(topic).subscription_dispatch_rate)
    return _answer(rates.get(name))


async def set_rate_of_subscription(call: Call) -> None:
    body = call.json()
    await _change_rate(call, None if body is None else DispatchRate.from_document(body, "dispatchRate"))


async def remove_rate_of_subscription(call: Call) -> None:
    await _change_rate(call, None)


async def _change_rate(call: Call, rate: DispatchRate | None) -> None:
    await call.broker.tenancy.set_dispatch_rate(policy_topic(call), call.subscription(), rate)


def _routes() -> Iterator[Route]:
    for place in policy_places.NAMESPACE:
        path = f"/admin/v2/namespaces/{{tenant}}/{{namespace}}/{place.name}"
        yield Route("GET", path, partial(get_of_namespace, place))
        yield Route(place.write, path, partial(set_of_namespace, place))
        if place.removable:
            yield Route("DELETE", path, partial(remove_of_namespace, place))
    for place in policy_places.TOPIC:
        path = f"{_TOPIC}/{place.name}"
        yield Route("GET", path, partial(get_of_topic, place))
        yield Route(place.write, path, partial(set_of_topic, place))
        yield Route("DELETE", path, partial(remove_of_topic, place))


_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    *_routes(),
    Route("GET", f"{_TOPIC}/messageTTL", partial(get_of_topic, TTL_OF_TOPIC)),
    Route("POST", f"{_TOPIC}/messageTTL", set_topic_ttl),
    Route("DELETE", f"{_TOPIC}/messageTTL", partial(remove_of_topic, TTL_OF_TOPIC)),
    Route("GET", f"{_TOPIC}/{{subscription}}/dispatchRate", get_rate_of_subscription),
    Route("POST", f"{_TOPIC}/{{subscription}}/dispatchRate", set_rate_of_subscription),
    Route("DELETE", f"{_TOPIC}/{{subscription}}/dispatchRate", remove_rate_of_subscription),
)
