"""`/admin/v2/brokers`, `/status.html`, and `/metrics`: this broker, its health, and what it owns."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from broker_core.admin.call import TEXT_TYPE, Answer, Call, text
from broker_core.admin.routes import Route
from broker_core.clock import iso
from broker_core.errors import NotFound
from broker_core.metadata.policies.json_values import shown
from broker_core.rates.time_slices import sliced
from broker_core.security.operations import ANYONE, SUPER_USER, on_broker
from broker_core.stats.health import check_health, degraded, unwell
from broker_core.stats.metrics import prometheus_text
from broker_core.topic.backlog_quota import check_all

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.storage.damage import DamagedPlace

PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def broker_id(broker: Broker) -> str:
    """`host:port` of the admin API."""
    return broker.main_http_url.partition("://")[2]


async def list_brokers(call: Call) -> list[str]:
    return [broker_id(call.broker)]


async def brokers_of_cluster(call: Call) -> list[str]:
    if call.part("cluster") != call.broker.tenancy.cluster:
        raise NotFound("Cluster does not exist")
    return await list_brokers(call)


async def owned_namespaces(call: Call) -> dict[str, Any]:
    """Every bundle of every namespace: one broker owns all of them."""
    broker = call.broker
    if call.part("broker") != broker_id(broker) or call.part("cluster") != broker.tenancy.cluster:
        raise NotFound(f"Broker id '{call.part('broker')}' not found in available brokers.")
    namespaces = [broker.tenancy.namespace(name) for name in broker.tenancy.all_namespaces()]
    return {
        f"{namespace.name}/{bundle}": _OWNED
        async for namespace in sliced(namespaces)
        for bundle in namespace.bundles.ranges()
    }


_OWNED = {"broker_assignment": "shared", "is_controlled": False, "is_active": True}


async def check_backlog_quotas(call: Call) -> None:
    """Checks the backlog quotas of every loaded topic now."""
    await check_all(call.broker.topics.backlog_quotas())


async def shut_down(call: Call) -> None:
    """Ends the process as a signal does; topics are unloaded, and clients reconnect."""
    call.broker.request_shutdown()


async def leader(call: Call) -> dict[str, str]:
    return {"serviceUrl": call.broker.main_http_url, "brokerId": broker_id(call.broker)}


async def health(call: Call) -> Answer:
    """Answers `ok` without quotes or a newline: clients compare the whole body.

    A degraded broker answers 200 with the reason instead: it serves, so a probe must not restart it for a problem that
    a restart does not solve, and tools still fail because the body is not `ok`.
    """
    _check_topic_version(call.query.get("topicVersion", "V2"))
    await check_health(call.broker)
    return text(degraded(call.broker) or "ok")


def _check_topic_version(version: str) -> None:
    if version not in ("V1", "V2"):
        raise NotFound(f"there is no topicVersion {shown(version)}; use V1 or V2")


async def ready(_call: Call) -> Answer:
    """The broker answers only after recovery, when it serves clients."""
    return text("ok")


async def status(call: Call) -> Answer:
    """Answer load balancers: 503 if nothing can be written, or the broker is stopping, and 404 if a file is missing."""
    file = call.broker.config.server.status_file
    if file and not await asyncio.to_thread(os.path.exists, file):
        raise NotFound(f"{file} does not exist")
    if reason := unwell(call.broker):
        return Answer(503, reason.encode(), TEXT_TYPE)
    return text(degraded(call.broker) or "OK")


async def damage(call: Call) -> list[dict[str, Any]]:
    """The damaged and lost data, and since when its loss is accepted; not in Pulsar's API."""
    return [_damaged_place(place) for place in call.broker.storage.damage.places]


async def accept_loss(call: Call) -> list[str]:
    """Accepts all recorded damage; answers with what was not accepted before."""
    return [str(report) for report in await call.broker.accept_loss()]


def _damaged_place(place: DamagedPlace) -> dict[str, Any]:
    report = place.report
    return {
        "file": str(report.path),
        "offset": report.offset,
        "reason": report.reason,
        "topic": report.topic,
        "lost": str(report.lost or ""),
        "found": iso(place.found_ms),
        "accepted": iso(place.accepted_ms) if place.accepted_ms else "",
    }


async def version(call: Call) -> Answer:
    return text(call.broker.version)


async def metrics(call: Call) -> Answer:
    return Answer(200, await prometheus_text(call.broker), PROMETHEUS_TYPE)


_BROKERS = "/admin/v2/brokers"

ROUTES = (
    Route("GET", _BROKERS, list_brokers, on_broker("LIST_BROKERS")),
    Route("GET", f"{_BROKERS}/{{cluster}}", brokers_of_cluster, on_broker("LIST_BROKERS")),
    Route(
        "GET",
        f"{_BROKERS}/{{cluster}}/{{broker}}/ownedNamespaces",
        owned_namespaces,
        on_broker("LIST_OWNED_NAMESPACES"),
    ),
    Route("GET", f"{_BROKERS}/leaderBroker", leader, on_broker("GET_LEADER_BROKER")),
    Route("GET", f"{_BROKERS}/health", health, on_broker("HEALTH_CHECK"), query=("topicVersion",)),
    Route("GET", f"{_BROKERS}/ready", ready, ANYONE),
    Route("GET", f"{_BROKERS}/backlog-quota-check", check_backlog_quotas, on_broker("CHECK_BACKLOG_QUOTA")),
    Route("POST", f"{_BROKERS}/shutdown", shut_down, on_broker("SHUTDOWN")),
    Route("GET", f"{_BROKERS}/damage", damage, SUPER_USER),
    Route("POST", f"{_BROKERS}/damage/accept", accept_loss, SUPER_USER),
    Route("GET", f"{_BROKERS}/version", version, ANYONE),
    Route("GET", "/status.html", status, ANYONE),
    Route("GET", "/metrics", metrics, ANYONE),
)
