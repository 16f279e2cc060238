"""`/admin/v2/clusters/{cluster}/namespaceIsolationPolicies`: which brokers serve which namespaces.

Stored and shown without effect, because one broker serves everything. Patterns are regular expressions that clients
send, so the broker compares them only with its own name, in bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from broker_core.admin.brokers import broker_id
from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import PROPERTIES, STRINGS, obj, one_of
from broker_core.errors import InvalidRequest, InvalidValue, NotFound
from broker_core.metadata.policies.json_values import int32, mapping, name_or_none, names, properties
from broker_core.metadata.tenancy.tool_records import ISOLATION_POLICIES
from broker_core.security.operations import cluster_policy

_SCOPES = ("all_matching", "none", "changed")
_PLAIN = re.compile(r"[\w:.-]*")  # nothing in it is special, except that a dot matches any character


async def list_policies(call: Call) -> dict[str, Any]:
    if call.part("cluster") not in call.broker.tenancy.clusters():
        raise NotFound(f"Cluster {call.part('cluster')} does not exist.")
    return _policies(call)


async def get_policy(call: Call) -> dict[str, Any]:
    cluster, name = _cluster(call), call.part("policyName")
    policy: dict[str, Any] | None = _policies(call).get(name)
    if policy is None:
        raise NotFound(f"Cannot find NamespaceIsolationPolicy {name} for cluster {cluster}")
    return policy


async def set_policy(call: Call) -> None:
    name, records = call.part("policyName"), call.broker.tenancy.tool_records
    policy = _read(call.json_object(), name)
    async with records.changing:
        cluster = _cluster(call)
        await records.put(ISOLATION_POLICIES, cluster, {**_stored(call), name: policy})


async def delete_policy(call: Call) -> None:
    """Delete the policy; as in Pulsar, a missing policy is not an error."""
    name, records = call.part("policyName"), call.broker.tenancy.tool_records
    async with records.changing:
        cluster = _cluster(call)
        rest = {key: policy for key, policy in _stored(call).items() if key != name}
        await records.put_or_delete(ISOLATION_POLICIES, cluster, rest)


async def brokers_with_policies(call: Call) -> list[dict[str, Any]]:
    _cluster(call)
    _policies(call)
    return [_of_broker(call, broker_id(call.broker))]


async def policies_of_broker(call: Call) -> dict[str, Any]:
    _cluster(call)
    _policies(call)
    return _of_broker(call, call.part("broker"))


def _of_broker(call: Call, broker: str) -> dict[str, Any]:
    host = broker.partition(":")[0]
    for name, policy in _policies(call).items():
        is_primary = any(_matches(pattern, host) for pattern in policy["primary"])
        if is_primary or any(_matches(pattern, host) for pattern in policy["secondary"]):
            regexes = policy["namespaces"]
            return {"brokerName": broker, "policyName": name, "namespaceRegex": regexes, "primary": is_primary}
    return {"brokerName": broker, "namespaceRegex": [], "primary": False}


def _matches(pattern: str, host: str) -> bool:
    """Whether the pattern matches the host. A hostile pattern cannot make the search endless.

    Patterns are names, optionally with `.*` at either end; others match nothing here.
    """
    start, end = pattern.startswith(".*"), pattern.endswith(".*")
    middle = pattern.removeprefix(".*").removesuffix(".*").replace("\\.", ".")
    if not _PLAIN.fullmatch(middle):
        return False
    if start and end:
        return middle in host
    if start or end:
        return host.endswith(middle) if start else host.startswith(middle)
    return middle == host


def _cluster(call: Call) -> str:
    cluster = call.part("cluster")
    if cluster not in call.broker.tenancy.clusters():
        raise InvalidValue(f"Cluster {cluster} does not exist.")
    return cluster


def _stored(call: Call) -> dict[str, Any]:
    return call.broker.tenancy.tool_records.get(ISOLATION_POLICIES, call.part("cluster")) or {}


def _policies(call: Call) -> dict[str, Any]:
    policies = _stored(call)
    if not policies:
        raise NotFound(f"NamespaceIsolationPolicies for cluster {call.part('cluster')} does not exist")
    return policies


def _read(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    lists = {key: list(names(body.get(key) or [], key)) for key in ("namespaces", "primary", "secondary")}
    if not lists["namespaces"] or not lists["primary"]:
        raise InvalidRequest(f"Invalid format of input policy data. policy: {name}; namespaces and primary are needed")
    failover = mapping(body.get("auto_failover_policy") or {}, "auto_failover_policy")
    kind = name_or_none("min_available")(failover.get("policy_type") or "", "policy_type")
    parameters = properties(failover.get("parameters") or {}, "parameters")
    if kind is None or "min_limit" not in parameters or "usage_threshold" not in parameters:
        raise InvalidRequest(
            f"Invalid format of input policy data. policy: {name}; auto_failover_policy needs the policy_type"
            " min_available and the parameters min_limit and usage_threshold"
        )
    for key in ("min_limit", "usage_threshold"):
        int32(parameters[key], key)
    scope = name_or_none(*_SCOPES)(body.get("unload_scope") or "", "unload_scope")
    shown = {**lists, "auto_failover_policy": {"parameters": parameters, "policy_type": kind}}
    return shown | ({"unload_scope": scope} if scope else {})


_POLICIES = "/admin/v2/clusters/{cluster}/namespaceIsolationPolicies"
_POLICY = f"{_POLICIES}/{{policyName}}"
_DATA = obj(
    namespaces=STRINGS,
    primary=STRINGS,
    secondary=STRINGS,
    auto_failover_policy=obj(policy_type=one_of("min_available"), parameters=PROPERTIES),
    unload_scope=one_of(*_SCOPES),
)

ROUTES = (
    Route("GET", _POLICIES, list_policies, cluster_policy("GET")),
    Route("GET", f"{_POLICIES}/brokers", brokers_with_policies, cluster_policy("GET")),
    Route("GET", f"{_POLICIES}/brokers/{{broker}}", policies_of_broker, cluster_policy("GET")),
    Route("GET", _POLICY, get_policy, cluster_policy("GET")),
    Route("POST", _POLICY, set_policy, cluster_policy("POST"), body=_DATA),
    Route("DELETE", _POLICY, delete_policy, cluster_policy("DELETE")),
)
