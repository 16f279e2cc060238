"""The sources of an issuer's keys: its discovery document, a URL, or a file. Every answer is limited in size.

Discovery is that of OpenID Connect (`/.well-known/openid-configuration`). Redirects are not followed, and no URL of a
token is ever requested: only the operator names issuers.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from broker_core.errors import InvalidConfiguration
from broker_core.security.key_set import KeysUnavailable, parse_key_set, parse_object

if TYPE_CHECKING:
    from broker_core.config.openid import OpenIdConfig
    from broker_core.security.keys import TokenKey

DISCOVERY = "/.well-known/openid-configuration"
LARGEST = 1 << 20  # bytes of a document
_PIECE = 64 * 1024


class IssuerDocuments:
    def __init__(self, config: OpenIdConfig) -> None:
        """Raises `InvalidConfiguration`."""
        self._config = config
        self._context = _context(config.trust_file)

    async def discovered_keys(self, issuer: str) -> dict[str, TokenKey]:
        """Raises `KeysUnavailable`."""
        where = issuer.rstrip("/") + DISCOVERY
        metadata = await self._fetch(where)
        try:
            described = parse_object(metadata)
        except KeysUnavailable as error:
            raise KeysUnavailable(f"cannot use {where}: {error}") from None
        if described.get("issuer") != issuer:
            raise KeysUnavailable(f"cannot use {where}: it belongs to another issuer")
        url = described.get("jwks_uri")
        if not isinstance(url, str):
            raise KeysUnavailable(f"cannot use {where}: it has no jwks_uri")
        return await self.keys_at(url)

    async def keys_at(self, url: str) -> dict[str, TokenKey]:
        """Raises `KeysUnavailable`."""
        problem = problem_of(url, self._config)
        if problem:
            raise KeysUnavailable(f"cannot use the key set {url[:200]!r}: {problem}")
        content = await self._fetch(url)
        try:
            return await asyncio.to_thread(parse_key_set, content)
        except KeysUnavailable as error:
            raise KeysUnavailable(f"cannot use {url}: {error}") from None

    async def _fetch(self, url: str) -> bytes:
        import aiohttp

        connect, read = self._config.connect_timeout_ms / 1000, self._config.read_timeout_ms / 1000
        limits = aiohttp.ClientTimeout(total=connect + read, sock_connect=connect, sock_read=read)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            async with (
                aiohttp.ClientSession(timeout=limits, auto_decompress=False) as session,
                session.get(url, headers=headers, allow_redirects=False, ssl=self._context) as answer,
            ):
                if answer.status != 200:
                    raise KeysUnavailable(f"cannot use {url}: it answers {answer.status}")
                return await _limited(url, answer.content)
        except TimeoutError:
            raise KeysUnavailable(f"cannot use {url}: no answer in time") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise KeysUnavailable(f"cannot use {url}: {error or type(error).__name__}") from None


async def _limited(url: str, content: object) -> bytes:
    document = bytearray()
    while piece := await content.read(_PIECE):  # type: ignore[attr-defined]  # aiohttp's StreamReader, imported late
        document += piece
        if len(document) > LARGEST:
            raise KeysUnavailable(f"cannot use {url}: it is larger than {LARGEST} bytes")
    return bytes(document)


def keys_in(path: Path) -> dict[str, TokenKey]:
    """Reads a file; raises `KeysUnavailable`."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise KeysUnavailable(f"it is larger than {LARGEST} bytes")
        return parse_key_set(content)
    except (OSError, ValueError, KeysUnavailable) as error:
        raise KeysUnavailable(f"cannot use {path}: {error}") from None


def path_of(place: str) -> Path | None:
    """The path in a `file:` URL or a plain path; None for another URL."""
    if place.startswith("file:"):
        return Path(unquote(place.removeprefix("file:").removeprefix("//")))
    return None if "://" in place else Path(place)


def problem_of(url: str, config: OpenIdConfig) -> str:
    """Why a URL of an issuer or of its keys cannot be used; empty if it can."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "it is not a URL"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "it is not an https URL"
    if config.require_https and parts.scheme != "https":
        return "it is not an https URL; openIDRequireIssuersUseHttps=false allows http"
    return ""


def _context(trust_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=trust_file or None)
    except (OSError, ValueError) as error:
        raise InvalidConfiguration(f"cannot use openIDTokenIssuerTrustCertsFilePath {trust_file}: {error}") from None
