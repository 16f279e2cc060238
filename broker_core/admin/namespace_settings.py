"""Settings of a namespace that are not policies of its topics. The broker stores and shows them; they have no effect.

A setting that would promise what the broker cannot do is refused with a reason.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from broker_core.admin.call import JSON_TYPE, Answer, Call, json_answer
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.shapes import STRING, STRINGS, TRUTH, obj
from broker_core.errors import (
    Forbidden,
    InvalidRequest,
    InvalidValue,
)
from broker_core.metadata.policies.json_values import mapping, names, string, truth
from broker_core.metadata.policies.kept import (
    AFFINITY,
    ALLOWED_CLUSTERS,
    ANTI_AFFINITY,
    ENTRY_FILTERS,
    MIGRATED,
    RESOURCE_GROUP,
)
from broker_core.metadata.policies.migration import stored_destination
from broker_core.metadata.tenancy import tool_records
from broker_core.metadata.tenancy.documents import CLUSTER
from broker_core.names import NamespaceName
from broker_core.security.operations import SUPER_USER, TENANT_ADMIN, Operation, namespace_policy

_NAME = re.compile(r"[-=:.\w]+")


async def get_kept(field: str, call: Call) -> Answer:
    value = _kept(call, field)
    return Answer(204) if value is None else json_answer(value)


async def remove_kept(field: str, call: Call) -> None:
    await _keep(call, field, None)


def _kept(call: Call, field: str) -> Any:
    return call.broker.tenancy.namespace(call.namespace()).kept.get(field)


async def _keep(call: Call, field: str, value: Any) -> None:
    await call.broker.tenancy.set_kept(call.namespace(), field, value)


def _text(value: str | None) -> Answer:
    """Text without quotes under the type of JSON, as Pulsar answers."""
    return Answer(204) if value is None else Answer(200, value.encode(), JSON_TYPE)


# Anti-affinity group


async def set_anti_affinity(call: Call) -> None:
    group = _quoted_or_not(call)
    if not group.strip():
        raise InvalidValue("antiAffinityGroup can't be empty")
    await _keep(call, ANTI_AFFINITY, call.check_length(group, "group"))


def _quoted_or_not(call: Call) -> str:
    """A text in JSON, or without quotes, as pulsar-admin sends it under the type of JSON."""
    with contextlib.suppress(InvalidRequest):
        return string(call.json() or "", "the group")
    sent = call.body.decode(errors="replace")
    if not _NAME.fullmatch(sent):
        raise InvalidRequest("the group must be a text")
    return sent


async def namespaces_of_group(call: Call) -> list[str]:
    cluster, group, tenancy = call.part("cluster"), call.part("group"), call.broker.tenancy
    if cluster not in tenancy.clusters():
        raise InvalidValue(f"Cluster {cluster} does not exist.")
    tenant = call.query.get("tenant") or call.query.get("property")  # its name in the Go and Java tools
    if not tenant:
        raise InvalidRequest("Tenant should not be null")
    namespaces = (tenancy.namespace(name) for name in tenancy.namespaces(tenant))
    return [str(namespace.name) for namespace in namespaces if namespace.kept.get(ANTI_AFFINITY) == group]


# Resource group


async def get_resource_group(call: Call) -> Answer:
    return _text(_kept(call, RESOURCE_GROUP))


async def set_resource_group(call: Call) -> None:
    group, tenancy = call.part("resourcegroup"), call.broker.tenancy

    def check() -> None:
        if tenancy.tool_records.get(tool_records.RESOURCE_GROUP, group) is None:
            raise InvalidValue("ResourceGroup does not exist")

    await tenancy.change_kept(call.namespace(), RESOURCE_GROUP, lambda _: group, check)


async def remove_resource_group(call: Call) -> None:
    await _keep(call, RESOURCE_GROUP, None)


# Clusters that may be replicated to


async def get_allowed_clusters(call: Call) -> list[str]:
    return _kept(call, ALLOWED_CLUSTERS) or []


async def set_allowed_clusters(call: Call) -> Answer:
    clusters = list(dict.fromkeys(names(call.json() or [], "the list of clusters")))
    tenancy, name = call.broker.tenancy, call.namespace()
    await tenancy.change_kept(name, ALLOWED_CLUSTERS, lambda _: clusters, lambda: _check_allowed(call, name, clusters))
    return Answer(200)


def _check_allowed(call: Call, name: NamespaceName, clusters: list[str]) -> None:
    tenancy = call.broker.tenancy
    for cluster in clusters:
        if cluster not in tenancy.tenant(name.tenant).allowed_clusters:
            refused = f"Cluster [{cluster}] is not in the list of allowed clusters list"
            raise Forbidden(f"{refused} for tenant [{name.tenant}]")
        if cluster not in tenancy.clusters():
            raise Forbidden(f"Invalid cluster id: {cluster}")
    for cluster in tenancy.namespace(name).replication_clusters:
        if cluster not in clusters:
            raise InvalidRequest(
                f"Allowed clusters do not contain the replication cluster {cluster}. Please remove the replication"
                " cluster if the cluster is not allowed for this namespace"
            )


# Bookies of the namespace


async def set_bookie_affinity(call: Call) -> None:
    body = mapping(call.json() or {}, "the affinity group")
    await _keep(call, AFFINITY, {key: string(body[key], key) for key in _GROUPS if body.get(key) is not None})


_GROUPS = ("bookkeeperAffinityGroupPrimary", "bookkeeperAffinityGroupSecondary")


# Entry filters


async def set_entry_filters(call: Call) -> None:
    call.broker.tenancy.namespace(call.namespace())
    refuse_entry_filters(call)


def refuse_entry_filters(call: Call) -> None:
    """Entry filters are Java classes; null asks for none."""
    body = call.json()
    if body is None:
        return
    text = string(mapping(body, "entryFilters").get("entryFilterNames") or "", "entryFilterNames")
    if not text.strip(","):
        raise InvalidRequest("entryFilterNames can't be empty. To remove entry filters use the remove method.")
    first = text.strip(",").partition(",")[0]
    raise InvalidRequest(
        f"Entry filter '{first}' not found: this broker loads no entry filters, filter in the consumer"
    )


# Migration


async def set_migration(call: Call) -> None:
    """Set whether clients go to the cluster whose URL is stored with this one; refused while no URL is stored."""
    body = call.json()
    if body is None:
        raise InvalidRequest("The request entity cannot be empty.")
    name, tenancy = call.namespace(), call.broker.tenancy
    migrated = truth(body, "the request body")
    if migrated and stored_destination(tenancy.tool_records.get(CLUSTER, tenancy.cluster)) is None:
        raise InvalidValue(
            f"cannot migrate namespace {name}: cluster {tenancy.cluster} has no URL to send its clients to;"
            " store it with `clusters update-cluster-migration`"
        )
    await tenancy.set_kept(name, MIGRATED, migrated)
    await call.broker.topics.renewal.policies_changed(name, None)


# Single properties


async def get_property(call: Call) -> Answer:
    return _text(call.broker.tenancy.namespace(call.namespace()).properties.get(call.part("key")))


async def set_property(call: Call) -> None:
    sent = {call.part("key"): call.part("value")}
    await call.broker.tenancy.change_namespace_properties(
        call.namespace(), lambda before: read_properties(call, sent, before)
    )


async def remove_property(call: Call) -> Answer:
    """Answers with the value that the property had."""
    key = call.part("key")
    before = call.broker.tenancy.namespace(call.namespace()).properties.get(key)
    await call.broker.tenancy.change_namespace_properties(
        call.namespace(), lambda others: {name: value for name, value in others.items() if name != key}
    )
    return _text(before)


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_ANTI_AFFINITY = f"{_NAMESPACE}/antiAffinity"
_RESOURCE_GROUP = f"{_NAMESPACE}/resourcegroup"
_ALLOWED = f"{_NAMESPACE}/allowedClusters"
_AFFINITY = f"{_NAMESPACE}/persistence/bookieAffinity"
_FILTERS = f"{_NAMESPACE}/entryFilters"
_PROPERTY = f"{_NAMESPACE}/property/{{key}}"

# The settings that GET shows and DELETE removes as they are stored: path, field, summary, and operation for a method.
_STORED: tuple[tuple[str, str, str, Callable[[str], Operation]], ...] = (
    (_ANTI_AFFINITY, ANTI_AFFINITY, "anti affinity", partial(namespace_policy, "ANTI_AFFINITY")),
    (_AFFINITY, AFFINITY, "bookie affinity", lambda _: SUPER_USER),
    (_FILTERS, ENTRY_FILTERS, "entry filters", partial(namespace_policy, "ENTRY_FILTERS")),
)


def _stored_routes() -> Iterator[Route]:
    for path, field, noun, operation in _STORED:
        query = ("applied",) if field == ENTRY_FILTERS else ()
        yield Route("GET", path, partial(get_kept, field), operation("GET"), query, summary=f"Get {noun}")
        yield Route("DELETE", path, partial(remove_kept, field), operation("DELETE"), summary=f"Remove {noun}")


ROUTES = (
    *_stored_routes(),
    Route("POST", _ANTI_AFFINITY, set_anti_affinity, namespace_policy("ANTI_AFFINITY", "POST"), body=STRING),
    Route(
        "GET",
        "/admin/v2/namespaces/{cluster}/antiAffinity/{group}",
        namespaces_of_group,
        namespace_policy("ANTI_AFFINITY", "GET"),
        query=("tenant", "property"),
    ),
    Route("DELETE", _RESOURCE_GROUP, remove_resource_group, namespace_policy("RESOURCEGROUP", "DELETE")),
    Route("GET", _RESOURCE_GROUP, get_resource_group, namespace_policy("RESOURCEGROUP", "GET")),
    Route(
        "POST",
        f"{_RESOURCE_GROUP}/{{resourcegroup}}",
        set_resource_group,
        namespace_policy("RESOURCEGROUP", "POST"),
    ),
    Route("GET", _ALLOWED, get_allowed_clusters, namespace_policy("ALLOW_CLUSTERS", "GET")),
    Route("POST", _ALLOWED, set_allowed_clusters, namespace_policy("ALLOW_CLUSTERS", "POST"), body=STRINGS),
    Route("POST", _AFFINITY, set_bookie_affinity, SUPER_USER, body=obj(**dict.fromkeys(_GROUPS, STRING))),
    Route(
        "POST",
        _FILTERS,
        set_entry_filters,
        namespace_policy("ENTRY_FILTERS", "POST"),
        body=obj(entryFilterNames=STRING),
    ),
    Route("POST", f"{_NAMESPACE}/migration", set_migration, SUPER_USER, query=("migrated",), body=TRUTH),
    Route("GET", _PROPERTY, get_property, TENANT_ADMIN),
    Route("PUT", f"{_PROPERTY}/{{value}}", set_property, TENANT_ADMIN),
    Route("DELETE", _PROPERTY, remove_property, TENANT_ADMIN),
)
