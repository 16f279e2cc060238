"""`/admin/v2/brokers/configuration`: the settings of this broker, and those that change while it runs."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Answer, Call, warned
from broker_core.admin.routes import Route
from broker_core.config.stored_settings import STORED_SETTINGS
from broker_core.security.operations import on_broker


async def dynamic_names(call: Call) -> list[str]:
    return call.broker.settings.names


async def dynamic_values(call: Call) -> dict[str, str]:
    """Return the values that were set while a broker ran."""
    return call.broker.settings.values()


async def set_dynamic(call: Call) -> Answer:
    key = call.part("name")
    await call.broker.settings.set(key, call.part("value"))
    if key in STORED_SETTINGS:
        return warned(Answer(200), f"{key} is stored, but has no effect on this broker")
    return Answer(200)


async def remove_dynamic(call: Call) -> Answer:
    await call.broker.settings.remove(call.part("name"))
    return Answer(200)


async def runtime_configuration(call: Call) -> dict[str, str]:
    """Every setting by its Pulsar key, as text."""
    return {key: shown.value for key, shown in call.broker.settings.shown().items()}


async def settings(call: Call) -> dict[str, Any]:
    """Every setting with its value, its default, and where the value comes from; not in Pulsar's API."""
    return {
        key: {
            "value": setting.value,
            "default": setting.default,
            "origin": setting.origin,
            "dynamic": setting.is_dynamic,
        }
        for key, setting in call.broker.settings.shown().items()
    }


async def internal_configuration(_call: Call) -> dict[str, Any]:
    return {
        "zookeeperServers": "",
        "configurationStoreServers": "",
        "metadataStoreUrl": "",
        "configurationMetadataStoreUrl": "",
        "ledgersRootPath": "/ledgers",
    }


_CONFIGURATION = "/admin/v2/brokers/configuration"
_DYNAMIC = f"{_CONFIGURATION}/{{name}}"

ROUTES = (
    Route("GET", _CONFIGURATION, dynamic_names, on_broker("LIST_DYNAMIC_CONFIGURATIONS")),
    Route("GET", f"{_CONFIGURATION}/values", dynamic_values, on_broker("LIST_DYNAMIC_CONFIGURATIONS")),
    Route("GET", f"{_CONFIGURATION}/runtime", runtime_configuration, on_broker("LIST_RUNTIME_CONFIGURATIONS")),
    Route("GET", f"{_CONFIGURATION}/settings", settings, on_broker("LIST_RUNTIME_CONFIGURATIONS")),
    Route("POST", f"{_DYNAMIC}/{{value}}", set_dynamic, on_broker("UPDATE_DYNAMIC_CONFIGURATION")),
    Route("DELETE", _DYNAMIC, remove_dynamic, on_broker("DELETE_DYNAMIC_CONFIGURATION")),
    Route(
        "GET",
        "/admin/v2/brokers/internal-configuration",
        internal_configuration,
        on_broker("GET_INTERNAL_CONFIGURATION_DATA"),
    ),
)
