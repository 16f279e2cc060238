"""On whose behalf a request comes: a role, and behind a proxy also the role that the proxy names. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# Reserved by Pulsar's WebSocket component; a client may not claim it.
RESERVED_ORIGINAL = "__websocket_dummy_original_principle"


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a command: a role, and behind a proxy also the original one."""

    role: str
    original: str = ""

    def __str__(self) -> str:
        """The text for the log, quoted, because a role may have spaces."""
        return f"{self.original!r} through {self.role!r}" if self.original else repr(self.role)

    @property
    def name(self) -> str:
        """The role that is meant: behind a proxy, that of its client."""
        return self.original or self.role
