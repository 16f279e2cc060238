"""Method `token`: an access token of an OpenID Connect issuer, which publishes the keys that sign it."""

from __future__ import annotations

import asyncio
import functools
import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from broker_core.config.security import names
from broker_core.errors import AuthenticationFailed, InvalidConfiguration
from broker_core.security.claims import ClaimRules
from broker_core.security.issuer_documents import IssuerDocuments, keys_in, path_of, problem_of
from broker_core.security.issuer_keys import IssuerKeys
from broker_core.security.key_set import KeysUnavailable
from broker_core.security.provider import Credentials, Identity
from broker_core.security.token import header_of, text_of, unverified_claims, verified_claims

if TYPE_CHECKING:
    from broker_core.config.openid import OpenIdConfig
    from broker_core.security.provider_setup import Setup

REQUIRED = ("iat", "exp", "nbf", "sub", "aud")


class OpenIdProvider:
    method: ClassVar[str] = "token"

    def __init__(self, setup: Setup) -> None:
        # Imported now, so that a missing library keeps the broker from starting.
        for library in ("jwt", "cryptography", "aiohttp"):
            importlib.import_module(library)
        config = setup.openid
        self._clock = setup.clock
        self._rules = _rules(config)
        self._issuers = _issuers(setup)

    async def authenticate(self, credentials: Credentials) -> Identity:
        token = text_of(credentials.data)
        key_id = header_of(token).get("kid")
        if not isinstance(key_id, str):
            raise AuthenticationFailed("the token names no key")
        issuer: Any = unverified_claims(token).get("iss")
        keys = self._issuers.get(issuer) if isinstance(issuer, str) else None
        if keys is None:
            raise AuthenticationFailed("the issuer of the token is not in openIDAllowedTokenIssuers")
        claims = verified_claims(token, await keys.find(key_id))
        return self._rules.identity(claims, self._clock.wall_ms())


def _rules(config: OpenIdConfig) -> ClaimRules:
    audiences = names(config.audiences)
    if not audiences:
        raise InvalidConfiguration("set openIDAllowedAudiences, so that tokens for other services are refused")
    role = config.role_claim.strip() or "sub"
    return ClaimRules(role, "aud", audiences, config.leeway_seconds, REQUIRED, issued_in_past=True)


def _issuers(setup: Setup) -> dict[str, IssuerKeys]:
    config = setup.openid
    documents = IssuerDocuments(config)
    sources = _key_sources(config)
    issuers = {}
    for issuer in names(config.issuers):
        problem = problem_of(issuer, config)
        if problem:
            raise InvalidConfiguration(f"cannot use {issuer!r} in openIDAllowedTokenIssuers: {problem}")
        load = _source(issuer, sources.pop(issuer, ""), documents, config)
        issuers[issuer] = IssuerKeys(issuer, load, config, setup.clock, setup.spawn)
    if not issuers:
        raise InvalidConfiguration("set openIDAllowedTokenIssuers to the URLs of the issuers")
    if sources:
        raise InvalidConfiguration(f"openIDAllowedTokenIssuers lacks {next(iter(sources))!r} of openIDIssuerKeySets")
    return issuers


def _key_sources(config: OpenIdConfig) -> dict[str, str]:
    """The files and URLs of the keys of issuers without discovery."""
    sources = {}
    for entry in names(config.key_sets):
        issuer, equals, source = entry.partition("=")
        if not equals or not source.strip():
            raise InvalidConfiguration(f"cannot use {entry!r} in openIDIssuerKeySets: write ISSUER=FILE or ISSUER=URL")
        sources[issuer.strip()] = source.strip()
    return sources


def _source(issuer: str, source: str, documents: IssuerDocuments, config: OpenIdConfig) -> Any:
    """A function that reads the keys. A file is read now, too, so that a broken one keeps the broker from starting."""
    if not source:
        return functools.partial(documents.discovered_keys, issuer)
    path = path_of(source)
    if path is None:
        problem = problem_of(source, config)
        if problem:
            raise InvalidConfiguration(f"cannot use {source!r} in openIDIssuerKeySets: {problem}")
        return functools.partial(documents.keys_at, source)
    try:
        keys_in(path)
    except KeysUnavailable as error:
        raise InvalidConfiguration(f"openIDIssuerKeySets: {error}") from None
    return functools.partial(asyncio.to_thread, keys_in, path)
