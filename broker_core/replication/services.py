"""The services that the replicators of all topics share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_core.replication.snapshot_metrics import SnapshotMetrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.config.replication import ReplicationConfig
    from broker_core.metadata.schema.registry import SchemaRegistry
    from broker_core.names import TopicName
    from broker_core.replication.remote_clusters import RemoteClusters
    from broker_core.storage.records.position import Position


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplicationServices:
    """`cluster`: the name of this one. `start`: where new cursors begin.

    `partitions_of`: the number of a topic's partitions, 0 if it has none. `snapshots`: of replicated subscriptions.
    """

    cluster: str
    start: Position
    config: ReplicationConfig
    remotes: RemoteClusters
    schemas: SchemaRegistry
    partitions_of: Callable[[TopicName], int]
    snapshots: SnapshotMetrics = field(default_factory=SnapshotMetrics)
