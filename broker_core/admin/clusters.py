"""`/admin/v2/clusters`: this cluster, and the other clusters that namespaces and topics can be replicated to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Answer, Call, json_answer
from broker_core.admin.routes import Route
from broker_core.admin.shapes import STRING, STRINGS, TRUTH, obj
from broker_core.errors import (
    Conflict,
    InvalidRequest,
    InvalidValue,
    NotFound,
)
from broker_core.metadata.policies.json_values import mapping, names, string, truth
from broker_core.metadata.tenancy.documents import CLUSTER
from broker_core.names import check_entity
from broker_core.security.operations import ANYONE, cluster_policy, on_cluster

if TYPE_CHECKING:
    from broker_core.broker import Broker

# Pulsar's ClusterData in its order; `replication.cluster_settings` says what replicators use of it.
_ADDRESSES = (
    "serviceUrl",
    "serviceUrlTls",
    "brokerServiceUrl",
    "brokerServiceUrlTls",
    "proxyServiceUrl",
    "authenticationPlugin",
    "authenticationParameters",
    "proxyProtocol",
)
_STORES = (
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
_TEXTS = (*_ADDRESSES, *_STORES)
_FLAGS = ("brokerClientTlsEnabled", "tlsAllowInsecureConnection", "brokerClientTlsEnabledWithKeyStore")
_PEERS = "peerClusterNames"
_ORDER = (*_ADDRESSES, _PEERS, *_FLAGS, *_STORES)
_DATA = obj(**dict.fromkeys(_TEXTS, STRING), **dict.fromkeys(_FLAGS, TRUTH), **{_PEERS: STRINGS})
_MIGRATION = ("serviceUrl", "serviceUrlTls", "brokerServiceUrl", "brokerServiceUrlTls")


async def list_clusters(call: Call) -> list[str]:
    return call.broker.tenancy.clusters()


async def get_cluster(call: Call) -> dict[str, Any]:
    name = known_cluster(call)
    stores = {"brokerClientTlsTrustStoreType": "JKS", "brokerClientTlsKeyStoreType": "JKS"}
    is_own = name == call.broker.tenancy.cluster
    members = (_urls(call.broker) | stores if is_own else {}) | dict.fromkeys(_FLAGS, False) | _record(call, name)
    return {member: members[member] for member in _ORDER if member in members}


def _urls(broker: Broker) -> dict[str, str]:
    urls = (broker.http_url, broker.http_url_tls, broker.service_url, broker.service_url_tls)
    return {name: url for name, url in zip(_MIGRATION, urls, strict=True) if url}


def _record(call: Call, name: str) -> dict[str, Any]:
    return call.broker.tenancy.tool_records.get(CLUSTER, name) or {}


async def create_cluster(call: Call) -> Answer:
    """Scripts register the cluster of a running standalone; that must be harmless."""
    name = check_entity("Cluster", call.part("cluster"))
    records = call.broker.tenancy.tool_records
    async with records.changing:
        if name in call.broker.tenancy.clusters():
            raise Conflict("Cluster already exists")
        if call.json() is None:
            raise InvalidRequest("cluster data is required")
        await records.put(CLUSTER, name, _read(call))
    call.broker.topics.remotes.changed(name)
    return Answer(200)


async def update_cluster(call: Call) -> Answer:
    """Replaces the whole record, as in Pulsar; this cluster shows this broker's addresses for absent fields."""
    records = call.broker.tenancy.tool_records
    async with records.changing:
        name = known_cluster(call)
        migration = {key: value for key, value in _record(call, name).items() if key == "migration"}
        await records.put(CLUSTER, name, _read(call) | migration)
    call.broker.topics.remotes.changed(name)
    return Answer(200)


async def delete_cluster(call: Call) -> None:
    await call.broker.tenancy.delete_cluster(call.part("cluster"))


def known_cluster(call: Call) -> str:
    """The cluster in the path; raises `NotFound`."""
    name = call.part("cluster")
    if name not in call.broker.tenancy.clusters():
        raise NotFound("Cluster does not exist")
    return name


def _read(call: Call) -> dict[str, Any]:
    """As in Pulsar, a record may name any peers (the Go pulsarctl sends `[""]`); only `set_peers` checks them."""
    body = call.json_object()
    record: dict[str, Any] = {key: string(body[key], key) for key in _TEXTS if body.get(key) not in (None, "")}
    record |= {key: truth(body[key], key) for key in _FLAGS if body.get(key) is not None}
    _check_urls(record)
    return record | _peers(body.get(_PEERS))


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


# Peers


async def get_peers(call: Call) -> Answer:
    peers = _record(call, known_cluster(call)).get(_PEERS)
    return Answer(204) if peers is None else json_answer(peers)


async def set_peers(call: Call) -> None:
    """Set the peer clusters; null removes them."""
    records = call.broker.tenancy.tool_records
    async with records.changing:
        name = known_cluster(call)
        others = {key: value for key, value in _record(call, name).items() if key != _PEERS}
        peers = _peers(call.json())
        _check_peers(call, name, peers.get(_PEERS, []))
        await records.put(CLUSTER, name, others | peers)


def _peers(value: Any) -> dict[str, list[str]]:
    return {} if value is None else {_PEERS: list(dict.fromkeys(names(value, _PEERS)))}


def _check_peers(call: Call, cluster: str, peers: list[str]) -> None:
    for peer in peers:
        if peer == cluster:
            raise InvalidValue(f"{peer} itself can't be part of peer-list")
        if peer not in call.broker.tenancy.clusters():
            raise InvalidValue(f"Peer cluster {peer} does not exist")


# Migration


async def get_migration(call: Call) -> dict[str, Any]:
    migration: dict[str, Any] | None = _record(call, known_cluster(call)).get("migration")
    if migration is None:
        raise NotFound("Cluster does not exist")
    return migration


async def set_migration(call: Call) -> Answer:
    body = mapping(call.json() or {}, "the cluster URL")
    urls = {key: string(body[key], key) for key in _MIGRATION if body.get(key) not in (None, "")}
    _check_urls(urls)
    records, migrated = call.broker.tenancy.tool_records, call.flag("migrated")
    if migrated and not urls.keys() & {"brokerServiceUrl", "brokerServiceUrlTls"}:
        raise InvalidRequest("Cluster url must not be empty: set brokerServiceUrl or brokerServiceUrlTls")
    async with records.changing:
        name = known_cluster(call)
        shown = {"migrated": migrated, "migratedClusterUrl": {**urls, "empty": not urls}}
        await records.put(CLUSTER, name, _record(call, name) | {"migration": shown})
    if name == call.broker.tenancy.cluster:
        await call.broker.topics.renewal.configuration_changed()  # topics apply the change: their clients go, or stay
    return Answer(200)


_CLUSTER = "/admin/v2/clusters/{cluster}"

ROUTES = (
    Route("GET", "/admin/v2/clusters", list_clusters, ANYONE),
    Route("GET", _CLUSTER, get_cluster, on_cluster("GET_CLUSTER")),
    Route("PUT", _CLUSTER, create_cluster, on_cluster("CREATE_CLUSTER"), body=_DATA),
    Route("POST", _CLUSTER, update_cluster, on_cluster("UPDATE_CLUSTER"), body=_DATA),
    Route("DELETE", _CLUSTER, delete_cluster, on_cluster("DELETE_CLUSTER")),
    Route("GET", f"{_CLUSTER}/peers", get_peers, on_cluster("GET_PEER_CLUSTER")),
    Route("POST", f"{_CLUSTER}/peers", set_peers, on_cluster("UPDATE_PEER_CLUSTER"), body=STRINGS),
    Route("GET", f"{_CLUSTER}/migrate", get_migration, cluster_policy("GET")),
    Route(
        "POST",
        f"{_CLUSTER}/migrate",
        set_migration,
        cluster_policy("POST"),
        query=("migrated",),
        body=obj(**dict.fromkeys(_MIGRATION, STRING)),
    ),
)
