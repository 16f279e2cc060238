"""Properties of a topic: texts by key, kept with the topic, merged when written."""

from __future__ import annotations

from broker_core.admin.call import Call
from broker_core.admin.non_persistent import NEEDS_PERSISTENT, persistent_only
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.targets import check_exists
from broker_core.errors import NotAcceptable


async def get_properties(call: Call) -> dict[str, str]:
    check_exists(call.broker, call.topic())
    return call.broker.topics.properties(call.topic())


async def merge_properties(call: Call) -> None:
    added = call.json_object()
    if added:
        merged = read_properties(call, added, await get_properties(call))
        await call.broker.topics.set_properties(call.topic(), merged)


async def remove_properties(call: Call) -> None:
    """One of them by `key`, without it all."""
    kept = await get_properties(call) if "key" in call.query else {}
    check_exists(call.broker, call.topic())
    kept.pop(call.query.get("key", ""), None)
    await call.broker.topics.set_properties(call.topic(), kept)


_PROPERTIES = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}/properties"

ROUTES = (
    Route("GET", _PROPERTIES, persistent_only(get_properties, "Properties", NotAcceptable, NEEDS_PERSISTENT)),
    Route("PUT", _PROPERTIES, persistent_only(merge_properties, "Properties", NotAcceptable, NEEDS_PERSISTENT)),
    Route("DELETE", _PROPERTIES, persistent_only(remove_properties, "Properties", NotAcceptable, NEEDS_PERSISTENT)),
)
