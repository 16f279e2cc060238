"""`/admin/v2/clusters/{cluster}/namespaceIsolationPolicies`: which brokers serve which namespaces.

Stored and shown without effect, because one broker serves everything. Patterns are regular expressions that clients
send, so the broker compares them only with its own name, in bounded length.
"""

from __future__ import annotations

import re
from typing import Any

from broker_core.admin.brokers import broker_id
from broker_core.admin.call import Call
from broker_core.admin.cluster_records import ClusterRecords, Record, cluster_with_records
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.shapes import PROPERTIES, STRINGS, obj, one_of
from broker_core.errors import InvalidRequest
from broker_core.metadata.policies.json_values import int32, mapping, name_or_none, names
from broker_core.metadata.tenancy.tool_records import ISOLATION_POLICIES
from broker_core.security.operations import cluster_policy

_SCOPES = ("all_matching", "none", "changed")
_PLAIN = re.compile(r"[\w:.-]*")  # nothing in it is special, except that a dot matches any character


async def brokers_with_policies(call: Call) -> list[dict[str, Any]]:
    cluster_with_records(call)
    return [_policy_of(call, broker_id(call.broker))]


async def policies_of_broker(call: Call) -> dict[str, Any]:
    cluster_with_records(call)
    return _policy_of(call, call.part("broker"))


def _policy_of(call: Call, broker: str) -> dict[str, Any]:
    host = broker.partition(":")[0]
    for name, policy in _RECORDS.existing(call).items():
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


def _read(call: Call, name: str) -> Record:
    body = call.json_object()
    lists = {key: list(names(body.get(key) or [], key)) for key in ("namespaces", "primary", "secondary")}
    if not lists["namespaces"] or not lists["primary"]:
        raise InvalidRequest(f"Invalid format of input policy data. policy: {name}; namespaces and primary are needed")
    failover = mapping(body.get("auto_failover_policy") or {}, "auto_failover_policy")
    kind = name_or_none("min_available")(failover.get("policy_type") or "", "policy_type")
    parameters = read_properties(call, failover.get("parameters"))
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


_RECORDS = ClusterRecords(
    kind=ISOLATION_POLICIES,
    nouns=("policy", "policies"),
    path="namespaceIsolationPolicies",
    variable="policyName",
    shape=obj(
        namespaces=STRINGS,
        primary=STRINGS,
        secondary=STRINGS,
        auto_failover_policy=obj(policy_type=one_of("min_available"), parameters=PROPERTIES),
        unload_scope=one_of(*_SCOPES),
    ),
    reads=cluster_policy("GET"),
    writes=cluster_policy("POST"),
    deletes=cluster_policy("DELETE"),
    read=_read,
    no_cluster="Cluster {cluster} does not exist.",
    no_record="Cannot find NamespaceIsolationPolicy {name} for cluster {cluster}",
    none="NamespaceIsolationPolicies for cluster {cluster} does not exist",
)
_BROKERS = "/admin/v2/clusters/{cluster}/namespaceIsolationPolicies/brokers"

ROUTES = (
    Route("GET", _BROKERS, brokers_with_policies, cluster_policy("GET")),
    Route("GET", f"{_BROKERS}/{{broker}}", policies_of_broker, cluster_policy("GET")),
    *_RECORDS.routes(),
)
