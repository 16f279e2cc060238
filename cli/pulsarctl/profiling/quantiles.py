"""Quantiles of very many numbers in bounded memory, without chance: the same input gives the same answer.

The sketch of Munro and Paterson: a level holds up to `CAPACITY` numbers, each of which stands for 2^level numbers. A
full level is sorted, and every other number moves up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

CAPACITY = 4096


@dataclass(slots=True)
class QuantileSketch:
    """Exact for up to `CAPACITY` numbers; then the rank is within 1 percent for a billion of them.

    All numbers of a sketch have one type, because a double has no room for every 64-bit integer.
    """

    levels: list[Any] = field(default_factory=list)
    halvings: int = 0

    @property
    def is_exact(self) -> bool:
        return not self.halvings

    def add(self, numbers: Any) -> None:
        self._put(0, numbers)

    def merge(self, other: "QuantileSketch") -> None:
        self.halvings += other.halvings
        for level, numbers in enumerate(other.levels):
            self._put(level, numbers)

    def at(self, shares: Sequence[float]) -> list[Any]:
        """For each share, the smallest number that at least this share of all numbers does not exceed."""
        if not self.levels:
            return []
        numbers = np.concatenate(self.levels)
        weights = np.concatenate([np.full(len(each), 1 << level) for level, each in enumerate(self.levels)])
        if not len(numbers):
            return []
        order = np.argsort(numbers, kind="stable")
        ranks = np.cumsum(weights[order])
        places = np.searchsorted(ranks, np.array(shares) * ranks[-1])
        return [numbers[order][min(place, len(numbers) - 1)].item() for place in places]

    def _put(self, level: int, numbers: Any) -> None:
        while len(self.levels) <= level:
            self.levels.append(numbers[:0])
        held = np.concatenate([self.levels[level], numbers])
        if len(held) <= CAPACITY:
            self.levels[level] = held
            return
        held.sort()
        kept = len(held) % 2  # an odd one cannot be halved
        self.levels[level] = held[:kept]
        first = self.halvings % 2  # alternately the lower and the upper of each pair
        self.halvings += 1
        self._put(level + 1, held[kept + first :: 2])
