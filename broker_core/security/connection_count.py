"""Counts all connections, and those of each address, with a limit for both. 0 means no limit."""

from __future__ import annotations

from collections import Counter

FULL = "Reached the maximum number of connections"
FULL_FOR_HOST = "Reached the maximum number of connections on address {host}"


class ConnectionCount:
    def __init__(self, most: int, most_per_host: int, *, full: str = FULL, full_for_host: str = FULL_FOR_HOST) -> None:
        """The texts are the reasons of a refusal; that for an address may name the `host`."""
        self._full = full
        self._full_for_host = full_for_host
        self._most = most
        self._most_per_host = most_per_host
        self._by_host: Counter[str] = Counter()
        self.taken = 0

    def take(self, host: str) -> str:
        """Counts a connection and returns "", or returns why it must be refused; then it does not count."""
        if 0 < self._most <= self.taken:
            return self._full
        if 0 < self._most_per_host <= self._by_host[host]:
            return self._full_for_host.format(host=host)
        self.taken += 1
        self._by_host[host] += 1
        return ""

    def free(self, host: str) -> None:
        self.taken -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]  # a client with many addresses must not fill the memory
