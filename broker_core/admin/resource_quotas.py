"""`/admin/v2/resource-quotas`: the expected load of bundles. Stored and shown; one broker has nothing to balance."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import NUMBER, TRUTH, obj
from broker_core.errors import NotFound
from broker_core.metadata.policies.json_values import number, truth
from broker_core.metadata.tenancy.tool_records import RESOURCE_QUOTA
from broker_core.security.operations import SUPER_USER

_DEFAULT = {
    "msgRateIn": 40.0,
    "msgRateOut": 120.0,
    "bandwidthIn": 100000.0,
    "bandwidthOut": 300000.0,
    "memory": 80.0,
    "dynamic": True,
}
_OF_ALL = "default"


async def get_default(call: Call) -> dict[str, Any]:
    return call.broker.tenancy.tool_records.get(RESOURCE_QUOTA, _OF_ALL) or _DEFAULT


async def set_default(call: Call) -> None:
    await call.broker.tenancy.tool_records.put(RESOURCE_QUOTA, _OF_ALL, _quota(call))


async def get_of_bundle(call: Call) -> dict[str, Any]:
    return call.broker.tenancy.tool_records.get(RESOURCE_QUOTA, _bundle(call)) or await get_default(call)


async def set_of_bundle(call: Call) -> None:
    await call.broker.tenancy.tool_records.put(RESOURCE_QUOTA, _bundle(call), _quota(call))


async def reset_of_bundle(call: Call) -> None:
    """Reset the quota of a bundle to the default."""
    bundle, records = _bundle(call), call.broker.tenancy.tool_records
    async with records.changing:
        if records.get(RESOURCE_QUOTA, bundle) is None:
            raise NotFound(f"bundle {bundle} has no resource quota of its own")
        await records.delete(RESOURCE_QUOTA, bundle)


def _bundle(call: Call) -> str:
    namespace = call.broker.tenancy.namespace(call.namespace())
    return f"{namespace.name}/{namespace.bundles.find(str(namespace.name), call.part('bundle'))}"


def _quota(call: Call) -> dict[str, Any]:
    """Absent members are 0, as in Pulsar."""
    body = call.json_object()
    rates = {key: number(body.get(key) or 0, key) for key in _DEFAULT if key != "dynamic"}
    return {**rates, "dynamic": truth(body.get("dynamic", False) or False, "dynamic")}


_ALL = "/admin/v2/resource-quotas"
_BUNDLE = f"{_ALL}/{{tenant}}/{{namespace}}/{{bundle}}"
_DATA = obj(msgRateIn=NUMBER, msgRateOut=NUMBER, bandwidthIn=NUMBER, bandwidthOut=NUMBER, memory=NUMBER, dynamic=TRUTH)

ROUTES = (
    Route("GET", _ALL, get_default, SUPER_USER),
    Route("POST", _ALL, set_default, SUPER_USER, body=_DATA),
    Route("GET", _BUNDLE, get_of_bundle, SUPER_USER),
    Route("POST", _BUNDLE, set_of_bundle, SUPER_USER, body=_DATA),
    Route("DELETE", _BUNDLE, reset_of_bundle, SUPER_USER),
)
