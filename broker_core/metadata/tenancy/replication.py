"""Which clusters a namespace or a topic may be replicated to. Reasons are those of Pulsar's admin REST API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from broker_core.errors import Conflict, Forbidden, InvalidValue
from broker_core.metadata.policies.kept import ALLOWED_CLUSTERS
from broker_core.metadata.tenancy.documents import CLUSTER

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.documents import Tenant
    from broker_core.metadata.tenancy.namespace import Namespace
    from broker_core.metadata.tenancy.tool_records import ToolRecords


class ReplicationRules:
    """`cluster`: the name of this one."""

    def __init__(self, cluster: str, records: ToolRecords) -> None:
        self._cluster = cluster
        self._records = records

    def check(self, clusters: Sequence[str], tenant: Tenant, namespace: Namespace) -> None:
        """Raises `Forbidden` for a cluster that does not exist or is not allowed, and `Conflict` for a peer.

        A list may lack this cluster. Pulsar then deletes the topics of the namespace; here, that needs a deletion, and
        the topics stay (`replication.replicators`).
        """
        known = {self._cluster, *self._records.keys(CLUSTER)}
        allowed = namespace.kept.get(ALLOWED_CLUSTERS) or ()
        for name in clusters:
            if name not in known:
                raise Forbidden(f"Invalid cluster id: {name}")
            refused = f"Cluster [{name}] is not in the list of allowed clusters list for"
            if allowed and name not in allowed:
                raise Forbidden(f"{refused} namespace [{namespace.name}]")
            if not allowed and name not in tenant.allowed_clusters:
                raise Forbidden(f"{refused} tenant [{namespace.name.tenant}]")
        self._check_peers(clusters)

    def _check_peers(self, clusters: Sequence[str]) -> None:
        for name in clusters:
            record: dict[str, Any] = self._records.get(CLUSTER, name) or {}
            peers = [peer for peer in record.get("peerClusterNames") or () if peer in clusters]
            if peers:
                shown, listed = ", ".join(record["peerClusterNames"]), ", ".join(clusters)
                raise Conflict(f"{name}'s peer-clusters [{shown}] can't be part of replication-clusters [{listed}]")

    def check_global(self, clusters: Sequence[str], namespace: Namespace) -> None:
        """A policy of a topic for all clusters goes to those of its namespace. Raises `InvalidValue`."""
        if len(namespace.replication_clusters) < 2:
            raise InvalidValue(
                "Please do not use the global topic level policy when namespace-level replication is not enabled,"
                " because the global level policy relies on namespace-level replication"
            )
        if not set(clusters) <= set(namespace.replication_clusters):
            raise InvalidValue(
                "The policies at the global topic level will only be copied to the clusters included in the namespace"
                " level replication. Therefore, please do not set the policies including other clusters"
            )
