"""The cluster to which the clients of a migrated cluster or namespace go (PIP-188). Pure.

Pulsar keeps the address in the record of the cluster that they leave, together with a flag for all of its namespaces.
Each namespace has a flag of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Destination(NamedTuple):
    """Service URLs of another cluster; one of them may be empty."""

    service_url: str
    service_url_tls: str

    def __str__(self) -> str:
        return " or ".join(filter(None, (self.service_url, self.service_url_tls)))


def stored_destination(record: Mapping[str, Any] | None) -> Destination | None:
    """The one in the cluster's record, whether its clients go there already or not."""
    urls = ((record or {}).get("migration") or {}).get("migratedClusterUrl") or {}
    target = Destination(urls.get("brokerServiceUrl", ""), urls.get("brokerServiceUrlTls", ""))
    return target if str(target) else None


def destination(record: Mapping[str, Any] | None, *, namespace_migrated: bool) -> Destination | None:
    """The cluster to which the clients of a namespace go; None while they stay."""
    migrated = namespace_migrated or bool(((record or {}).get("migration") or {}).get("migrated"))
    return stored_destination(record) if migrated else None
