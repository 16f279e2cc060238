"""`/admin/v2/tenants`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.namespaces import delete_with_topics
from broker_core.admin.routes import Route
from broker_core.admin.shapes import TENANT
from broker_core.errors import InvalidValue, NotAllowed
from broker_core.metadata.tenancy.documents import Tenant
from broker_core.security.operations import on_tenant


async def list_tenants(call: Call) -> list[str]:
    return call.broker.tenancy.tenants()


async def get_tenant(call: Call) -> dict[str, Any]:
    return call.broker.tenancy.tenant(call.part("tenant")).to_document()


async def create_tenant(call: Call) -> None:
    await call.broker.tenancy.create_tenant(call.part("tenant"), _tenant(call.json_object()))


async def update_tenant(call: Call) -> None:
    """Both lists replace the old ones; tools that change one of them read them first."""
    await call.broker.tenancy.update_tenant(call.part("tenant"), _tenant(call.json_object()))


async def delete_tenant(call: Call) -> None:
    tenancy, name = call.broker.tenancy, call.part("tenant")
    if call.flag("force"):
        if not call.broker.config.policies.force_delete_tenant:
            raise NotAllowed("Broker doesn't allow forced deletion of tenants")
        for namespace in tenancy.namespaces(name):
            await delete_with_topics(call.broker, namespace)
    await tenancy.delete_tenant(name)


def _tenant(info: Mapping[str, Any]) -> Tenant:
    if info.get("allowedClusters") is None:
        raise InvalidValue("Clusters cannot be null")
    return Tenant.from_document(info)


ROUTES = (
    Route("GET", "/admin/v2/tenants", list_tenants, on_tenant("LIST_TENANTS")),
    Route("GET", "/admin/v2/tenants/{tenant}", get_tenant, on_tenant("GET_TENANT")),
    Route("PUT", "/admin/v2/tenants/{tenant}", create_tenant, on_tenant("CREATE_TENANT"), body=TENANT),
    Route("POST", "/admin/v2/tenants/{tenant}", update_tenant, on_tenant("UPDATE_TENANT"), body=TENANT),
    Route("DELETE", "/admin/v2/tenants/{tenant}", delete_tenant, on_tenant("DELETE_TENANT"), query=("force",)),
)
