"""What the proxy counts: connections now, for the limits, and events since the start, for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from broker_core.config.proxy import ProxyLimits


@dataclass
class Counts:
    """`requests` and `rejected` by the name of the request in the metrics. Bytes and chunks are of ended splices."""

    new: int = 0
    rejected_connections: int = 0
    bytes: int = 0
    chunks: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)


class Places:
    """How many connections there are, and how many of each address."""

    def __init__(self, limits: ProxyLimits) -> None:
        self._limits = limits
        self._by_host: Counter[str] = Counter()
        self.taken = 0

    def take(self, host: str) -> str | None:
        """Counts a connection. Returns why it must be refused, or None; it counts in either case."""
        self.taken += 1
        self._by_host[host] += 1
        limits = self._limits
        if 0 < limits.max_connections < self.taken:
            return "Reached the maximum number of connections"
        if 0 < limits.max_connections_per_ip < self._by_host[host]:
            return f"Reached the maximum number of connections on address {host}"
        return None

    def free(self, host: str) -> None:
        self.taken -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
