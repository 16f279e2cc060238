"""Properties of a topic: strings by key, stored with the topic and merged when written."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.admin.call import Call
from broker_core.admin.non_persistent import NEEDS_PERSISTENT, persistent_only
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.shapes import PROPERTIES
from broker_core.admin.targets import check_exists
from broker_core.errors import NotAcceptable
from broker_core.security.operations import on_topic


async def get_properties(call: Call) -> dict[str, str]:
    check_exists(call.broker, call.topic())
    return call.broker.topics.properties(call.topic())


async def merge_properties(call: Call) -> None:
    added = call.json_object()
    if added:
        check_exists(call.broker, call.topic())
        await call.broker.topics.change_properties(call.topic(), lambda before: read_properties(call, added, before))


async def remove_properties(call: Call) -> None:
    """Removes the property `key`, or all properties without it."""
    check_exists(call.broker, call.topic())
    removed = call.query.get("key")

    def kept(before: Mapping[str, str]) -> dict[str, str]:
        return {} if removed is None else {key: value for key, value in before.items() if key != removed}

    await call.broker.topics.change_properties(call.topic(), kept)


_PROPERTIES = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}/properties"

ROUTES = (
    Route(
        "GET",
        _PROPERTIES,
        persistent_only(get_properties, "Properties", NotAcceptable, NEEDS_PERSISTENT),
        on_topic("GET_METADATA"),
    ),
    Route(
        "PUT",
        _PROPERTIES,
        persistent_only(merge_properties, "Properties", NotAcceptable, NEEDS_PERSISTENT),
        on_topic("UPDATE_METADATA"),
        body=PROPERTIES,
    ),
    Route(
        "DELETE",
        _PROPERTIES,
        persistent_only(remove_properties, "Properties", NotAcceptable, NEEDS_PERSISTENT),
        on_topic("DELETE_METADATA"),
        query=("key",),
    ),
)
