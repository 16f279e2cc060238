"""`/admin/v2/brokers`, `/status.html`, and `/metrics`: this broker, its health, and its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.call import TEXT_TYPE, Answer, Call, text
from broker_core.admin.routes import Route
from broker_core.clock import iso
from broker_core.errors import FixedSetting
from broker_core.stats.health import check_health, degraded, unwell
from broker_core.stats.metrics import prometheus_text

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.storage.damage import Place

PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def broker_id(broker: Broker) -> str:
    """`host:port` of the admin API."""
    return broker.http_url.removeprefix("http://")


async def list_brokers(call: Call) -> list[str]:
    return [broker_id(call.broker)]


async def leader(call: Call) -> dict[str, str]:
    return {"serviceUrl": call.broker.http_url, "brokerId": broker_id(call.broker)}


async def health(call: Call) -> Answer:
    """Answers `ok` without quotes or a newline: clients compare the whole body.

    A degraded broker answers 200 with the reason instead: it serves, so a probe must not restart it for a problem that
    a restart does not solve, and tools still fail because the body is not `ok`.
    """
    await check_health(call.broker)
    return text(degraded(call.broker) or "ok")


async def ready(_call: Call) -> Answer:
    """The broker answers only after recovery, when it serves clients."""
    return text("ok")


async def status(call: Call) -> Answer:
    """Answers 503 if nothing can be written, so that a load balancer uses another broker."""
    if reason := unwell(call.broker):
        return Answer(503, reason.encode(), TEXT_TYPE)
    return text(degraded(call.broker) or "OK")


async def damage(call: Call) -> list[dict[str, Any]]:
    """The damaged and lost data, and since when its loss is accepted; not in Pulsar's API."""
    return [_damaged_place(place) for place in call.broker.storage.damage.places]


async def accept_loss(call: Call) -> list[str]:
    """Accepts all recorded damage; answers with what was not accepted before."""
    return [str(report) for report in await call.broker.accept_loss()]


def _damaged_place(place: Place) -> dict[str, Any]:
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


async def dynamic_names(_call: Call) -> list[str]:
    """No setting of this broker can change while it runs."""
    return []


async def dynamic_values(_call: Call) -> dict[str, str]:
    return {}


async def set_dynamic(_call: Call) -> None:
    raise FixedSetting("Can't update non-dynamic configuration")


async def runtime_configuration(call: Call) -> dict[str, str]:
    """Every setting by its Pulsar key, as text."""
    found = {}
    for _section, field, value in call.broker.config.settings():
        setting = field.metadata["setting"]
        shown = value if setting.scale == 1 else round(value / setting.scale)
        found[setting.key] = str(shown).lower() if isinstance(shown, bool) else str(shown)
    return found


async def internal_configuration(_call: Call) -> dict[str, Any]:
    return {
        "zookeeperServers": "",
        "configurationStoreServers": "",
        "metadataStoreUrl": "",
        "configurationMetadataStoreUrl": "",
        "ledgersRootPath": "/ledgers",
    }


async def metrics(call: Call) -> Answer:
    return Answer(200, await prometheus_text(call.broker), PROMETHEUS_TYPE)


_BROKERS = "/admin/v2/brokers"

ROUTES = (
    Route("GET", _BROKERS, list_brokers),
    Route("GET", f"{_BROKERS}/{{cluster}}", list_brokers),
    Route("GET", f"{_BROKERS}/leaderBroker", leader),
    Route("GET", f"{_BROKERS}/health", health),
    Route("GET", f"{_BROKERS}/ready", ready),
    Route("GET", f"{_BROKERS}/damage", damage),
    Route("POST", f"{_BROKERS}/damage/accept", accept_loss),
    Route("GET", f"{_BROKERS}/version", version),
    Route("GET", f"{_BROKERS}/configuration", dynamic_names),
    Route("GET", f"{_BROKERS}/configuration/values", dynamic_values),
    Route("GET", f"{_BROKERS}/configuration/runtime", runtime_configuration),
    Route("POST", f"{_BROKERS}/configuration/{{name}}/{{value}}", set_dynamic),
    Route("DELETE", f"{_BROKERS}/configuration/{{name}}", set_dynamic),
    Route("GET", f"{_BROKERS}/internal-configuration", internal_configuration),
    Route("GET", "/status.html", status),
    Route("GET", "/metrics", metrics),
)
