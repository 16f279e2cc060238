"""What a broker has -> a document that `apply` reads: only what is set, in a fixed order."""

from typing import Any

from pulsarctl.state.documents import escaped
from pulsarctl.state.live import Document, Found, Objects
from pulsarctl.state.scope import Scope


def document(found: Found, scope: Scope) -> dict[str, Any]:
    sections = {"scope": sorted(scope.names), **objects(found)}
    return {key: escaped(value) for key, value in sections.items() if value}


def objects(found: Found) -> dict[str, Any]:
    """Without the broker's own cluster where it goes without saying, so that another cluster can have the same."""
    return {
        "clusters": found.clusters,
        "tenants": {name: _tenant(one, found.cluster) for name, one in found.tenants.items()},
        "namespaces": {name: _set(one) for name, one in found.namespaces.items()},
        "topics": {name: _topic(one) for name, one in found.topics.items()},
    }


def _tenant(tenant: Document, cluster: str) -> Document:
    own_alone = tenant.get("allowedClusters") == [cluster]
    return _set({key: value for key, value in tenant.items() if not (own_alone and key == "allowedClusters")})


def _topic(topic: Document) -> Document:
    subscriptions: Objects = topic.get("subscriptions") or {}
    return _set(topic | {"subscriptions": {name: _set(one) for name, one in subscriptions.items()}})


def _set(values: Document) -> Document:
    return {key: value for key, value in values.items() if value not in (None, {}, [], 0, "")}
