"""A histogram of latencies in bounded memory, exact to 1 percent. Pure.

As in HdrHistogram, buckets are linear within an octave: a latency below 256 µs has its own bucket, and each octave
above has 128 buckets, so that the middle of a bucket is within 0.4 percent of every latency in it.
"""

from array import array
from math import ceil

OCTAVE = 128  # buckets of each octave
EXACT_BELOW = 2 * OCTAVE
LONGEST_US = (1 << 36) - 1  # 19 hours; longer latencies count as this one


class Latencies:
    """Latencies in whole microseconds. The mean and the maximum are exact."""

    __slots__ = ("_buckets", "_sum", "count", "max_us")

    def __init__(self) -> None:
        self._buckets = array("Q", bytes(8 * (_bucket(LONGEST_US) + 1)))
        self._sum = 0
        self.count = 0
        self.max_us = 0

    def add(self, latency_us: int) -> None:
        latency_us = min(max(latency_us, 0), LONGEST_US)
        self._buckets[_bucket(latency_us)] += 1
        self._sum += latency_us
        self.count += 1
        self.max_us = max(self.max_us, latency_us)

    def merge(self, other: "Latencies") -> None:
        for bucket, count in enumerate(other._buckets):
            if count:
                self._buckets[bucket] += count
        self._sum += other._sum
        self.count += other.count
        self.max_us = max(self.max_us, other.max_us)

    @property
    def mean_us(self) -> float | None:
        return self._sum / self.count if self.count else None

    def percentile_us(self, percent: float) -> float | None:
        """The latency that at least `percent` of all latencies do not exceed, or None if there are none."""
        if not self.count:
            return None
        rank = max(1, ceil(round(percent * self.count / 100, 6)))  # rounded: 99.9 % of 1000 is 999, and not 1000
        seen = 0
        for bucket, count in enumerate(self._buckets):
            seen += count
            if seen >= rank:
                return min(_middle(bucket), float(self.max_us))
        raise AssertionError("the buckets hold fewer latencies than were added")


def _bucket(latency_us: int) -> int:
    if latency_us < EXACT_BELOW:
        return latency_us
    octave = latency_us.bit_length() - OCTAVE.bit_length()
    return octave * OCTAVE + (latency_us >> octave)


def _middle(bucket: int) -> float:
    if bucket < EXACT_BELOW:
        return float(bucket)
    octave = bucket // OCTAVE - 1
    first = (bucket - octave * OCTAVE) << octave
    return first + ((1 << octave) - 1) / 2
