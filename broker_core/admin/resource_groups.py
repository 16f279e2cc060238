"""`/admin/v2/resourcegroups`: limits that namespaces share. Stored and shown; the broker does not enforce them."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import INT32, INT64, obj
from broker_core.errors import NotFound, PreconditionFailed
from broker_core.metadata.policies import kept
from broker_core.metadata.policies.json_values import int32, whole_number
from broker_core.metadata.tenancy.tool_records import RESOURCE_GROUP
from broker_core.security.operations import SUPER_USER

_LIMITS = {
    "publishRateInMsgs": int32,
    "publishRateInBytes": whole_number,
    "dispatchRateInMsgs": int32,
    "dispatchRateInBytes": whole_number,
}


async def list_groups(call: Call) -> list[str]:
    return call.broker.tenancy.tool_records.keys(RESOURCE_GROUP)


async def get_group(call: Call) -> dict[str, Any]:
    record = call.broker.tenancy.tool_records.get(RESOURCE_GROUP, call.part("resourcegroup"))
    if record is None:
        raise NotFound("ResourceGroup does not exist")
    return record


async def set_group(call: Call) -> None:
    """Creates it, or changes the limits that the body has."""
    name, records, body = call.part("resourcegroup"), call.broker.tenancy.tool_records, call.json_object()
    sent = {key: read(body[key], key) for key, read in _LIMITS.items() if body.get(key) is not None}
    async with records.changing:
        before = records.get(RESOURCE_GROUP, name) or dict.fromkeys(_LIMITS, -1)
        await records.put(RESOURCE_GROUP, name, {**before, **sent})


async def delete_group(call: Call) -> None:
    name, tenancy = call.part("resourcegroup"), call.broker.tenancy
    async with tenancy.tool_records.changing:
        await get_group(call)
        if any(tenancy.namespace(user).kept.get(kept.RESOURCE_GROUP) == name for user in tenancy.all_namespaces()):
            raise PreconditionFailed("ResourceGroup is in use")
        await tenancy.tool_records.delete(RESOURCE_GROUP, name)


_GROUP = "/admin/v2/resourcegroups/{resourcegroup}"
_DATA = obj(publishRateInMsgs=INT32, publishRateInBytes=INT64, dispatchRateInMsgs=INT32, dispatchRateInBytes=INT64)

ROUTES = (
    Route("GET", "/admin/v2/resourcegroups", list_groups, SUPER_USER),
    Route("GET", _GROUP, get_group, SUPER_USER),
    Route("PUT", _GROUP, set_group, SUPER_USER, body=_DATA),
    Route("DELETE", _GROUP, delete_group, SUPER_USER),
)
