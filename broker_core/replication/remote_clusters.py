"""The other clusters that replicators know; nothing that reaches one is imported before the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.config.security import SecurityConfig
    from broker_core.replication.cluster_settings import FindRecord
    from broker_core.replication.remote_cluster import RemoteCluster
    from broker_core.tasks import Spawn


class RemoteClusters:
    """The other clusters by name, made when they are first needed."""

    def __init__(self, record_of: FindRecord, config: SecurityConfig, spawn: Spawn) -> None:
        self._record_of = record_of
        self._config = config
        self._spawn = spawn
        self._known: dict[str, RemoteCluster] = {}

    def get(self, name: str) -> RemoteCluster:
        # Imported here, in a few milliseconds: most brokers have no other cluster.
        from broker_core.replication.remote_cluster import RemoteCluster

        cluster = self._known.get(name)
        if cluster is None:
            cluster = self._known[name] = RemoteCluster(name, self._record_of, self._config, self._spawn)
        return cluster

    def changed(self, name: str) -> None:
        """The record of that cluster was stored or deleted."""
        if name in self._known:
            self._known[name].changed()

    def close(self) -> None:
        for cluster in self._known.values():
            cluster.close()
