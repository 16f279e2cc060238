"""The managed ledger of a topic, as Pulsar names it: tenant/namespace/domain/encoded local name. Pure."""

from urllib.parse import quote


def managed_ledger_name(topic: str) -> str:
    domain, _, rest = topic.partition("://")
    tenant, namespace, local = rest.split("/", 2)
    return f"{tenant}/{namespace}/{domain}/{quote(local, safe='')}"
