"""`/admin/v2/clusters`: the one cluster that this broker is."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.errors import ClusterNotFound, Conflict, NotAllowed
from broker_core.names import check_entity


async def list_clusters(call: Call) -> list[str]:
    return call.broker.tenancy.clusters()


async def get_cluster(call: Call) -> dict[str, Any]:
    if call.part("cluster") not in call.broker.tenancy.clusters():
        raise ClusterNotFound("Cluster does not exist")
    return {
        "serviceUrl": call.broker.http_url,
        "brokerServiceUrl": call.broker.service_url,
        "brokerClientTlsEnabled": False,
        "tlsAllowInsecureConnection": False,
        "brokerClientTlsEnabledWithKeyStore": False,
        "brokerClientTlsTrustStoreType": "JKS",
        "brokerClientTlsKeyStoreType": "JKS",
    }


async def create_cluster(call: Call) -> None:
    """Scripts register the cluster of a running standalone; that must do no harm."""
    name = check_entity("Cluster", call.part("cluster"))
    if name in call.broker.tenancy.clusters():
        raise Conflict("Cluster already exists")
    raise NotAllowed(f"Cluster {name} cannot be added: this broker does not replicate to others")


ROUTES = (
    Route("GET", "/admin/v2/clusters", list_clusters),
    Route("GET", "/admin/v2/clusters/{cluster}", get_cluster),
    Route("PUT", "/admin/v2/clusters/{cluster}", create_cluster),
)
