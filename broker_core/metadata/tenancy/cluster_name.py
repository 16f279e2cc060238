"""The name of the cluster that a data directory belongs to.

The policies in the directory, its replicators, and the other clusters know the cluster by this name, so the directory
keeps the name of its first start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.errors import InvalidConfiguration
from broker_core.metadata.tenancy.documents import CLUSTER, NAMESPACE

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.records import Documents

INSTANCE, KEY = "instance", "cluster"


class OtherCluster(InvalidConfiguration):
    """`name`: the cluster that the data belongs to."""

    def __init__(self, name: str) -> None:
        super().__init__(f"cannot start: this data belongs to cluster {name}; start with -X clusterName={name}")
        self.name = name


async def claim(documents: Documents, configured: str) -> None:
    """Raises `OtherCluster` if the data belongs to a cluster of another name. Records the name if none is recorded."""
    document = documents.get(INSTANCE, KEY)
    recorded = str(document["name"]) if document else _replicated_as(documents, configured)
    if recorded != configured:
        raise OtherCluster(recorded)
    if document is None:
        await documents.put(INSTANCE, KEY, {"name": configured})


def _replicated_as(documents: Documents, configured: str) -> str:
    """The name of this cluster in replicated namespaces: earlier releases did not record it.

    It is the only one that is listed there and not registered; if that is unclear, the configured name is right.
    """
    stored = [documents.get(NAMESPACE, key) or {} for key in documents.list(NAMESPACE)]
    lists = [record.get("replication_clusters") for record in stored]
    listed = {str(name) for clusters in lists if isinstance(clusters, list) and len(clusters) > 1 for name in clusters}
    own = listed - set(documents.list(CLUSTER))
    return own.pop() if len(own) == 1 and configured not in listed else configured
