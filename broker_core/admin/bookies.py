"""`/admin/v2/bookies`: there are none, because the broker stores the data itself. Racks are stored and shown."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.shapes import STRING, obj
from broker_core.errors import InvalidValue, NotFound
from broker_core.metadata.policies.json_values import string
from broker_core.metadata.tenancy.tool_records import BOOKIE_RACKS
from broker_core.security.operations import SUPER_USER


async def list_bookies(_call: Call) -> dict[str, list[Any]]:
    return {"bookies": []}


async def all_racks(call: Call) -> dict[str, Any]:
    """Bookies by group."""
    records = call.broker.tenancy.tool_records
    return {group: records.get(BOOKIE_RACKS, group) for group in records.keys(BOOKIE_RACKS)}


async def get_rack(call: Call) -> dict[str, Any]:
    bookie = call.part("bookie")
    for racks in (await all_racks(call)).values():
        if bookie in racks:
            rack: dict[str, Any] = racks[bookie]
            return rack
    raise _missing(bookie)


async def set_rack(call: Call) -> None:
    """A bookie is in one group."""
    bookie, group = call.part("bookie"), call.query.get("group")
    if not group:
        raise InvalidValue("Bookie 'group' parameters is missing")
    call.check_length(group, "group")
    body = call.json_object()
    rack = {key: string(body[key], key) for key in ("rack", "hostname") if body.get(key) is not None}
    if "/" in rack.get("rack", "").strip("/"):
        raise InvalidValue("Bookie 'rack' parameter is invalid: it may contain a slash at the beginning and end only")
    records = call.broker.tenancy.tool_records
    async with records.changing:
        await _remove(call, bookie)
        racks = records.get(BOOKIE_RACKS, group) or {}
        await records.put(BOOKIE_RACKS, group, {**racks, bookie: rack})


async def delete_rack(call: Call) -> None:
    bookie = call.part("bookie")
    async with call.broker.tenancy.tool_records.changing:
        if not await _remove(call, bookie):
            raise _missing(bookie)


async def _remove(call: Call, bookie: str) -> bool:
    """Whether the bookie was in a group."""
    for group, racks in (await all_racks(call)).items():
        if bookie in racks:
            remaining = {name: rack for name, rack in racks.items() if name != bookie}
            await call.broker.tenancy.tool_records.put_or_delete(BOOKIE_RACKS, group, remaining)
            return True
    return False


def _missing(bookie: str) -> NotFound:
    return NotFound(f"Bookie rack placement configuration not found: {bookie}")


_RACKS = "/admin/v2/bookies/racks-info"
_RACK = f"{_RACKS}/{{bookie}}"

ROUTES = (
    Route("GET", "/admin/v2/bookies/all", list_bookies, SUPER_USER),
    Route("GET", _RACKS, all_racks, SUPER_USER),
    Route("GET", _RACK, get_rack, SUPER_USER),
    Route("POST", _RACK, set_rack, SUPER_USER, query=("group",), body=obj(rack=STRING, hostname=STRING)),
    Route("DELETE", _RACK, delete_rack, SUPER_USER),
)
