"""The common interface of all ways to authenticate: credentials go in, an identity comes out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from broker_core.errors import AuthenticationFailed

LONGEST_ROLE = 1024  # characters
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials that a client sent, and how it connected. The secrets are not in the text of the object.

    `certificate`: the client's certificate in DER form, which TLS has verified; empty without one.
    """

    data: bytes = field(default=b"", repr=False)
    certificate: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """`expires_ms`: wall clock; None for credentials that do not expire."""

    role: str
    expires_ms: int | None = None


class Provider(Protocol):
    """One way to authenticate. `method` is its name in CONNECT and in `X-Pulsar-Auth-Method-Name`."""

    method: ClassVar[str]

    async def authenticate(self, credentials: Credentials) -> Identity:
        """Raises `AuthenticationFailed` with a reason for the log, which the client does not get."""


def checked_role(role: object) -> str:
    """The role; raises `AuthenticationFailed` for what must not be one."""
    if not isinstance(role, str):
        raise AuthenticationFailed("the credentials name no role")
    fault = role_fault(role)
    if fault:
        raise AuthenticationFailed(f"the credentials name a role {fault}")
    return role


def role_fault(role: str) -> str:
    """The reason why a text is not a role; empty if it is one.

    A role is stored, logged, listed in the configuration, and named to brokers by proxies, and must stay the same. HTTP
    and lists of roles remove outer spaces, so with them a role would become another one.
    """
    if not role.strip():
        return "that is empty"
    if role != role.strip():
        return "that begins or ends with a space"
    if len(role) > LONGEST_ROLE or _CONTROL.search(role):
        return "that is too long, or has control characters or invalid Unicode"
    return ""
