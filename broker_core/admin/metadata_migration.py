"""`/admin/v2/metadata/migration`: to another metadata store (PIP-454). This broker keeps its metadata itself."""

from __future__ import annotations

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.errors import InvalidRequest
from broker_core.security.operations import SUPER_USER


async def start(call: Call) -> None:
    raise InvalidRequest(
        "Metadata store is not configured for migration: this broker keeps its metadata in its data directory"
    )


async def status(_call: Call) -> dict[str, str]:
    return {"phase": "NOT_STARTED"}


_MIGRATION = "/admin/v2/metadata/migration"

ROUTES = (
    Route("POST", f"{_MIGRATION}/start", start, SUPER_USER, query=("target",)),
    Route("GET", f"{_MIGRATION}/status", status, SUPER_USER),
)
