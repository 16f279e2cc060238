"""The cost of failed authentications: first a delay, then a refusal without a check. By address, and by user name.

This slows down who guesses. Credentials that were accepted before are checked at once, so that a client with a wrong
password locks out no other client with the same address, or of the same user.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ipaddress
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_core.errors import AuthenticationFailed
from broker_core.security.attempts import Attempts
from broker_core.security.check_queue import CheckQueue
from broker_core.security.provider import Credentials, Identity
from broker_core.tasks import waited_out

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.security import SecurityConfig

BASIC = "basic"  # the method whose checks are slow
DELAYED_MAX = 1_000  # answers; more are refused at once
ACCEPTED_MAX = 10_000  # credentials to remember
_NETWORK_BITS = 64  # bits of an IPv6 address; a client can have all addresses of such a network


@dataclass(frozen=True, slots=True)
class Attempt:
    """`method`: for the log and the metrics. `is_proxied`: the address is that of a proxy, and not its client's."""

    address: str
    method: str
    sent: tuple[tuple[str, Credentials], ...] = field(repr=False)
    is_proxied: bool = False

    @property
    def is_a_guess(self) -> bool:
        """A client without credentials guesses nothing, and costs nothing to refuse."""
        return any(credentials.data or credentials.certificate for _, credentials in self.sent)

    @property
    def user(self) -> bytes:
        """The user whose password the client claims to know; empty for credentials that cannot be guessed."""
        return next((credentials.data.partition(b":")[0] for method, credentials in self.sent if method == BASIC), b"")

    @property
    def has_password(self) -> bool:
        return any(method == BASIC for method, _ in self.sent)


class LoginThrottle:
    """`succeeded` and `failed` count by method."""

    def __init__(self, config: SecurityConfig, clock: Clock) -> None:
        self._by_address = Attempts(config.failed_attempts, config.refused_attempts, clock)
        self._by_user = Attempts(config.failed_attempts_of_user, config.refused_attempts, clock)
        self._checks = CheckQueue(config.timeout_seconds)
        self._secret = secrets.token_bytes(32)
        self._accepted: dict[bytes, None] = {}  # what credentials hash to; the oldest first
        self._delayed = 0
        self.succeeded: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._refused = 0

    @property
    def refused(self) -> int:
        """The attempts that were not checked."""
        return self._refused + self._checks.refused

    async def judged(self, attempt: Attempt, judge: Callable[[], Awaitable[Identity]]) -> Identity:
        """Returns or raises what `judge` does, after the delay in any case; raises `AuthenticationFailed`."""
        proof = self._proof(attempt)
        async with self._check(attempt, is_known=proof in self._accepted) as delay:
            verdict = self._verdict(attempt, proof, judge)
            # A client that leaves does not end the hashing: the check continues, and a wrong guess counts.
            result = await (waited_out(verdict) if attempt.has_password else verdict)
        await self._wait(delay)
        if isinstance(result, AuthenticationFailed):
            raise result
        return result

    async def _verdict(
        self, attempt: Attempt, proof: bytes, judge: Callable[[], Awaitable[Identity]]
    ) -> Identity | AuthenticationFailed:
        """Returns or raises what `judge` does; from now on, the outcome counts."""
        try:
            identity = await judge()
        except AuthenticationFailed as error:
            self._accepted.pop(proof, None)
            self._count(attempt)
            return error
        self.succeeded[attempt.method] += 1
        self._remember(proof)
        return identity

    @contextlib.asynccontextmanager
    async def _check(self, attempt: Attempt, *, is_known: bool) -> AsyncIterator[float]:
        """Waits until the attempt may be checked, in the body, and says how long its answer must be delayed."""
        delay = 0.0 if is_known else self._delay(attempt)
        if not attempt.has_password:
            yield delay
            return
        subjects = self._subjects(attempt)
        async with self._checks.admission(
            tuple(subjects), lambda: -1 if is_known else sum(attempts.recent(key) for attempts, key in subjects)
        ):
            yield 0.0 if is_known else self._delay(attempt)  # others may have failed in the meantime

    def _subjects(self, attempt: Attempt) -> list[tuple[Attempts, bytes]]:
        if not attempt.is_a_guess:
            return []
        subjects = [] if attempt.is_proxied else [(self._by_address, _network(attempt.address))]
        return [*subjects, (self._by_user, self._hash(attempt.user))] if attempt.user else subjects

    def _delay(self, attempt: Attempt) -> float:
        subjects = self._subjects(attempt)
        if any(attempts.refuses(subject) for attempts, subject in subjects):
            self._refused += 1
            raise AuthenticationFailed("too many failed attempts; not checked")
        return max((attempts.delay(subject) for attempts, subject in subjects), default=0.0)

    def _count(self, attempt: Attempt) -> None:
        self.failed[attempt.method] += 1
        for attempts, subject in self._subjects(attempt):
            attempts.failed(subject)

    async def _wait(self, seconds: float) -> None:
        if not seconds:
            return
        if self._delayed >= DELAYED_MAX:
            self._refused += 1
            raise AuthenticationFailed("too many failed attempts at a time")
        self._delayed += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._delayed -= 1

    # Credentials that were accepted before

    def _remember(self, proof: bytes) -> None:
        self._accepted.pop(proof, None)
        self._accepted[proof] = None
        if len(self._accepted) > ACCEPTED_MAX:
            del self._accepted[next(iter(self._accepted))]

    def _proof(self, attempt: Attempt) -> bytes:
        parts = (
            part
            for method, credentials in attempt.sent
            for part in (method.encode(), credentials.data, credentials.certificate)
        )
        return self._hash(*parts)

    def _hash(self, *parts: bytes) -> bytes:
        """Hash with a secret of this process, so that nothing of a password is in memory."""
        digest = hashlib.blake2b(key=self._secret, digest_size=16)
        for part in parts:
            digest.update(len(part).to_bytes(4, "big") + part)
        return digest.digest()


def _network(address: str) -> bytes:
    address = address.lstrip("/")  # as Pulsar writes it
    if ":" not in address:
        return address.encode()
    try:
        return ipaddress.IPv6Address(address.partition("%")[0]).packed[: _NETWORK_BITS // 8]
    except ValueError:
        return address.encode()
