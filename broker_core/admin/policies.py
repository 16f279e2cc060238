"""Retention, message TTL and compaction threshold, of a namespace and of a topic.

A policy that is not set answers 204 without a body; for a topic `applied=true` answers what is in force instead.
The two levels differ in method, place of the value and wording, as they do in Pulsar.
"""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Answer, Call, json_answer
from broker_core.admin.routes import Route
from broker_core.admin.targets import check_exists
from broker_core.errors import InvalidRequest, NamespaceNotFound, NotAllowed, PreconditionFailed
from broker_core.names import TopicName
from broker_core.policies import PolicySet, RetentionPolicy, TopicPolicies, whole_number


def _answer(value: Any) -> Answer:
    if value is None:
        return Answer(204)
    return json_answer(value.to_document() if isinstance(value, RetentionPolicy) else value)


def _retention(call: Call) -> RetentionPolicy | None:
    body = call.json()
    if body is not None and not isinstance(body, dict):
        raise InvalidRequest("retention must be a JSON object")
    return None if body is None else RetentionPolicy.from_document(body)


# Namespace


def _of_namespace(call: Call) -> PolicySet:
    return call.broker.tenancy.namespace(call.namespace()).policies


async def _set_namespace(call: Call, **policies: Any) -> None:
    await call.broker.tenancy.set_namespace_policies(call.namespace(), **policies)


async def get_namespace_retention(call: Call) -> Answer:
    return _answer(_of_namespace(call).retention)


async def set_namespace_retention(call: Call) -> None:
    _check_policies_of(call)
    await _set_namespace(call, retention=_retention(call))


async def remove_namespace_retention(call: Call) -> None:
    _check_policies_of(call)
    await _set_namespace(call, retention=None)


def _check_policies_of(call: Call) -> None:
    """Only here Pulsar words a missing namespace differently."""
    if not call.broker.tenancy.has_namespace(call.namespace()):
        raise NamespaceNotFound("Namespace policies does not exist")


async def get_namespace_ttl(call: Call) -> Answer:
    return _answer(_of_namespace(call).ttl_seconds)


async def set_namespace_ttl(call: Call) -> None:
    seconds = call.json()
    if seconds is not None and (seconds := whole_number(seconds, "messageTTL")) < 0:
        raise PreconditionFailed("Invalid value for message TTL, message TTL must >= 0")
    await _set_namespace(call, ttl_seconds=seconds)


async def remove_namespace_ttl(call: Call) -> None:
    await _set_namespace(call, ttl_seconds=None)


async def get_namespace_threshold(call: Call) -> Answer:
    return _answer(_of_namespace(call).compaction_threshold)


async def set_namespace_threshold(call: Call) -> None:
    size = call.json()
    await _set_namespace(call, compaction_threshold=None if size is None else whole_number(size, "compactionThreshold"))


async def remove_namespace_threshold(call: Call) -> None:
    await _set_namespace(call, compaction_threshold=None)


# Topic


def _policy_topic(call: Call) -> TopicName:
    """The topic whose policies are meant; they are those of the whole topic, never of one partition."""
    topic = call.topic()
    if not call.broker.config.policies.topic_policies:
        raise NotAllowed("Topic level policies is disabled, to enable the topic level policy and retry.")
    call.broker.tenancy.check_namespace_of(topic)
    if topic.is_partition:
        raise PreconditionFailed("Not allowed to set/get topic policy for a partition")
    check_exists(call.broker, topic)
    return topic


def _of_topic(call: Call) -> PolicySet | TopicPolicies:
    topic = _policy_topic(call)
    tenancy = call.broker.tenancy
    return tenancy.effective(topic) if call.flag("applied") else tenancy.topic_policies(topic)


async def _set_topic(call: Call, **policies: Any) -> None:
    await call.broker.tenancy.set_topic_policies(_policy_topic(call), **policies)


async def get_topic_retention(call: Call) -> Answer:
    return _answer(_of_topic(call).retention)


async def set_topic_retention(call: Call) -> None:
    await _set_topic(call, retention=_retention(call))


async def remove_topic_retention(call: Call) -> None:
    await _set_topic(call, retention=None)


async def get_topic_ttl(call: Call) -> Answer:
    return _answer(_of_topic(call).ttl_seconds)


async def set_topic_ttl(call: Call) -> None:
    """The value is in the query; without one the policy is removed."""
    text = call.query.get("messageTTL")
    await _set_topic(call, ttl_seconds=None if text is None else whole_number(text, "messageTTL"))


async def remove_topic_ttl(call: Call) -> None:
    await _set_topic(call, ttl_seconds=None)


async def get_topic_threshold(call: Call) -> Answer:
    return _answer(_of_topic(call).compaction_threshold)


async def set_topic_threshold(call: Call) -> None:
    size = call.json()
    if size is not None and (size := whole_number(size, "compactionThreshold")) < 0:
        raise PreconditionFailed("Invalid value for compactionThreshold")
    await _set_topic(call, compaction_threshold=size)


async def remove_topic_threshold(call: Call) -> None:
    await _set_topic(call, compaction_threshold=None)


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route("GET", f"{_NAMESPACE}/retention", get_namespace_retention),
    Route("POST", f"{_NAMESPACE}/retention", set_namespace_retention),
    Route("DELETE", f"{_NAMESPACE}/retention", remove_namespace_retention),
    Route("GET", f"{_NAMESPACE}/messageTTL", get_namespace_ttl),
    Route("POST", f"{_NAMESPACE}/messageTTL", set_namespace_ttl),
    Route("DELETE", f"{_NAMESPACE}/messageTTL", remove_namespace_ttl),
    Route("GET", f"{_NAMESPACE}/compactionThreshold", get_namespace_threshold),
    Route("PUT", f"{_NAMESPACE}/compactionThreshold", set_namespace_threshold),
    Route("DELETE", f"{_NAMESPACE}/compactionThreshold", remove_namespace_threshold),
    Route("GET", f"{_TOPIC}/retention", get_topic_retention),
    Route("POST", f"{_TOPIC}/retention", set_topic_retention),
    Route("DELETE", f"{_TOPIC}/retention", remove_topic_retention),
    Route("GET", f"{_TOPIC}/messageTTL", get_topic_ttl),
    Route("POST", f"{_TOPIC}/messageTTL", set_topic_ttl),
    Route("DELETE", f"{_TOPIC}/messageTTL", remove_topic_ttl),
    Route("GET", f"{_TOPIC}/compactionThreshold", get_topic_threshold),
    Route("POST", f"{_TOPIC}/compactionThreshold", set_topic_threshold),
    Route("DELETE", f"{_TOPIC}/compactionThreshold", remove_topic_threshold),
)
