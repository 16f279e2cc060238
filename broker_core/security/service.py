"""The security of a broker: what is switched on, and where to ask. Created once, before the first client."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from broker_core.config.security import names
from broker_core.errors import AuthenticationFailed, InvalidConfiguration, Unauthorized
from broker_core.security.audit import AuditLog
from broker_core.security.authorization import Authorization, Decision, Target
from broker_core.security.http_credentials import METHOD_HEADER, http_credentials
from broker_core.security.login_throttle import Attempt, LoginThrottle
from broker_core.security.operations import Operation
from broker_core.security.principal import Principal
from broker_core.security.provider import Credentials, Identity
from broker_core.security.unauthenticated import UnauthenticatedConnections

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.openid import OpenIdConfig
    from broker_core.config.security import SecurityConfig
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.security.authentication import Authentication
    from broker_core.tasks import Spawn

REFUSED = "Failed to authenticate"  # all that a client learns; the reason is in the log


class Security:
    """`authentication` and `authorization` are None while they are switched off."""

    def __init__(self, config: SecurityConfig, openid: OpenIdConfig, clock: Clock, spawn: Spawn) -> None:
        """Raises `InvalidConfiguration`: a broker that cannot keep its promises does not start."""
        if config.authorization and not config.authentication:
            raise InvalidConfiguration(
                "authorizationEnabled needs authenticationEnabled: without it, the broker cannot verify roles"
            )
        self.config = config
        self.authentication = _authentication(config, openid, clock, spawn) if config.authentication else None
        self.authorization: Authorization | None = None
        self.throttle = LoginThrottle(config, clock)
        self.audit = AuditLog(config.audit_file, clock)
        self._proxies = names(config.proxies)
        self.unauthenticated = UnauthenticatedConnections(config.max_unauthenticated, config.timeout_seconds)

    def use(self, tenancy: Tenancy) -> None:
        """Decides by these tenants and permissions from now on."""
        if self.config.authorization:
            self.authorization = Authorization(
                self.config, tenancy.find_tenant, tenancy.find_permissions, tenancy.partitioned.count
            )

    def is_proxy(self, role: str) -> bool:
        return role in self._proxies

    def decide(self, principal: Principal | None, operation: Operation, target: Target) -> Decision:
        if self.authorization is None:
            return Decision(True, "authorization is switched off")
        return self.authorization.decide(principal, operation, target)

    def principal(self, role: str, original: str) -> Principal:
        """The principal of a connection; raises `Unauthorized` if the role may not name another one."""
        principal = Principal(role, original)
        if self.authorization is not None and self.authorization.check_principal(principal):
            raise Unauthorized("Invalid roles.")
        return principal

    # Authentication

    async def authenticate(
        self, host: str, method: str, credentials: Credentials, *, is_proxied: bool = False
    ) -> Identity:
        """The identity of a client of the binary protocol; raises `AuthenticationFailed`.

        `is_proxied`: `host` is that of the proxy which passes on its client's credentials.
        """
        judge = functools.partial(self._authentication.of_connection, method, credentials)
        return await self._judged(Attempt(host, self._counted(method), ((method, credentials),), is_proxied), judge)

    async def authenticate_request(
        self, host: str, headers: Mapping[str, str], query: Mapping[str, str], certificate: bytes
    ) -> Identity:
        """The identity of an HTTP request; raises `AuthenticationFailed`."""
        sent = http_credentials(headers, query, certificate)
        named = headers.get(METHOD_HEADER)
        method = self._counted(named or next(iter(sent), "none"))
        judge = functools.partial(self._authentication.of_request, sent, named)
        return await self._judged(Attempt(host, method, tuple(sent.items())), judge)

    @property
    def _authentication(self) -> Authentication:
        if self.authentication is None:
            raise AuthenticationFailed("authentication is disabled")
        return self.authentication

    def _counted(self, method: str) -> str:
        """The method as the log and the metrics name it: clients can send any text."""
        if method in ("", "none"):
            return "none"
        return method if method in self._authentication.methods else "unknown"

    async def _judged(self, attempt: Attempt, judge: Callable[[], Awaitable[Identity]]) -> Identity:
        try:
            return await self.throttle.judged(attempt, judge)
        except AuthenticationFailed as error:
            self.audit.failed(attempt.method, error.reason, attempt.address)
            raise


def _authentication(config: SecurityConfig, openid: OpenIdConfig, clock: Clock, spawn: Spawn) -> Authentication:
    # Imported here: a broker without authentication needs none of its providers.
    from broker_core.security.authentication import Authentication
    from broker_core.security.provider_setup import Setup

    return Authentication.of(Setup(config, openid, clock, spawn))
