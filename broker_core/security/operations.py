"""Operations: what a command or a route does, in the terms that permissions use. Pure.

Kinds and names are those of Pulsar's `AuthorizationProvider` (docs, "Authorization and ACLs"). A topic operation that
belongs to a subscription is asked for with the subscription's name.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The kind of resource that an operation acts on, which decides which permissions count."""

    ANYONE = "anyone"
    SUPER_USER = "superUser"
    TENANT_ADMIN = "tenantAdmin"
    BROKER = "broker"
    CLUSTER = "cluster"
    CLUSTER_POLICY = "clusterPolicy"
    TENANT = "tenant"
    NAMESPACE = "namespace"
    NAMESPACE_POLICY = "namespacePolicy"
    TOPIC = "topic"
    TOPIC_POLICY = "topicPolicy"


class Operation(NamedTuple):
    """`name` is empty for the kinds that have no operations."""

    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.name}" if self.name else self.kind.value


ANYONE = Operation(Kind.ANYONE)
SUPER_USER = Operation(Kind.SUPER_USER)
TENANT_ADMIN = Operation(Kind.TENANT_ADMIN)


def on_broker(name: str) -> Operation:
    return Operation(Kind.BROKER, name)


def on_cluster(name: str) -> Operation:
    return Operation(Kind.CLUSTER, name)


def on_tenant(name: str) -> Operation:
    return Operation(Kind.TENANT, name)


def on_namespace(name: str) -> Operation:
    return Operation(Kind.NAMESPACE, name)


def on_topic(name: str) -> Operation:
    return Operation(Kind.TOPIC, name)


def cluster_policy(method: str) -> Operation:
    return Operation(Kind.CLUSTER_POLICY, _access(method))


def namespace_policy(policy: str, method: str) -> Operation:
    """`policy`: Pulsar's `PolicyName`; a GET reads it, and other methods write it."""
    return Operation(Kind.NAMESPACE_POLICY, f"{policy}_{_access(method)}")


def topic_policy(policy: str, method: str) -> Operation:
    return Operation(Kind.TOPIC_POLICY, f"{policy}_{_access(method)}")


def _access(method: str) -> str:
    return "READ" if method == "GET" else "WRITE"
