"""Settings of a topic that this broker does not have: read as unset, and refused with a reason when they are set."""

from __future__ import annotations

from broker_core.admin.call import Answer, Call
from broker_core.admin.namespace_settings import refuse_entry_filters
from broker_core.admin.policy_places import READ_POLICY, WRITE_POLICY
from broker_core.admin.routes import Route
from broker_core.admin.shapes import STRING, STRINGS, obj
from broker_core.admin.targets import policy_topic
from broker_core.errors import InvalidValue, NotImplementedHere
from broker_core.metadata.policies.json_values import names
from broker_core.security.operations import topic_policy


async def get_nothing(call: Call) -> Answer:
    policy_topic(call)
    return Answer(204)


async def remove_nothing(call: Call) -> None:
    policy_topic(call)


async def set_entry_filters(call: Call) -> None:
    policy_topic(call)
    refuse_entry_filters(call)


async def set_shadow_topics(call: Call) -> None:
    policy_topic(call)
    if not names(call.json() or [], "the list of shadow topics"):
        raise InvalidValue("Cannot specify empty shadow topics, please use remove command instead.")
    raise NotImplementedHere(
        "cannot set shadow topics: this broker does not have shadow topics; use another subscription on the topic,"
        " which reads the same messages"
    )


_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"
_FILTERS = f"{_TOPIC}/entryFilters"
_SHADOWS = f"{_TOPIC}/shadowTopics"

ROUTES = (
    Route("GET", _FILTERS, get_nothing, topic_policy("ENTRY_FILTERS", "GET"), READ_POLICY, summary="Get entry filters"),
    Route(
        "POST",
        _FILTERS,
        set_entry_filters,
        topic_policy("ENTRY_FILTERS", "POST"),
        WRITE_POLICY,
        obj(entryFilterNames=STRING),
    ),
    Route(
        "DELETE",
        _FILTERS,
        remove_nothing,
        topic_policy("ENTRY_FILTERS", "DELETE"),
        WRITE_POLICY,
        summary="Remove entry filters",
    ),
    Route("GET", _SHADOWS, get_nothing, topic_policy("SHADOW_TOPIC", "GET"), summary="Get shadow topics"),
    Route("PUT", _SHADOWS, set_shadow_topics, topic_policy("SHADOW_TOPIC", "PUT"), body=STRINGS),
    Route("DELETE", _SHADOWS, remove_nothing, topic_policy("SHADOW_TOPIC", "DELETE"), summary="Remove shadow topics"),
)
