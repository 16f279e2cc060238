"""The role in the claims of a token with a good signature, and its expiry. Pure.

Stricter than Pulsar where Pulsar accepts what no issuer means: an `exp` of null, control characters in a role, and a
token without a role (docs/how-to/security.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.errors import AuthenticationFailed
from broker_core.security.provider import Identity, checked_role


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """`audiences`: one of them must be in the claim `audience_claim`; empty to not look at it.

    `issued_in_past`: whether a token whose `iat` is in the future is refused.
    """

    role_claim: str = "sub"
    audience_claim: str = ""
    audiences: frozenset[str] = frozenset()
    skew_seconds: int = 0
    required: tuple[str, ...] = ()
    issued_in_past: bool = False

    def identity(self, claims: Mapping[str, Any], now_ms: int) -> Identity:
        """Raises `AuthenticationFailed`."""
        for name in self.required:
            if name not in claims:
                raise AuthenticationFailed(f"the token has no claim {name}")
        expires = _time(claims, "exp")
        not_before = _time(claims, "nbf")
        skew_ms = self.skew_seconds * 1000
        if expires is not None and now_ms >= expires + skew_ms:
            raise AuthenticationFailed("the token has expired")
        if not_before is not None and now_ms < not_before - skew_ms:
            raise AuthenticationFailed("the token is not valid yet")
        if self.issued_in_past and now_ms < (_time(claims, "iat") or 0) - skew_ms:
            raise AuthenticationFailed("the token is from the future")
        if self.audience_claim:
            self._check_audience(claims.get(self.audience_claim))
        role = claims.get(self.role_claim)
        if isinstance(role, list):
            role = next((name for name in role if isinstance(name, str)), None)
        return Identity(checked_role(role), None if expires is None else expires + skew_ms)

    def _check_audience(self, audience: object) -> None:
        named = audience if isinstance(audience, list) else [audience]
        if not any(isinstance(name, str) and name in self.audiences for name in named):
            raise AuthenticationFailed("the token is for another audience")


def _time(claims: Mapping[str, Any], name: str) -> int | None:
    """Milliseconds; None without the claim."""
    if name not in claims:
        return None
    value = claims[name]
    try:
        if isinstance(value, bool):
            raise ValueError
        seconds = float(value)
        if not math.isfinite(seconds):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise AuthenticationFailed(f"the claim {name} of the token is not a time") from None
    return int(seconds * 1000)
