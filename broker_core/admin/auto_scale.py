"""The auto-scale policy of a scalable topic, and that of a namespace for its scalable topics (Pulsar 5.0)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from broker_core.admin.call import Answer, Call, Handler, json_answer
from broker_core.admin.routes import Route
from broker_core.admin.scalable import if_enabled
from broker_core.admin.shapes import obj, shape_of
from broker_core.metadata.policies.auto_scale import AUTO_SCALE, FIELDS, merged, read_override
from broker_core.names import SCALABLE
from broker_core.scalable.records import ScalableTopic
from broker_core.security.operations import Operation, namespace_policy, topic_policy


def _answer(policy: Any) -> Answer:
    return Answer(204) if policy is None else json_answer(dict(policy))


def _read(call: Call) -> dict[str, Any] | None:
    """None removes the policy."""
    body = call.json()
    return None if body is None else read_override(body, "the policy")


async def get_of_namespace(call: Call) -> Answer:
    return _answer(call.broker.tenancy.namespace(call.namespace()).kept.get(AUTO_SCALE))


async def set_of_namespace(call: Call) -> None:
    policy = _read(call)
    merged(call.broker.config.scaling, policy)
    await call.broker.tenancy.set_kept(call.namespace(), AUTO_SCALE, policy)


async def remove_of_namespace(call: Call) -> None:
    await call.broker.tenancy.set_kept(call.namespace(), AUTO_SCALE, None)


async def get_of_topic(call: Call) -> Answer:
    return _answer(call.broker.scalable.records.find(call.topic_of(SCALABLE)).policy)


async def set_of_topic(call: Call) -> None:
    name, policy, scalable = call.topic_of(SCALABLE), _read(call), call.broker.scalable

    def changed(record: ScalableTopic) -> ScalableTopic:
        scalable.scaling.rules(name.namespace, policy)
        return replace(record, policy=policy)

    await scalable.changes.update(name, changed)


async def remove_of_topic(call: Call) -> None:
    await call.broker.scalable.changes.update(call.topic_of(SCALABLE), lambda record: replace(record, policy=None))


_TOPIC = "/admin/v2/scalable/{tenant}/{namespace}/{topic}/autoScalePolicy"
_NAMESPACE = f"/admin/v2/namespaces/{{tenant}}/{{namespace}}/{AUTO_SCALE}"
_POLICY = obj(
    **{name: shape_of(field.type) for name, field in FIELDS.items()},
)


def _route(method: str, handler: Handler, *, of_topic: bool) -> Route:
    permission = partial(topic_policy if of_topic else namespace_policy, "SCALABLE_TOPIC_AUTO_SCALE")
    operation: Operation = permission(method)
    path, owner = (_TOPIC, "a scalable topic") if of_topic else (_NAMESPACE, "a namespace's scalable topics")
    return Route(
        method,
        path,
        if_enabled(handler),
        operation,
        body=_POLICY if method == "POST" else None,
        summary=f"{_VERBS[method]} the auto-scale policy of {owner}",
        domain=SCALABLE if of_topic else "persistent",
    )


_VERBS = {"GET": "Get", "POST": "Set", "DELETE": "Remove"}

ROUTES = (
    _route("GET", get_of_topic, of_topic=True),
    _route("POST", set_of_topic, of_topic=True),
    _route("DELETE", remove_of_topic, of_topic=True),
    _route("GET", get_of_namespace, of_topic=False),
    _route("POST", set_of_namespace, of_topic=False),
    _route("DELETE", remove_of_namespace, of_topic=False),
)
