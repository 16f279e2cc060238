"""The names of a cluster that complete a word.

Persistent topics have their short form, because a colon ends a word in bash.
"""

from pulsarctl.shell.call import Call
from pulsarctl.values.names import without_partition

DEFAULT = "public/default"
PERSISTENT = "persistent://"


def candidates(call: Call, kind: str, prefix: str) -> list[str]:
    """Names up to the next slash."""
    parts = prefix.split("/")
    if kind == "TENANT":
        return call.admin.tenants.list()
    if kind == "NAMESPACE":
        return _namespaces(call, parts, "")
    if kind == "TOPIC" and len(parts) == 1:
        return _topics(call, DEFAULT, "") + _namespaces(call, parts, "/")
    if kind == "TOPIC":
        return _namespaces(call, parts, "/") if len(parts) == 2 else _topics(call, "/".join(parts[:2]), "/")
    return []


def _namespaces(call: Call, parts: list[str], end: str) -> list[str]:
    if len(parts) == 1:
        return [f"{tenant}/" for tenant in call.admin.tenants.list()]
    return [f"{name}{end}" for name in call.admin.namespaces.list(parts[0])]


def _topics(call: Call, namespace: str, separator: str) -> list[str]:
    """Each partitioned topic once, without the default namespace."""
    listed = call.admin.topics.list(namespace, domain="persistent")
    bases = dict.fromkeys(without_partition(name) for name in listed)
    stripped = [name.removeprefix(f"{PERSISTENT}{namespace}/") for name in bases]
    return [f"{namespace}/{name}" for name in stripped] if separator else stripped
