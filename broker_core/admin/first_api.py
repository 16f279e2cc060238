"""Translates paths of Pulsar's first admin API, with a cluster between tenant and namespace, into the second one. Pure.

Clients and old tools use it for topics with names of four parts, `persistent://tenant/cluster/namespace/topic`.
"""

from __future__ import annotations

_TOPICS = frozenset({"persistent", "non-persistent", "schemas"})
_LOOKUP = ["lookup", "v2", "destination"]
_RENAMED = {"properties": "tenants", "clusters": "clusters"}


def translate(path: str) -> tuple[str, str]:
    """The path without its cluster, and the cluster as sent; other paths are returned unchanged, with ""."""
    parts = [part for part in path.split("/") if part]
    if parts[:3] == _LOOKUP and len(parts) > 7:
        return _joined("lookup", "v2", "topic", *parts[3:5], *parts[6:]), parts[5]
    if len(parts) < 2 or parts[0] != "admin":
        return path, ""
    kind, rest = parts[1], parts[2:]
    if kind in _RENAMED:
        return _joined("admin", "v2", _RENAMED[kind], *rest), ""
    if kind == "namespaces" and len(rest) == 1:
        return _joined("admin", "v2", kind, *rest), ""
    if kind == "namespaces" and rest[1:-1] == ["antiAffinity"]:  # follows a cluster, and pulsar-admin uses this path
        return _joined("admin", "v2", kind, *rest), ""
    if kind in _TOPICS | {"namespaces"} and len(rest) >= 3:
        return _joined("admin", "v2", kind, rest[0], *rest[2:]), rest[1]
    return path, ""


def _joined(*parts: str) -> str:
    return "/" + "/".join(parts)
