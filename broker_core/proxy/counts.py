"""The counters of the proxy since its start, for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """`requests` and `rejected` by the name of the request in the metrics. Bytes and chunks are of ended splices."""

    new: int = 0
    rejected_connections: int = 0
    bytes: int = 0
    chunks: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
