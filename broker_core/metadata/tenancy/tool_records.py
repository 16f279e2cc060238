"""Records that tools store about the instance: other clusters, failure domains, resource groups, and the like.

A record is a JSON object under a kind and a key. The broker checks it when it arrives, stores it, and shows it. Records
of clusters have an effect: tenants may use their names, replicators connect to their addresses, and producers and
consumers of a migrated topic are sent to the cluster that its record names. The others have none, but a cluster or a
resource group that something names cannot be deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.records import Documents

FAILURE_DOMAINS = "failure-domains"  # stored for a cluster
ISOLATION_POLICIES = "isolation-policies"  # stored for a cluster
RESOURCE_GROUP = "resource-group"
RESOURCE_QUOTA = "resource-quota"  # stored for a bundle, or the default
BOOKIE_RACKS = "bookie-racks"  # stored for a group of bookies
KINDS = (FAILURE_DOMAINS, ISOLATION_POLICIES, RESOURCE_GROUP, RESOURCE_QUOTA, BOOKIE_RACKS)


class ToolRecords:
    """Reads answer from memory. Hold `changing` from a check to the change that depends on it.

    Tenants, namespaces, and topics name clusters and resource groups, so their changes hold the same lock.
    """

    def __init__(self, documents: Documents, changing: asyncio.Lock) -> None:
        self._documents = documents
        self.changing = changing

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        return self._documents.get(kind, key)

    def keys(self, kind: str) -> list[str]:
        return sorted(self._documents.list(kind))

    async def put(self, kind: str, key: str, record: Mapping[str, Any]) -> None:
        """Store a record; it is durable on return."""
        await self._documents.put(kind, key, dict(record))

    async def delete(self, kind: str, key: str) -> None:
        await self._documents.delete(kind, key)

    async def put_or_delete(self, kind: str, key: str, record: Mapping[str, Any]) -> None:
        """Deletes the record if nothing is left in it."""
        await (self.put(kind, key, record) if record else self.delete(kind, key))
