"""Counts all connections, and those of each address, with a limit for both. 0 means no limit."""

from __future__ import annotations

from collections import Counter


class ConnectionCount:
    def __init__(self, most: int, most_per_host: int) -> None:
        self._most = most
        self._most_per_host = most_per_host
        self._by_host: Counter[str] = Counter()
        self.taken = 0

    def take(self, host: str) -> str:
        """Counts a connection and returns "", or returns why it must be refused; then it does not count."""
        if 0 < self._most <= self.taken:
            return "Reached the maximum number of connections"
        if 0 < self._most_per_host <= self._by_host[host]:
            return f"Reached the maximum number of connections on address {host}"
        self.taken += 1
        self._by_host[host] += 1
        return ""

    def free(self, host: str) -> None:
        self.taken -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]  # a client with many addresses must not fill the memory
