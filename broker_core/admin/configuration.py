"""`/admin/v2/brokers/configuration`: the settings of this broker."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.errors import FixedSetting
from broker_core.security.operations import on_broker


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


_CONFIGURATION = "/admin/v2/brokers/configuration"
_SET = on_broker("UPDATE_DYNAMIC_CONFIGURATION")

ROUTES = (
    Route("GET", _CONFIGURATION, dynamic_names, on_broker("LIST_DYNAMIC_CONFIGURATIONS")),
    Route("GET", f"{_CONFIGURATION}/values", dynamic_values, on_broker("LIST_DYNAMIC_CONFIGURATIONS")),
    Route("GET", f"{_CONFIGURATION}/runtime", runtime_configuration, on_broker("LIST_RUNTIME_CONFIGURATIONS")),
    Route("POST", f"{_CONFIGURATION}/{{name}}/{{value}}", set_dynamic, _SET),
    Route("DELETE", f"{_CONFIGURATION}/{{name}}", set_dynamic, on_broker("DELETE_DYNAMIC_CONFIGURATION")),
    Route(
        "GET",
        "/admin/v2/brokers/internal-configuration",
        internal_configuration,
        on_broker("GET_INTERNAL_CONFIGURATION_DATA"),
    ),
)
