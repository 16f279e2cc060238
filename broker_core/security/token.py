"""Method `token`: a JSON Web Token, signed with a secret key or by the owner of a private key."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from broker_core.errors import AuthenticationFailed, InvalidConfiguration
from broker_core.security.claims import ClaimRules
from broker_core.security.keys import TokenKey, public_key, secret_key
from broker_core.security.provider import Credentials, Identity

if TYPE_CHECKING:
    from broker_core.config.security import SecurityConfig
    from broker_core.security.provider_setup import Setup

# The claims are checked in `claims`, by the broker's clock and Pulsar's rules.
_ONLY_SIGNATURE: Any = {
    "verify_signature": True,
    **{f"verify_{name}": False for name in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")},
}
_NOTHING: Any = {**_ONLY_SIGNATURE, "verify_signature": False}


class TokenProvider:
    method: ClassVar[str] = "token"

    def __init__(self, setup: Setup) -> None:
        importlib.import_module("jwt")  # imported now, so that a missing library keeps the broker from starting
        self._key = _configured_key(setup.config)
        self._rules = _configured_rules(setup.config)
        self._clock = setup.clock

    async def authenticate(self, credentials: Credentials) -> Identity:
        claims = verified_claims(text_of(credentials.data), self._key)
        return self._rules.identity(claims, self._clock.wall_ms())


def _configured_key(config: SecurityConfig) -> TokenKey:
    if config.token_secret_key:
        return secret_key("tokenSecretKey", config.token_secret_key)
    if config.token_public_key:
        return public_key("tokenPublicKey", config.token_public_key)
    raise InvalidConfiguration("cannot check tokens: set tokenSecretKey or tokenPublicKey")


def _configured_rules(config: SecurityConfig) -> ClaimRules:
    if config.token_audience_claim and not config.token_audience:
        raise InvalidConfiguration("cannot check audiences: tokenAudienceClaim needs tokenAudience")
    audiences = frozenset({config.token_audience}) if config.token_audience_claim else frozenset()
    return ClaimRules(
        config.token_claim or "sub", config.token_audience_claim, audiences, skew_seconds=config.token_skew_seconds
    )


def text_of(data: bytes) -> str:
    """The token; whitespace around it is of the file that the client read."""
    try:
        token = data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise AuthenticationFailed("the token is not text") from None
    if not token:
        raise AuthenticationFailed("the token is empty")
    return token


def header_of(token: str) -> dict[str, Any]:
    """The header of a token, which nothing has verified yet."""
    import jwt

    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise AuthenticationFailed("not a token") from None
    if "crit" in header:  # RFC 7515: what must be understood, and is not
        raise AuthenticationFailed("the token has a critical header that is not supported")
    return header


def unverified_claims(token: str) -> dict[str, Any]:
    """The claims of a token before anything is verified: they may only choose the key."""
    import jwt

    try:
        claims: dict[str, Any] = jwt.decode(token, options=_NOTHING)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise AuthenticationFailed("not a token") from None
    return claims


def verified_claims(token: str, key: TokenKey) -> dict[str, Any]:
    """Raises `AuthenticationFailed` unless the key signed the token with an algorithm of its own family."""
    import jwt

    header_of(token)
    try:
        claims: dict[str, Any] = jwt.decode(token, key.key, algorithms=list(key.algorithms), options=_ONLY_SIGNATURE)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise AuthenticationFailed(f"the token is not valid: {type(error).__name__}") from None
    return claims
