"""The users of the console that signed in: a cookie stands for the credentials, which stay in the broker's memory.

A session proves nothing: every request authenticates with its credentials again, so that a token that expires, or a
password that changes, ends it. A restart ends all sessions.
"""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from broker_core.clock import Clock
from broker_core.config.console import ConsoleConfig

_NAME_BYTES = 32
COOKIE = "pulsarctl_console"
# Not http.cookies: a cookie of another server on this host that it cannot parse would hide ours.
_OURS = re.compile(rf"(?:^|;)[ \t]*{COOKIE}=([-_A-Za-z0-9]{{43}})[ \t]*(?=;|$)")


@dataclass(slots=True, eq=False, repr=False)
class Session:
    """`headers`: those that authenticate a request."""

    headers: dict[str, str]
    used_at: float


class Sessions:
    """Bounded: with one more than `consoleMaxSessions`, the one that was not used for the longest time ends."""

    def __init__(self, config: ConsoleConfig, clock: Clock) -> None:
        self._most = config.sessions
        self._idle_seconds = config.idle_seconds
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def open(self, headers: dict[str, str]) -> str:
        """The value of the cookie."""
        self._end_idle()
        while len(self._sessions) >= self._most:
            self._sessions.popitem(last=False)
        name = secrets.token_urlsafe(_NAME_BYTES)
        self._sessions[name] = Session(headers, self._clock.monotonic())
        return name

    def find(self, cookies: str) -> Session | None:
        """The session that a Cookie header names; it is used now."""
        self._end_idle()
        for name in _OURS.findall(cookies):
            if (session := self._sessions.get(name)) is not None:
                session.used_at = self._clock.monotonic()
                self._sessions.move_to_end(name)
                return session
        return None

    def close(self, cookies: str) -> None:
        for name in _OURS.findall(cookies):
            self._sessions.pop(name, None)

    def _end_idle(self) -> None:
        ends = self._clock.monotonic() - self._idle_seconds
        while self._sessions and next(iter(self._sessions.values())).used_at < ends:
            self._sessions.popitem(last=False)
