"""Shows permissions as they were given with a namespace; without authorization none can be granted."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.operations import TENANT_ADMIN, on_namespace
from broker_core.admin.routes import Route
from broker_core.admin.shapes import ACTIONS
from broker_core.admin.targets import check_exists
from broker_core.errors import NotImplementedHere


async def of_namespace(call: Call) -> dict[str, Any]:
    namespace = call.broker.tenancy.namespace(call.namespace())
    found: dict[str, Any] = namespace.to_body()["auth_policies"].get("namespace_auth") or {}
    return found


async def of_topic(call: Call) -> dict[str, Any]:
    check_exists(call.broker, call.topic())
    return await of_namespace(call)


async def refuse(_call: Call) -> None:
    raise NotImplementedHere("Authorization is not enabled")


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}/permissions"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}/permissions"

ROUTES = (
    Route("GET", _NAMESPACE, of_namespace, on_namespace("GET_PERMISSION")),
    Route("POST", f"{_NAMESPACE}/{{role}}", refuse, on_namespace("GRANT_PERMISSION"), body=ACTIONS),
    Route("DELETE", f"{_NAMESPACE}/{{role}}", refuse, on_namespace("REVOKE_PERMISSION")),
    Route("GET", _TOPIC, of_topic, TENANT_ADMIN),
    Route("POST", f"{_TOPIC}/{{role}}", refuse, TENANT_ADMIN, body=ACTIONS),
    Route("DELETE", f"{_TOPIC}/{{role}}", refuse, TENANT_ADMIN),
)
