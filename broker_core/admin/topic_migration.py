"""The phase in which one topic is while its clients are sent to another cluster, and the ledger IDs of its copy there.

`pulsarctl migrate --switch` uses them. Pulsar has flags for clusters and namespaces only (`clusters`,
`namespace_settings`), which cannot wait until a copy of the topic is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.non_persistent import persistent_only
from broker_core.admin.routes import Route
from broker_core.admin.shapes import INT64, STRING, obj
from broker_core.admin.targets import one_topic
from broker_core.errors import InvalidRequest
from broker_core.metadata.policies.json_values import mapping, string, whole_number
from broker_core.metadata.policies.migration import Destination
from broker_core.security.operations import SUPER_USER, on_topic
from broker_core.topic.migration import Phase

LEDGER_ID_MAX = 1 << 53  # what JSON's readers keep exact; far below where IDs end
_OF_A_PARTITIONED_TOPIC = "Migration of a partitioned topic is not allowed: migrate its partitions"


async def get_phase(call: Call) -> dict[str, Any]:
    """`waitsFor`: subscriptions whose consumers have messages that they did not acknowledge. `maySkip`: those with a
    consumer that may have acknowledged cumulatively.
    """
    migration = (await one_topic(call, _OF_A_PARTITIONED_TOPIC)).migration
    return {"phase": migration.phase.value, "waitsFor": migration.waits_for(), "maySkip": migration.may_skip()}


async def set_phase(call: Call) -> None:
    body = mapping(call.json() or {}, "the migration")
    phase = _phase(string(body.get("phase") or "", "phase"))
    to = Destination(*(_url(body, key, scheme) for key, scheme in _SCHEMES.items()))
    if phase is Phase.MOVED and not str(to):
        raise InvalidRequest("cannot move a topic: brokerServiceUrl or brokerServiceUrlTls is missing")
    await (await one_topic(call, _OF_A_PARTITIONED_TOPIC)).migration.enter(phase, to)


async def open_ledger(call: Call) -> None:
    """The topic's next messages get ledger IDs greater than `above`."""
    above = whole_number(mapping(call.json() or {}, "the ledger").get("above"), "above")
    if not 0 <= above <= LEDGER_ID_MAX:
        raise InvalidRequest(f"above must be between 0 and {LEDGER_ID_MAX}")
    await (await one_topic(call, _OF_A_PARTITIONED_TOPIC)).migration.open_above(above)


_SCHEMES = {"brokerServiceUrl": "pulsar://", "brokerServiceUrlTls": "pulsar+ssl://"}


def _phase(text: str) -> Phase:
    try:
        return Phase(text)
    except ValueError:
        raise InvalidRequest(f"phase must be one of {', '.join(phase.value for phase in Phase)}") from None


def _url(body: Mapping[str, Any], key: str, scheme: str) -> str:
    url = string(body.get(key) or "", key)
    if url and not url.startswith(scheme):
        raise InvalidRequest(f"Illegal {key} URL {url}: it must start with {scheme}")
    return url


_PATH = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}/migration"

ROUTES = (
    Route("GET", _PATH, persistent_only(get_phase, "Migration"), on_topic("TERMINATE")),
    Route(
        "POST",
        _PATH,
        persistent_only(set_phase, "Migration"),
        SUPER_USER,  # clients send their credentials to the address
        body=obj(phase=STRING, brokerServiceUrl=STRING, brokerServiceUrlTls=STRING),
    ),
    Route(
        "POST",
        f"{_PATH}/ledger",
        persistent_only(open_ledger, "Migration"),
        SUPER_USER,  # it uses up ledger IDs of the whole broker
        body=obj(above=INT64),
    ),
)
