"""The rules of who may do what: no other module decides it. Pure: knows neither commands nor paths.

Deny unless a rule allows. The rules are Pulsar's (docs, "Authorization and ACLs"), with its holes closed:
subscription roles also count where an operation of a namespace names a subscription, or acts on all of them, and
topics that belong to the broker need more than a permission (docs/how-to/security.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from broker_core.config.security import names
from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.security.operations import Kind, Operation
from broker_core.security.principal import RESERVED_ORIGINAL, Principal
from broker_core.security.provider import role_fault

if TYPE_CHECKING:
    from broker_core.config.security import SecurityConfig
    from broker_core.metadata.tenancy.documents import Tenant
    from broker_core.metadata.tenancy.permissions import Permissions
    from broker_core.names import NamespaceName, TopicName

PRODUCE, CONSUME, PACKAGES = "produce", "consume", "packages"
_EITHER = frozenset({PRODUCE, CONSUME})
_CONSUME = frozenset({CONSUME})
_ADMINS_ONLY: frozenset[str] = frozenset()  # no permission suffices

# For each operation the permissions of which one suffices.
TOPIC_OPERATIONS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("LOOKUP", "GET_STATS", "GET_METADATA"), _EITHER),
    "PRODUCE": frozenset({PRODUCE}),
    **dict.fromkeys(
        (
            "CONSUME",
            "SUBSCRIBE",
            "UNSUBSCRIBE",
            "SKIP",
            "EXPIRE_MESSAGES",
            "PEEK_MESSAGES",
            "RESET_CURSOR",
            "GET_SUBSCRIPTIONS",
            "GET_BACKLOG_SIZE",
            "SET_REPLICATED_SUBSCRIPTION_STATUS",
            "GET_REPLICATED_SUBSCRIPTION_STATUS",
        ),
        _CONSUME,
    ),
    **dict.fromkeys(
        (
            "TERMINATE",
            "COMPACT",
            "OFFLOAD",
            "UNLOAD",
            "TRIM_TOPIC",
            "UPDATE_METADATA",
            "DELETE_METADATA",
            "MIGRATE_TO_SCALABLE",
        ),
        _ADMINS_ONLY,
    ),
}
NAMESPACE_OPERATIONS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("GET_TOPIC", "GET_TOPICS", "GET_BUNDLE"), _EITHER),
    **dict.fromkeys(("UNSUBSCRIBE", "CLEAR_BACKLOG", "TRIM_TOPIC"), _CONSUME),
    "PACKAGES": frozenset({PACKAGES}),
    **dict.fromkeys(
        (
            "CREATE_TOPIC",
            "DELETE_TOPIC",
            "ADD_BUNDLE",
            "DELETE_BUNDLE",
            "GRANT_PERMISSION",
            "GET_PERMISSION",
            "REVOKE_PERMISSION",
        ),
        _ADMINS_ONLY,
    ),
}
TENANT_OPERATIONS = frozenset(
    {"CREATE_NAMESPACE", "DELETE_NAMESPACE", "LIST_NAMESPACES", "GET_TENANT", "UPDATE_TENANT", "DELETE_TENANT"}
)
SUPER_USER_TENANT_OPERATIONS = frozenset({"LIST_TENANTS", "CREATE_TENANT"})
_ON_EVERY_SUBSCRIPTION = frozenset({"CLEAR_BACKLOG", "EXPIRE_MESSAGES"})  # act on all if the request names none
_SUPER_USER_KINDS = frozenset({Kind.SUPER_USER, Kind.BROKER, Kind.CLUSTER, Kind.CLUSTER_POLICY})
_TENANT_ADMIN_KINDS = frozenset({Kind.TENANT_ADMIN, Kind.NAMESPACE_POLICY, Kind.TOPIC_POLICY})


class Target(NamedTuple):
    """The resource that an operation acts on; empty for the broker itself."""

    tenant: str = ""
    namespace: NamespaceName | None = None
    topic: TopicName | None = None
    subscription: str | None = None

    @classmethod
    def of_topic(cls, topic: TopicName, subscription: str | None = None) -> Target:
        return cls(topic.tenant, topic.namespace, topic, subscription)

    @classmethod
    def of_namespace(cls, namespace: NamespaceName, subscription: str | None = None) -> Target:
        return cls(namespace.tenant, namespace, None, subscription)

    def __str__(self) -> str:
        return str(self.topic or self.namespace or self.tenant or "the broker")


class Decision(NamedTuple):
    """`rule`: the rule that allows, or what is missing; never empty."""

    allowed: bool
    rule: str


class UnknownOperation(Exception):
    """An operation without a rule: a mistake in a table, found before the broker starts."""


def check_has_rule(operation: Operation) -> None:
    """Raises `UnknownOperation`."""
    known = {
        Kind.TOPIC: frozenset(TOPIC_OPERATIONS),
        Kind.NAMESPACE: frozenset(NAMESPACE_OPERATIONS),
        Kind.TENANT: TENANT_OPERATIONS | SUPER_USER_TENANT_OPERATIONS,
    }.get(operation.kind)
    if known is not None and operation.name not in known:
        raise UnknownOperation(f"no rule says who may do {operation}")


class Authorization:
    """`tenant_of` and `permissions_of` return None for what does not exist."""

    def __init__(
        self,
        config: SecurityConfig,
        tenant_of: Callable[[str], Tenant | None],
        permissions_of: Callable[[NamespaceName], Permissions | None],
        partitions_of: Callable[[TopicName], int],
    ) -> None:
        self._super_users = names(config.super_users)
        self._proxies = names(config.proxies)
        self._wildcards = config.wildcards
        self._tenant_of = tenant_of
        self._permissions_of = permissions_of
        self._partitions_of = partitions_of

    def check_principal(self, principal: Principal) -> str:
        """Why a connection may not have this principal; empty if it may. Only a proxy names another role."""
        if principal.role in self._proxies:
            named = principal.original
            valid = not role_fault(named) and named not in self._proxies and named != RESERVED_ORIGINAL
            return "" if valid else "a proxy must name the role of its client"
        return "only a role of proxyRoles may name an original principal" if principal.original else ""

    def is_proxy(self, role: str) -> bool:
        return role in self._proxies

    def decide(self, principal: Principal | None, operation: Operation, target: Target) -> Decision:
        """Behind a proxy both roles must be allowed."""
        if operation.kind is Kind.ANYONE:
            return Decision(True, "every client may")
        if principal is None:
            return Decision(False, "the client has no role")
        refused = self.check_principal(principal)
        if refused:
            return Decision(False, refused)
        decision = self._decide(principal.role, operation, target)
        if decision.allowed and principal.original:
            decision = self._decide(principal.original, operation, target)
        return decision

    def _decide(self, role: str, operation: Operation, target: Target) -> Decision:
        if role in self._super_users:
            return Decision(True, "superUserRoles")
        if operation.kind in _SUPER_USER_KINDS or operation.name in SUPER_USER_TENANT_OPERATIONS:
            return Decision(False, f"role {role} is not in superUserRoles")
        if _is_for_super_users(operation, target):
            return Decision(False, f"{target.topic} belongs to the broker; role {role} is not in superUserRoles")
        tenant = self._tenant_of(target.tenant)
        if tenant is not None and role in tenant.admin_roles:
            return Decision(True, f"role {role} is an admin of the tenant {target.tenant}")
        if operation.kind in _TENANT_ADMIN_KINDS or operation.kind is Kind.TENANT:
            return Decision(False, f"role {role} is not an admin of the tenant {target.tenant}")
        permissions = self._permissions_of(target.namespace) if target.namespace and tenant is not None else None
        # The reason is the same without the namespace, so that it tells no one which ones exist.
        return self._by_permission(role, operation, target, permissions or _no_permissions())

    def _by_permission(self, role: str, operation: Operation, target: Target, permissions: Permissions) -> Decision:
        table = TOPIC_OPERATIONS if operation.kind is Kind.TOPIC else NAMESPACE_OPERATIONS
        actions = table.get(operation.name, _ADMINS_ONLY)
        if not actions:
            return Decision(False, f"role {role} is not an admin of the tenant {target.tenant}")
        if target.topic is not None and _is_reserved(target.topic) and operation.name != "LOOKUP":
            return Decision(False, f"{target.topic} belongs to the broker; role {role} is not an admin of its tenant")
        # Permissions on topics do not count for the whole namespace.
        topic = target.topic if operation.kind is Kind.TOPIC else None
        permission = self._grant(role, actions, str(target.namespace), topic, permissions)
        if not permission:
            return Decision(False, f"role {role} has no permission to {' or '.join(sorted(actions))} on {target}")
        by_subscription = _subscription_refusal(role, operation, target, permissions) if actions == _CONSUME else ""
        return Decision(False, by_subscription) if by_subscription else Decision(True, permission)

    def _grant(
        self, role: str, actions: frozenset[str], namespace: str, topic: TopicName | None, permissions: Permissions
    ) -> str:
        """The permission that allows it; empty without one. The order is Pulsar's."""
        on_topic = permissions.of_topic(str(topic)) if topic is not None else {}
        grants = ((namespace, permissions.namespace), (str(topic), on_topic))
        for resource, roles in grants:
            if not actions.isdisjoint(roles.get(role, ())):
                return f"permission of role {role} on {resource}"
        if self._wildcards:
            for resource, roles in grants:
                for pattern, granted in roles.items():
                    if matches(pattern, role) and not actions.isdisjoint(granted):
                        return f"permission of {pattern} on {resource}"
        # A topic whose name only looks like a partition's has no base topic.
        if topic is not None and (topic.is_segment or (topic.is_partition and self._partitions_of(topic.base))):
            base = str(topic.base)
            if not actions.isdisjoint(permissions.of_topic(base).get(role, ())):
                return f"permission of role {role} on {base}"
        return ""


def _no_permissions() -> Permissions:
    from broker_core.metadata.tenancy.permissions import Permissions  # a broker without authorization never needs it

    return Permissions()


def _is_reserved(topic: TopicName) -> bool:
    return is_system_topic(topic) or topic.local.startswith("__")


def _is_for_super_users(operation: Operation, target: Target) -> bool:
    """A role that writes them changes the policies of others, so even tenant admins may not."""
    writes = operation.kind is Kind.TOPIC and operation.name == "PRODUCE"
    return writes and target.topic is not None and _is_reserved(target.topic)


def _subscription_refusal(role: str, operation: Operation, target: Target, permissions: Permissions) -> str:
    name = target.subscription
    if name is None:
        if operation.name not in _ON_EVERY_SUBSCRIPTION:
            return ""
        closed = next(
            (subscription for subscription, roles in permissions.subscriptions.items() if roles and role not in roles),
            None,
        )
        if closed is not None:
            return f"the subscription {closed} is not for role {role}"
        return f"subscription_auth_mode is Prefix: role {role} may not act on all" if permissions.by_prefix else ""
    roles = permissions.subscriptions.get(name, ())
    if roles and role not in roles:
        return f"the subscription {name} is not for role {role}"
    if permissions.by_prefix and not name.startswith(role):
        return f"The subscription name needs to be prefixed by the authentication role, like {role}-xxxx"
    return ""


def matches(pattern: str, role: str) -> bool:
    """Whether a permission for `*`, `*suffix`, or `prefix*` means the role; any other `*` is an ordinary character."""
    if pattern == "*":
        return True
    if pattern.startswith("*"):
        return role.endswith(pattern[1:])
    return pattern.endswith("*") and role.startswith(pattern[:-1])
