"""The keys of one issuer: cached, renewed in time, and requested again when a token names a key that is new.

An issuer that is slow or down costs no more than one request at a time. Keys that are cached stay in use meanwhile,
until they expire.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from broker_core.errors import AuthenticationFailed
from broker_core.security.key_set import KeysUnavailable

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.openid import OpenIdConfig
    from broker_core.security.keys import TokenKey
    from broker_core.tasks import Spawn

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0  # seconds between two requests to an issuer that fails
_NEVER = float("-inf")


class IssuerKeys:
    """`load` raises `KeysUnavailable`, and ends in a bounded time."""

    def __init__(
        self,
        issuer: str,
        load: Callable[[], Awaitable[dict[str, TokenKey]]],
        config: OpenIdConfig,
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        self._issuer = issuer
        self._load = load
        self._config = config
        self._clock = clock
        self._spawn = spawn
        self._keys: dict[str, TokenKey] = {}
        self._loaded = self._asked = _NEVER  # monotonic times of the last success, and of the last end
        self._problem = ""
        self._loading: asyncio.Task[None] | None = None

    async def find(self, key_id: str) -> TokenKey:
        """Raises `AuthenticationFailed` if the issuer has no such key, or does not answer."""
        age = self._clock.monotonic() - self._loaded
        if age >= self._config.expiration_seconds:
            self._keys = {}
        if not self._keys:
            await self._renew(RETRY_SECONDS)
        elif age >= self._config.refresh_seconds and self._may_ask(RETRY_SECONDS):
            self._begin()
        if not self._keys:
            raise AuthenticationFailed(f"cannot get the keys of the issuer {self._issuer}: {self._problem}")
        if key_id not in self._keys:
            await self._renew(self._config.miss_seconds)
        if key_id not in self._keys:
            raise AuthenticationFailed(f"the issuer {self._issuer} has no key {key_id[:64]!r}")
        return self._keys[key_id]

    async def _renew(self, pause: float) -> None:
        """Waits for a request that runs, or makes one unless the last one ended less than `pause` ago."""
        if self._loading is None and not self._may_ask(pause):
            return
        # A caller may leave; all callers share the request.
        await asyncio.shield(self._begin())

    def _may_ask(self, pause: float) -> bool:
        return self._clock.monotonic() >= self._asked + pause

    def _begin(self) -> asyncio.Task[None]:
        if self._loading is None:
            self._loading = self._spawn(self._request())
        return self._loading

    async def _request(self) -> None:
        try:
            self._keys = await self._load()
            self._loaded = self._clock.monotonic()
            log.info("issuer %s: read %d keys", self._issuer, len(self._keys))
        except KeysUnavailable as error:
            self._problem = str(error)
            log.warning("issuer %s: cannot read its keys: %s", self._issuer, error)
        finally:
            self._asked = self._clock.monotonic()
            self._loading = None
