"""Which way to authenticate judges a client: chosen by the method that it names, as in Pulsar.

PROVIDERS lists every way by Pulsar's class name. A known method with bad credentials is refused and never becomes
anonymous; a client without a method, or with an unknown one, has the anonymous role if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker_core.config.security import names
from broker_core.errors import AuthenticationFailed, BrokerError, InvalidConfiguration
from broker_core.security.basic import BasicProvider
from broker_core.security.openid import OpenIdProvider
from broker_core.security.provider import Credentials, Identity, Provider, role_fault
from broker_core.security.provider_setup import Setup
from broker_core.security.tls import TlsProvider
from broker_core.security.token import TokenProvider

PACKAGE = "org.apache.pulsar.broker.authentication."
PROVIDERS: dict[str, Callable[[Setup], Provider]] = {
    "AuthenticationProviderToken": TokenProvider,
    "AuthenticationProviderTls": TlsProvider,
    "AuthenticationProviderBasic": BasicProvider,
    "AuthenticationProviderOpenID": OpenIdProvider,
}
_LIBRARIES = {"jwt": "PyJWT", "cryptography": "cryptography", "bcrypt": "bcrypt"}


class Authentication:
    """The configured providers, in their order."""

    def __init__(self, providers: list[Provider], anonymous_role: str, *, is_strict: bool = False) -> None:
        """`is_strict`: a request that does not name its method is refused."""
        self._providers = providers
        self._anonymous = anonymous_role
        self._is_strict = is_strict

    @classmethod
    def of(cls, setup: Setup) -> Authentication:
        """Raises `InvalidConfiguration` for an unknown class, an unusable key, or a missing library."""
        config = setup.config
        listed = [name.strip() for name in config.providers.split(",") if name.strip()]
        if not listed:
            known = ", ".join(PROVIDERS)
            raise InvalidConfiguration(
                f"authenticationEnabled needs authenticationProviders; set it to one or more of {known}"
            )
        anonymous = config.anonymous_role.strip()
        if anonymous in names(config.super_users):
            raise InvalidConfiguration("anonymousUserRole must not be one of superUserRoles: everyone would have it")
        if anonymous and (fault := role_fault(anonymous)):
            raise InvalidConfiguration(f"anonymousUserRole names a role {fault}")
        return cls([_provider(name, setup) for name in listed], anonymous, is_strict=config.strict_method)

    async def of_connection(self, method: str, credentials: Credentials) -> Identity:
        """The identity of a client of the binary protocol; raises `AuthenticationFailed`."""
        judges = [provider for provider in self._providers if provider.method == method]
        if not judges:
            return self._anonymous_or("no credentials" if method in ("", "none") else f"unknown method {method[:64]!r}")
        return await _first(judges, credentials)

    async def of_request(self, sent: Mapping[str, Credentials], method: str | None) -> Identity:
        """The identity of an HTTP request; raises `AuthenticationFailed`. `method`: which of them the client names."""
        if method is not None:
            if method not in sent:
                raise AuthenticationFailed(f"no credentials for the method {method[:64]!r}")
            judges = [provider for provider in self._providers if provider.method == method]
            return await _first(judges, sent[method])
        if self._is_strict:
            raise AuthenticationFailed("the request names no method (strictAuthMethod)")
        failure: AuthenticationFailed | None = None
        for provider in self._providers:
            if provider.method in sent:
                try:
                    return await provider.authenticate(sent[provider.method])
                except AuthenticationFailed as error:
                    failure = error
        return self._anonymous_or(failure.reason if failure else "no credentials")

    @property
    def methods(self) -> frozenset[str]:
        return frozenset(provider.method for provider in self._providers)

    def _anonymous_or(self, reason: str) -> Identity:
        if not self._anonymous:
            raise AuthenticationFailed(reason)
        return Identity(self._anonymous)


async def _first(judges: list[Provider], credentials: Credentials) -> Identity:
    """The first provider that accepts; of several with one method, the last one says why not."""
    failure = AuthenticationFailed("unknown method")
    for judge in judges:
        try:
            return await judge.authenticate(credentials)
        except AuthenticationFailed as error:
            failure = error
    raise failure


def _provider(name: str, setup: Setup) -> Provider:
    short = name.rpartition(".")[2]
    if short not in PROVIDERS or (short != name and not name.startswith(PACKAGE)):
        known = ", ".join(PROVIDERS)
        raise InvalidConfiguration(f"unknown class {name!r} in authenticationProviders; use one or more of {known}")
    try:
        return PROVIDERS[short](setup)
    except ImportError as error:
        library = _LIBRARIES.get((error.name or "").partition(".")[0], error.name)
        raise InvalidConfiguration(
            f"{short} needs {library}, which is not installed: pip install 'pulsarctl[security]'"
        ) from None
    except BrokerError as error:
        raise InvalidConfiguration(f"{short}: {error}") from None
