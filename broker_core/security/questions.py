"""Whether a role may do something, as people ask it: an action and a resource, turned into an operation. Pure.

`pulsarctl auth can ROLE ACTION RESOURCE` asks a broker by `admin.permissions_asked`, and computes the answer from
permissions where the broker is an Apache Pulsar.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.errors import InvalidRequest
from broker_core.names import NamespaceName, check_entity, parse_topic
from broker_core.security.authorization import (
    NAMESPACE_OPERATIONS,
    SUPER_USER_TENANT_OPERATIONS,
    TENANT_OPERATIONS,
    TOPIC_OPERATIONS,
    Target,
)
from broker_core.security.operations import SUPER_USER, TENANT_ADMIN, Kind, Operation

BROKER = "*"
ADMINISTRATE = "administrate"  # what only admins of the tenant may do, or super-users on the broker
POLICIES = "policies"  # reading and changing them; both take the same permission


def asked(action: str, resource: str, subscription: str | None = None) -> tuple[Operation, Target]:
    """`resource`: a topic, TENANT/NAMESPACE, TENANT, or `*` for the broker. Raises `InvalidRequest`, `InvalidName`."""
    name = action.strip().upper().replace("-", "_")
    if resource == BROKER:
        return _of_broker(name), Target()
    if "://" in resource or resource.count("/") > 1:
        return _of_topic(name), Target.of_topic(parse_topic(resource), subscription)
    if "/" in resource:
        return _of_namespace(name), Target.of_namespace(NamespaceName.parse(resource), subscription)
    check_entity("Tenant", resource)
    if name == ADMINISTRATE.upper():
        return TENANT_ADMIN, Target(resource)
    return Operation(Kind.TENANT, _known(name, TENANT_OPERATIONS, f"the tenant {resource}")), Target(resource)


def _of_broker(name: str) -> Operation:
    if name == ADMINISTRATE.upper():
        return SUPER_USER
    return Operation(Kind.TENANT, _known(name, SUPER_USER_TENANT_OPERATIONS, "the broker"))


def _of_topic(name: str) -> Operation:
    if name == ADMINISTRATE.upper():
        return TENANT_ADMIN
    if name == POLICIES.upper():
        return Operation(Kind.TOPIC_POLICY, "ALL_WRITE")
    return Operation(Kind.TOPIC, _known(name, (*TOPIC_OPERATIONS, POLICIES), "a topic"))


def _of_namespace(name: str) -> Operation:
    if name == ADMINISTRATE.upper():
        return TENANT_ADMIN
    if name == POLICIES.upper():
        return Operation(Kind.NAMESPACE_POLICY, "ALL_WRITE")
    return Operation(Kind.NAMESPACE, _known(name, (*NAMESPACE_OPERATIONS, POLICIES), "a namespace"))


def _known(name: str, names: Iterable[str], resource: str) -> str:
    """The name, if it is one of these. Raises `InvalidRequest` that lists them."""
    if name in names:
        return name
    spelled = ", ".join(sorted(known.lower().replace("_", "-") for known in (*names, ADMINISTRATE)))
    raise InvalidRequest(f"there is no action {name.lower().replace('_', '-')} on {resource}; use one of {spelled}")
