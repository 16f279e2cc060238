"""Messages by publish time, in at most `BUCKETS_MAX` buckets of equal width. Pure.

The width is the smallest power-of-two multiple of a second that covers everything, so it depends only on the first and
the last time. Merging in any order gives the same result.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

BUCKETS_MAX = 256
WIDTH_MIN_MS = 1000


@dataclass(slots=True)
class Timeline:
    """`counts` by bucket: the number of a bucket times the width is its first millisecond since the epoch."""

    width_ms: int = WIDTH_MIN_MS
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, times_ms: "np.ndarray[Any, Any]", messages: "np.ndarray[Any, Any]") -> None:
        if not len(times_ms):
            return
        self._widen(int(times_ms.min()), int(times_ms.max()))
        buckets, index = np.unique(times_ms // self.width_ms, return_inverse=True)
        sums = np.bincount(index, weights=messages)
        for bucket, count in zip(buckets.tolist(), sums.tolist(), strict=True):
            self.counts[bucket] = self.counts.get(bucket, 0) + int(count)

    def merge(self, other: "Timeline") -> None:
        if other.counts:
            times = np.array([bucket * other.width_ms for bucket in other.counts])
            self._widen(int(times.min()), int(times.max()), other.width_ms)
            self.add(times, np.array(list(other.counts.values())))

    def _widen(self, first_ms: int, last_ms: int, width_ms: int = WIDTH_MIN_MS) -> None:
        """Chooses a width at which the old and the new times fit."""
        if self.counts:
            first_ms = min(first_ms, min(self.counts) * self.width_ms)
            last_ms = max(last_ms, max(self.counts) * self.width_ms)
        width = max(self.width_ms, width_ms)
        while last_ms // width - first_ms // width >= BUCKETS_MAX:
            width *= 2
        if width != self.width_ms:
            before, ratio, self.width_ms, self.counts = self.counts, width // self.width_ms, width, {}
            for bucket, count in before.items():
                self.counts[bucket // ratio] = self.counts.get(bucket // ratio, 0) + count
