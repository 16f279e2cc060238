"""`/admin/v2/clusters`: the one cluster of this broker, and the record that tools store about it."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Answer, Call
from broker_core.admin.routes import Route
from broker_core.errors import AlreadyExists, ClusterNotFound, InvalidRequest, NotAllowed
from broker_core.names import check_entity
from broker_core.policies.json_values import string, truth

# Pulsar's ClusterData: the broker shows these to tools and does not use them.
_TEXTS = (
    "serviceUrl",
    "serviceUrlTls",
    "brokerServiceUrl",
    "brokerServiceUrlTls",
    "proxyServiceUrl",
    "proxyProtocol",
    "authenticationPlugin",
    "authenticationParameters",
    "brokerClientTlsTrustStoreType",
    "brokerClientTlsTrustStore",
    "brokerClientTlsTrustStorePassword",
    "brokerClientTlsKeyStoreType",
    "brokerClientTlsKeyStore",
    "brokerClientTlsKeyStorePassword",
    "brokerClientTrustCertsFilePath",
    "brokerClientKeyFilePath",
    "brokerClientCertificateFilePath",
    "listenerName",
)
_FLAGS = ("brokerClientTlsEnabled", "tlsAllowInsecureConnection", "brokerClientTlsEnabledWithKeyStore")


async def list_clusters(call: Call) -> list[str]:
    return call.broker.tenancy.clusters()


async def get_cluster(call: Call) -> dict[str, Any]:
    _check_ours(call)
    return {
        "serviceUrl": call.broker.http_url,
        "brokerServiceUrl": call.broker.service_url,
        "brokerClientTlsEnabled": False,
        "tlsAllowInsecureConnection": False,
        "brokerClientTlsEnabledWithKeyStore": False,
        "brokerClientTlsTrustStoreType": "JKS",
        "brokerClientTlsKeyStoreType": "JKS",
        **call.broker.tenancy.cluster_record(),
    }


async def create_cluster(call: Call) -> None:
    """Scripts register the cluster of a running standalone; that must be harmless."""
    name = check_entity("Cluster", call.part("cluster"))
    if name in call.broker.tenancy.clusters():
        raise AlreadyExists("Cluster already exists")
    raise NotAllowed(f"Cluster {name} cannot be added: this broker does not replicate to others")


async def update_cluster(call: Call) -> Answer:
    """Replaces the whole record, as in Pulsar; absent fields show this broker's addresses again."""
    _check_ours(call)
    body = call.json_object()
    peers = body.get("peerClusterNames")
    if peers:
        raise NotAllowed("peerClusterNames cannot be set: this broker does not replicate to others")
    record: dict[str, Any] = {name: string(body[name], name) for name in _TEXTS if body.get(name) not in (None, "")}
    record |= {name: truth(body[name], name) for name in _FLAGS if body.get(name) is not None}
    _check_urls(record)
    await call.broker.tenancy.set_cluster_record(record)
    return Answer(200)


def _check_ours(call: Call) -> None:
    if call.part("cluster") not in call.broker.tenancy.clusters():
        raise ClusterNotFound("Cluster does not exist")


_SCHEMES = {
    "serviceUrl": "http://",
    "serviceUrlTls": "https://",
    "brokerServiceUrl": "pulsar://",
    "brokerServiceUrlTls": "pulsar+ssl://",
}


def _check_urls(record: dict[str, Any]) -> None:
    for name, scheme in _SCHEMES.items():
        url = record.get(name, scheme)
        if not url.startswith(scheme):
            raise InvalidRequest(f"Illegal {name} URL {url}: it must start with {scheme}")


ROUTES = (
    Route("GET", "/admin/v2/clusters", list_clusters),
    Route("GET", "/admin/v2/clusters/{cluster}", get_cluster),
    Route("PUT", "/admin/v2/clusters/{cluster}", create_cluster),
    Route("POST", "/admin/v2/clusters/{cluster}", update_cluster),
)
