"""Which clusters a namespace or a topic replicates to."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Answer, Call, json_answer, warned
from broker_core.admin.policy_places import READ_POLICY, WRITE_POLICY
from broker_core.admin.routes import Route
from broker_core.admin.shapes import STRINGS
from broker_core.admin.targets import is_global, policy_topic
from broker_core.errors import InvalidRequest, InvalidValue
from broker_core.security.operations import namespace_policy, topic_policy


async def get_of_namespace(call: Call) -> list[str]:
    return list(call.broker.tenancy.namespace(call.namespace()).replication_clusters)


async def set_of_namespace(call: Call) -> Answer:
    clusters = _clusters(call)
    if "global" in clusters:
        raise InvalidValue("Cannot specify global in the list of replication clusters")
    await call.broker.tenancy.set_replication_clusters(call.namespace(), clusters)
    return with_own_cluster(call, Answer(200))


def with_own_cluster(call: Call, answer: Answer) -> Answer:
    """`answer`, with a warning if the list of the namespace in the path lacks this broker's cluster."""
    tenancy = call.broker.tenancy
    if tenancy.cluster in tenancy.namespace(call.namespace()).replication_clusters:
        return answer
    return warned(
        answer,
        f"the list lacks cluster {tenancy.cluster}, which this broker belongs to: the namespace's topics stay in it and"
        " can be used, but nothing is replicated",
    )


async def get_of_topic(call: Call) -> Answer:
    topic, tenancy = policy_topic(call), call.broker.tenancy
    if call.flag("applied"):
        return json_answer(tenancy.effective.of(topic).replication_clusters)
    own = tenancy.topic_policies.of(topic, is_global=is_global(call)).get("replication_clusters")
    return Answer(204) if own is None else json_answer(own)


async def set_of_topic(call: Call) -> None:
    topic, clusters, tenancy = policy_topic(call), _clusters(call), call.broker.tenancy
    if is_global(call):
        tenancy.replication.check_global(clusters, tenancy.namespace(topic.namespace))
    if tenancy.cluster not in clusters:
        raise InvalidValue("Can not remove local cluster from the local topic-level replication clusters policy")
    await tenancy.topic_policies.set(topic, is_global=is_global(call), replication_clusters=clusters)


async def remove_of_topic(call: Call) -> None:
    topic = policy_topic(call)
    await call.broker.tenancy.topic_policies.set(topic, is_global=is_global(call), replication_clusters=None)


def _clusters(call: Call) -> tuple[str, ...]:
    """The names in the body, without duplicates."""
    body: Any = call.json()
    if body is None or body == []:
        raise InvalidValue("ClusterIds should not be null or empty")
    if not isinstance(body, list) or not all(isinstance(name, str) for name in body):
        raise InvalidRequest("the request body must be a list of cluster names")
    return tuple(dict.fromkeys(body))


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}/replication"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}/replication"

ROUTES = (
    Route("GET", _NAMESPACE, get_of_namespace, namespace_policy("REPLICATION", "GET")),
    Route("POST", _NAMESPACE, set_of_namespace, namespace_policy("REPLICATION", "POST"), body=STRINGS),
    Route("GET", _TOPIC, get_of_topic, topic_policy("REPLICATION", "GET"), query=READ_POLICY),
    Route("POST", _TOPIC, set_of_topic, topic_policy("REPLICATION", "POST"), query=WRITE_POLICY, body=STRINGS),
    Route("DELETE", _TOPIC, remove_of_topic, topic_policy("REPLICATION", "DELETE"), query=WRITE_POLICY),
)
