"""Clusters that know one another, for tests of replication: real brokers in this process."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterable
from typing import Any

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.testing import EmbeddedBroker

DEADLINE_SECONDS = 20.0


def config_of(cluster: str, **sections: Any) -> BrokerConfig:
    return BrokerConfig(server=ServerConfig(broker_port=0, web_port=0, cluster_name=cluster), **sections)


def admin(http_url: str, method: str, path: str, body: Any = None) -> Any:
    """A request to the admin API; returns the JSON of the answer, if any. Raises `HTTPError`."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{http_url}/admin/v2/{path}", data, {"Content-Type": "application/json"})
    request.method = method
    with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def record_of(service_url: str, http_url: str) -> dict[str, str]:
    """What a cluster's record needs at least."""
    return {"serviceUrl": http_url, "brokerServiceUrl": service_url}


def introduce(brokers: Iterable[EmbeddedBroker]) -> None:
    """Each broker gets the records of the others, and lets the tenant `public` use them."""
    known = {broker.broker.tenancy.cluster: broker for broker in brokers}
    for own, broker in known.items():
        for name, other in known.items():
            if name != own:
                register(broker, name, other.service_url, other.http_url)


def register(broker: EmbeddedBroker, name: str, service_url: str, http_url: str = "") -> None:
    """Registers another cluster and allows it to the tenant `public`."""
    admin(broker.http_url, "PUT", f"clusters/{name}", record_of(service_url, http_url or "http://localhost:1"))
    allowed = [*admin(broker.http_url, "GET", "tenants/public")["allowedClusters"], name]
    admin(broker.http_url, "POST", "tenants/public", {"allowedClusters": allowed, "adminRoles": []})


def new_namespace(brokers: Iterable[EmbeddedBroker], name: str, clusters: list[str]) -> str:
    """A namespace of the tenant `public` in each broker, replicated among the clusters; returns its full name."""
    for broker in brokers:
        admin(broker.http_url, "PUT", f"namespaces/public/{name}")
        admin(broker.http_url, "POST", f"namespaces/public/{name}/replication", clusters)
    return f"public/{name}"


def replication_stats(broker: EmbeddedBroker, topic: str, cluster: str) -> dict[str, Any]:
    """The section of that cluster in the topic's stats."""
    path = topic.replace("://", "/")
    found: dict[str, Any] = admin(broker.http_url, "GET", f"{path}/stats")["replication"][cluster]
    return found
