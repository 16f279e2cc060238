"""Authentication and authorization of a request, once for each request, before its handler.

Statuses and reasons are those of Pulsar. 401 or 403 depends on the kind of the operation; clients treat both alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.admin.peer import certificate_of
from broker_core.errors import AuthenticationFailed, Forbidden, NotFound, Unauthorized
from broker_core.security.authorization import Target, check_has_rule
from broker_core.security.http_credentials import METHOD_HEADER
from broker_core.security.operations import Kind, Operation
from broker_core.security.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aiohttp import web

    from broker_core.admin.call import Call
    from broker_core.admin.routes import Route
    from broker_core.security.service import Security
    from broker_core.security.sessions import Sessions

NOT_AUTHENTICATED = "Authentication required"
_ALWAYS_OPEN = "/status.html"  # load balancers have no credentials
_METRICS = "/metrics"
_ORIGINAL_HEADER = "X-Original-Principal"
_CONSOLE = "/console"
_ONCE = ("Authorization", _ORIGINAL_HEADER, METHOD_HEADER)
_FORBIDDEN = frozenset({Kind.NAMESPACE, Kind.NAMESPACE_POLICY, Kind.TOPIC_POLICY})
_TENANT_FIRST = frozenset(
    {Kind.TENANT, Kind.TENANT_ADMIN, Kind.NAMESPACE, Kind.NAMESPACE_POLICY, Kind.TOPIC, Kind.TOPIC_POLICY}
)


def is_console(path: str) -> bool:
    return path.strip("/") == "" or path == _CONSOLE or path.startswith(f"{_CONSOLE}/")


class Guard:
    def __init__(self, security: Security, routes: Iterable[Route], sessions: Sessions | None = None) -> None:
        """Raises `UnknownOperation` for a route that no rule decides."""
        for route in routes:
            check_has_rule(route.operation)
        self._security = security
        self._sessions = sessions

    async def principal(self, request: web.BaseRequest, path: str, query: Mapping[str, str]) -> Principal | None:
        """The sender; None while authentication is off, and where it is not needed. Raises `AuthenticationFailed`."""
        security = self._security
        if security.authentication is None or self._is_open(path):
            return None
        for name in _ONCE:
            if len(request.headers.getall(name, ())) > 1:  # a reverse proxy may have checked another one
                raise AuthenticationFailed(f"the header {name} appears more than once")
        if is_console(path):
            return await self._user_of_console(request)
        host = request.remote or "gone"
        identity = await security.authenticate_request(host, request.headers, query, certificate_of(request))
        original = request.headers.get(_ORIGINAL_HEADER, "")
        if not original.isascii():  # servers disagree about the encoding of headers
            raise AuthenticationFailed(f"the header {_ORIGINAL_HEADER} has characters outside ASCII")
        if not security.is_proxy(identity.role) and original == identity.role:
            original = ""
        return Principal(identity.role, original)

    async def _user_of_console(self, request: web.BaseRequest) -> Principal | None:
        """The user; None if one has to sign in. A session takes precedence; an address holds no credentials."""
        session = self._sessions.find(request.headers.get("Cookie", "")) if self._sessions else None
        headers, certificate = (session.headers, b"") if session else (request.headers, certificate_of(request))
        try:
            identity = await self._security.authenticate_request(request.remote or "gone", headers, {}, certificate)
        except AuthenticationFailed:
            return None
        return Principal(identity.role)

    def _is_open(self, path: str) -> bool:
        bare = path.rstrip("/")
        return bare == _ALWAYS_OPEN or (bare == _METRICS and not self._security.config.authenticate_metrics)

    def check(self, route: Route, call: Call) -> None:
        """Raises `Unauthorized` (401), `Forbidden` (403), or `NotFound` unless the caller may use the route."""
        authorization, operation = self._security.authorization, route.operation
        if authorization is None:
            return
        target = _target(route, call)
        decision = authorization.decide(call.principal, operation, target)
        if decision.allowed:
            return
        self._security.audit.denied(call.principal, str(operation), str(target), decision.rule, call.client)
        self._check_tenant(operation, target, call)
        text = _denial(operation, target, call.principal)
        error = Forbidden if operation.kind in _FORBIDDEN else Unauthorized
        raise error(f"{text}: {decision.rule}")

    def _check_tenant(self, operation: Operation, target: Target, call: Call) -> None:
        """As in Pulsar, every authenticated role learns that a tenant does not exist."""
        creates = operation.name in ("CREATE_TENANT", "LIST_TENANTS")
        asked = call.principal is not None and bool(target.tenant) and operation.kind in _TENANT_FIRST and not creates
        if asked and call.broker.tenancy.find_tenant(target.tenant) is None:
            raise NotFound("Tenant does not exist")


def _target(route: Route, call: Call) -> Target:
    """The resource that the route acts on: the names that its handler uses, decoded in the same way."""
    parts = call.parts
    subscription = call.subscription() if "subscription" in parts else None
    if "topic" in parts:
        topic = call.topic() if "domain" in parts else call.topic_of(route.domain)
        return Target.of_topic(topic, subscription)
    if "namespace" in parts:
        return Target.of_namespace(call.namespace(), subscription)
    if "tenant" in parts:
        return Target(call.part("tenant"))
    return Target()


def _denial(operation: Operation, target: Target, principal: Principal | None) -> str:
    kind, name = operation.kind, operation.name
    original, role = (principal.original or "null", principal.role) if principal else ("null", "null")
    who = f"for originalPrincipal [{original}] and clientAppId [{role}]"
    policy, _, access = name.rpartition("_")
    texts = {
        Kind.TOPIC: f"Unauthorized to validateTopicOperation for operation [{name}] on topic [{target}]",
        Kind.NAMESPACE: f"Unauthorized to validateNamespaceOperation for operation [{name}] on namespace [{target}]",
        Kind.NAMESPACE_POLICY: (
            f"Unauthorized to validateNamespacePolicyOperation for operation [{access}] on namespace [{target}]"
            f" on policy [{policy}]"
        ),
        Kind.TOPIC_POLICY: (
            f"Unauthorized to validateTopicPolicyOperation for operation [{access}] on topic [{target}]"
            f" on policy [{policy}]"
        ),
        Kind.TENANT: (
            f"Unauthorized to validateTenantOperation {who} about operation [{name}] on tenant [{target.tenant}]"
        ),
        Kind.BROKER: f"Unauthorized to validateBothSuperuserAndBrokerOperation {who} about operation [{name}]",
        Kind.CLUSTER: f"Unauthorized to validateBothSuperuserAndClusterOperation {who} about operation [{name}]",
        Kind.CLUSTER_POLICY: (
            f"Unauthorized to validateBothSuperuserAndClusterPolicyOperation {who} about operation [{name}]"
        ),
        Kind.TENANT_ADMIN: "Don't have permission to administrate resources on this tenant",
    }
    return texts.get(kind, "This operation requires super-user access")
