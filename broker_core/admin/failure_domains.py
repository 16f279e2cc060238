"""`/admin/v2/clusters/{cluster}/failureDomains`: groups of brokers that may fail together. Stored and shown."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import STRINGS, obj
from broker_core.errors import Conflict, InvalidValue, NotFound
from broker_core.metadata.policies.json_values import names
from broker_core.metadata.tenancy.tool_records import FAILURE_DOMAINS
from broker_core.security.operations import on_cluster


async def list_domains(call: Call) -> dict[str, Any]:
    if call.part("cluster") not in call.broker.tenancy.clusters():
        raise NotFound("Cluster does not exist")
    return _domains(call)


async def get_domain(call: Call) -> dict[str, Any]:
    cluster, name = _cluster(call), call.part("domainName")
    domain: dict[str, Any] | None = _domains(call).get(name)
    if domain is None:
        raise NotFound(f"Domain {name} for cluster {cluster} does not exist")
    return domain


async def set_domain(call: Call) -> None:
    """A broker belongs to one domain."""
    name, records = call.part("domainName"), call.broker.tenancy.tool_records
    brokers = list(names(call.json_object().get("brokers") or [], "brokers"))
    async with records.changing:
        cluster, domains = _cluster(call), _domains(call)
        for other, domain in domains.items():
            shared = sorted({*domain["brokers"]} & {*brokers})
            if other != name and shared:
                raise Conflict(f"[{', '.join(shared)}] already exists in {other}")
        await records.put(FAILURE_DOMAINS, cluster, {**domains, name: {"brokers": brokers}})


async def delete_domain(call: Call) -> None:
    name, records = call.part("domainName"), call.broker.tenancy.tool_records
    async with records.changing:
        cluster, domains = _cluster(call), _domains(call)
        if name not in domains:
            raise NotFound(f"Domain-name {name} or cluster {cluster} does not exist")
        rest = {key: domain for key, domain in domains.items() if key != name}
        await records.put_or_delete(FAILURE_DOMAINS, cluster, rest)


def _cluster(call: Call) -> str:
    cluster = call.part("cluster")
    if cluster not in call.broker.tenancy.clusters():
        raise InvalidValue(f"Cluster {cluster} does not exist.")
    return cluster


def _domains(call: Call) -> dict[str, Any]:
    return call.broker.tenancy.tool_records.get(FAILURE_DOMAINS, call.part("cluster")) or {}


_DOMAINS = "/admin/v2/clusters/{cluster}/failureDomains"
_DOMAIN = f"{_DOMAINS}/{{domainName}}"

ROUTES = (
    Route("GET", _DOMAINS, list_domains, on_cluster("GET_FAILURE_DOMAIN")),
    Route("GET", _DOMAIN, get_domain, on_cluster("GET_FAILURE_DOMAIN")),
    Route("POST", _DOMAIN, set_domain, on_cluster("UPDATE_FAILURE_DOMAIN"), body=obj(brokers=STRINGS)),
    Route("DELETE", _DOMAIN, delete_domain, on_cluster("DELETE_FAILURE_DOMAIN")),
)
