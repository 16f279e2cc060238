"""The security of a broker: what is switched on, and where to ask. Created once, before the first client."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING

from broker_core.config.security import names
from broker_core.errors import AuthenticationFailed, InvalidConfiguration, Unauthorized
from broker_core.security.attempts import Attempts
from broker_core.security.audit import Audit
from broker_core.security.authentication import Authentication
from broker_core.security.authorization import Authorization, Decision, Target
from broker_core.security.operations import Operation
from broker_core.security.principal import Principal
from broker_core.security.provider import Credentials, Identity
from broker_core.security.provider_setup import Setup

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.openid import OpenIdConfig
    from broker_core.config.security import SecurityConfig
    from broker_core.tasks import Spawn
    from broker_core.tenancy.tenancy import Tenancy

REFUSED = "Failed to authenticate"  # all that a client learns; the reason is in the log
DELAYED_MAX = 1_000  # answers; more are refused at once


class Security:
    """`authentication` and `authorization` are None while they are switched off."""

    def __init__(self, config: SecurityConfig, openid: OpenIdConfig, clock: Clock, spawn: Spawn) -> None:
        """Raises `InvalidConfiguration`: a broker that cannot keep its promises does not start."""
        if config.authorization and not config.authentication:
            raise InvalidConfiguration("authorizationEnabled needs authenticationEnabled: roles must be proved")
        self.config = config
        self.authentication = Authentication.of(Setup(config, openid, clock, spawn)) if config.authentication else None
        self.authorization: Authorization | None = None
        self.attempts = Attempts(config.failed_attempts, clock)
        self.audit = Audit(config.audit_file, clock)
        self._proxies = names(config.proxies)
        self._strangers: Counter[str] = Counter()  # connections that have not authenticated yet, by address
        self._delayed = 0

    def use(self, tenancy: Tenancy) -> None:
        """Decides by these tenants and permissions from now on."""
        if self.config.authorization:
            self.authorization = Authorization(self.config, tenancy.find_tenant, tenancy.find_permissions)

    def is_proxy(self, role: str) -> bool:
        return role in self._proxies

    def decide(self, principal: Principal | None, operation: Operation, target: Target) -> Decision:
        if self.authorization is None:
            return Decision(True, "authorization is switched off")
        return self.authorization.decide(principal, operation, target)

    def principal(self, role: str, original: str) -> Principal:
        """The principal of a connection; raises `Unauthorized` if the role may not name another one."""
        found = Principal(role, original)
        if self.authorization is not None and self.authorization.check_principal(found):
            raise Unauthorized("Invalid roles.")
        return found

    # Authentication

    async def authenticate(self, host: str, method: str, credentials: Credentials) -> Identity:
        """The identity of a client of the binary protocol; raises `AuthenticationFailed`."""
        return await self._judged(host, method, self._authentication.of_connection(method, credentials))

    async def authenticate_request(
        self, host: str, headers: Mapping[str, str], query: Mapping[str, str], certificate: bytes
    ) -> Identity:
        """The identity of an HTTP request; raises `AuthenticationFailed`."""
        return await self._judged(host, "http", self._authentication.of_request(headers, query, certificate))

    @property
    def _authentication(self) -> Authentication:
        if self.authentication is None:
            raise AuthenticationFailed("authentication is switched off")
        return self.authentication

    async def _judged(self, host: str, method: str, judgment: Awaitable[Identity]) -> Identity:
        """Delays the answer to an address with many failures, whatever the answer is."""
        delay = self.attempts.delay(host)
        try:
            identity = await judgment
        except AuthenticationFailed as error:
            self.attempts.failed(host)
            self.audit.failed(method, error.reason, host)
            await self._delay(delay)
            raise
        await self._delay(delay)
        return identity

    async def _delay(self, seconds: float) -> None:
        if not seconds:
            return
        if self._delayed >= DELAYED_MAX:
            raise AuthenticationFailed("too many failed attempts at a time")
        self._delayed += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._delayed -= 1

    # Connections that have not authenticated yet

    def arrived(self, host: str) -> bool:
        """Counts a new connection; False if the address has too many of them."""
        most = self.config.max_unauthenticated
        if 0 < most <= self._strangers[host]:
            return False
        self._strangers[host] += 1
        return True

    def known(self, host: str) -> None:
        """A counted connection has authenticated, or is gone."""
        self._strangers[host] -= 1
        if self._strangers[host] <= 0:
            del self._strangers[host]
