"""Feeds mutated credentials, headers, certificates, and key sets to what judges them.

The invariants: each one is refused with `AuthenticationFailed` (a key set with `KeysUnavailable`), or gives a role that
its owner has proved. Nothing else is raised, and no role comes out of damaged data.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from broker_core.config.openid import OpenIdConfig
from broker_core.errors import AuthenticationFailed
from broker_core.security.authentication import Authentication
from broker_core.security.http_credentials import http_credentials
from broker_core.security.key_set import KeysUnavailable, parse_key_set
from broker_core.security.openid import OpenIdProvider
from broker_core.security.provider import Credentials
from tests.long.fuzz.mutation import mutated
from tests.support.authority import Authority
from tests.support.local_issuer import AUDIENCE, LocalIssuer
from tests.support.secured import SECRET, SECRET_URL, setup

ROLE = "proved"
PROVIDERS = "AuthenticationProviderToken,AuthenticationProviderBasic,AuthenticationProviderTls"
USERS = base64.b64encode(b"proved:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n").decode()  # the password is `password`
FUTURE = 4_000_000_000  # seconds

Trial = Callable[[bytes], Awaitable[object]]


class Fuzzing:
    """`folder` gets certificates. `trials`: by name, an original and what judges its mutations."""

    def __init__(self, folder: Path, issuer: LocalIssuer) -> None:
        certificate, _ = Authority(folder).issue(ROLE)
        der = x509.load_pem_x509_certificate(certificate.read_bytes()).public_bytes(serialization.Encoding.DER)
        token = jwt.encode({"sub": ROLE, "exp": FUTURE}, SECRET, "HS256").encode()
        given: dict[str, Any] = {
            "providers": PROVIDERS,
            "token_secret_key": SECRET_URL,
            "basic_file": f"data:;base64,{USERS}",
        }
        self._providers = Authentication.of(setup(**given))
        file = folder / "keys.json"
        file.write_text(json.dumps(issuer.key_set))
        self._openid = OpenIdProvider(setup(openid=_openid(issuer, file)))
        self.trials: dict[str, tuple[bytes, Trial]] = {
            "token": (token, lambda data: self._of_connection("token", Credentials(data))),
            "basic": (b"proved:password", lambda data: self._of_connection("basic", Credentials(data))),
            "certificate": (der, lambda data: self._of_connection("tls", Credentials(certificate=data))),
            "method": (b"token", lambda data: self._of_connection(data.decode(errors="replace"), Credentials(token))),
            "header": (b"Bearer " + token, self._of_request),
            "password header": (b"Basic " + base64.b64encode(b"proved:password"), self._of_request),
            "openid": (issuer.token(ROLE, exp=FUTURE).encode(), self._of_issuer),
            "key set": (json.dumps(issuer.key_set).encode(), _parsed),
        }

    async def _of_connection(self, method: str, credentials: Credentials) -> str:
        return (await self._providers.of_connection(method, credentials)).role

    async def _of_request(self, header: bytes) -> str:
        headers = {"Authorization": header.decode("utf-8", "surrogateescape")}  # as the HTTP library decodes it
        return (await self._providers.of_request(http_credentials(headers, {}), None)).role

    async def _of_issuer(self, data: bytes) -> str:
        return (await self._openid.authenticate(Credentials(data))).role

    async def run(self, count: int, seed: int) -> dict[str, int]:
        """How many of `count` mutations of each original were accepted. Raises `AssertionError`."""
        accepted = {}
        for name, (original, judge) in self.trials.items():
            chance = random.Random(f"{seed} {name}")
            accepted[name] = 0
            for _ in range(count):
                accepted[name] += await _accepts(name, mutated(original, chance), original, judge)
        return accepted


async def _accepts(name: str, data: bytes, original: bytes, judge: Trial) -> bool:
    try:
        found = await judge(data)
    except (AuthenticationFailed, KeysUnavailable):
        assert data != original, f"{name}: the original is refused"
        return False
    except Exception as error:
        raise AssertionError(f"{name}: {data!r} gives {error!r}") from error
    # A common name is inside of a signature that TLS has checked before, so that here any name can come out of it.
    assert found == ROLE or name in ("certificate", "key set"), f"{name}: {data!r} gives the role {found!r}"
    return True


async def _parsed(data: bytes) -> object:
    return await asyncio.to_thread(parse_key_set, data)


def _openid(issuer: LocalIssuer, file: Path) -> OpenIdConfig:
    given: dict[str, Any] = {"issuers": issuer.url, "key_sets": f"{issuer.url}={file}", "audiences": AUDIENCE}
    return OpenIdConfig(require_https=False, miss_seconds=FUTURE, **given)
