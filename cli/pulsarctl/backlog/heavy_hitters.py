"""The most frequent names among very many, and how many different ones there are, in bounded memory. Pure.

`HeavyHitters` is a Misra-Gries summary, and `DistinctCount` keeps the smallest hashes (k minimum values). Both merge,
and both are exact while the number of different names is small.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import mmh3
import numpy as np

CAPACITY = 1000
HASHES_KEPT = 2048
_HASH_SPACE = float(1 << 64)


@dataclass(slots=True)
class HeavyHitters:
    """`counts` are lower bounds: each true count is at most `error` higher. 0 means that all counts are exact."""

    counts: dict[str, int] = field(default_factory=dict)
    error: int = 0

    def add(self, counts: Iterable[tuple[str, int]]) -> None:
        own = self.counts
        for name, count in counts:
            own[name] = own.get(name, 0) + count
        self._shrink()

    def merge(self, other: "HeavyHitters") -> None:
        self.error += other.error
        self.add(other.counts.items())

    def top(self, number: int) -> list[tuple[str, int]]:
        """The most frequent first, and equal ones by name."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:number]

    def _shrink(self) -> None:
        """Subtracts from all counts what the first name beyond the capacity has."""
        if len(self.counts) <= CAPACITY:
            return
        surplus = sorted(self.counts.values(), reverse=True)[CAPACITY]
        self.counts = {name: count - surplus for name, count in self.counts.items() if count > surplus}
        self.error += surplus


@dataclass(slots=True)
class DistinctCount:
    """Exact below `HASHES_KEPT`, then with a standard error of about 2 percent."""

    hashes: "np.ndarray[tuple[int], np.dtype[np.uint64]]" = field(default_factory=lambda: np.empty(0, np.uint64))

    def add(self, names: Iterable[str]) -> None:
        hashed = [mmh3.hash64(name, signed=False)[0] for name in names]
        self._keep(np.array(hashed, dtype=np.uint64))

    def merge(self, other: "DistinctCount") -> None:
        self._keep(other.hashes)

    @property
    def is_exact(self) -> bool:
        return len(self.hashes) < HASHES_KEPT

    def estimate(self) -> int:
        if self.is_exact:
            return len(self.hashes)
        return round((HASHES_KEPT - 1) * _HASH_SPACE / float(self.hashes[-1]))

    def _keep(self, more: "np.ndarray[tuple[int], np.dtype[np.uint64]]") -> None:
        self.hashes = np.union1d(self.hashes, more)[:HASHES_KEPT]
