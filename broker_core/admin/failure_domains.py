"""`/admin/v2/clusters/{cluster}/failureDomains`: groups of brokers that may fail together. Stored and shown."""

from __future__ import annotations

from broker_core.admin.call import Call
from broker_core.admin.cluster_records import ClusterRecords, Record
from broker_core.admin.shapes import STRINGS, obj
from broker_core.errors import Conflict
from broker_core.metadata.policies.json_values import names
from broker_core.metadata.tenancy.tool_records import FAILURE_DOMAINS
from broker_core.security.operations import on_cluster


def _read(call: Call, _name: str) -> Record:
    return {"brokers": list(names(call.json_object().get("brokers") or [], "brokers"))}


def _check(name: str, domain: Record, domains: Record) -> None:
    """A broker belongs to one domain."""
    for other, existing in domains.items():
        shared = sorted({*existing["brokers"]} & {*domain["brokers"]})
        if other != name and shared:
            raise Conflict(f"[{', '.join(shared)}] already exists in {other}")


ROUTES = ClusterRecords(
    kind=FAILURE_DOMAINS,
    nouns=("domain", "domains"),
    path="failureDomains",
    variable="domainName",
    shape=obj(brokers=STRINGS),
    reads=on_cluster("GET_FAILURE_DOMAIN"),
    writes=on_cluster("UPDATE_FAILURE_DOMAIN"),
    deletes=on_cluster("DELETE_FAILURE_DOMAIN"),
    read=_read,
    check=_check,
    no_cluster="Cluster does not exist",
    no_record="Domain {name} for cluster {cluster} does not exist",
    nothing_to_delete="Domain-name {name} or cluster {cluster} does not exist",
).routes()
