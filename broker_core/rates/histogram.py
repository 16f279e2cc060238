"""Counts how often a value fell between bounds, over about the last minute.

Like `Rate`: adding reads no clock, and the broker samples every half minute, so counts are 30 to 60 seconds old at
most. A histogram of something that does not happen holds no counts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from operator import mul


class Histogram:
    """`bounds` ascend, and the last count is for values above the last bound. `count` and `sum` only grow."""

    __slots__ = ("_before", "_now", "bounds", "count", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.count = 0
        self.sum = 0.0
        self._now: _Window | None = None
        self._before: _Window | None = None

    def add(self, value: float, times: int = 1) -> None:
        """A value equal to a bound counts below it."""
        self._add(bisect_left(self.bounds, value), times, value * times)

    def add_all(self, values: Sequence[float]) -> None:
        """Adds many values; in one step if all of them are between the same bounds, as they usually are."""
        place = bisect_left(self.bounds, min(values))
        if place == bisect_left(self.bounds, max(values)):
            self._add(place, len(values), sum(values))
        else:
            self._add_sorted(sorted(values))

    def add_times(self, values: Sequence[float], times: Sequence[int]) -> None:
        """Adds many values, each that number of times."""
        count = sum(times)
        if count == len(values):
            self.add_all(values)
            return
        bounds, counts = self.bounds, self._grow(count, sum(map(mul, values, times)))
        for value, number in zip(values, times, strict=True):
            counts[bisect_left(bounds, value)] += number

    def _add_sorted(self, values: list[float]) -> None:
        reached = 0
        for place, bound in enumerate((*self.bounds, inf)):
            before, reached = reached, bisect_right(values, bound, reached)
            if reached > before:
                self._add(place, reached - before, sum(values[before:reached]))

    def _add(self, place: int, times: int, total: float) -> None:
        self._grow(times, total)[place] += times

    def _grow(self, times: int, total: float) -> list[int]:
        """The recent counts, to which `times` is to be added."""
        now = self._now
        if now is None:
            now = self._now = _Window(len(self.bounds) + 1)
        now.sum += total
        self.count += times
        self.sum += total
        return now.counts

    def sample(self) -> None:
        self._before, self._now = self._now, None

    @property
    def any_recent(self) -> bool:
        """Whether something was added in the last 30 to 60 seconds."""
        return self._now is not None or self._before is not None

    def recent(self) -> tuple[list[int], float] | None:
        """The counts and the sum over the last 30 to 60 seconds; None if nothing was added."""
        before, now = self._before, self._now
        if before is None or now is None:
            window = now or before
            return None if window is None else (list(window.counts), window.sum)
        return [new + other for new, other in zip(before.counts, now.counts, strict=True)], before.sum + now.sum

    def quantiles(self, fractions: tuple[float, ...]) -> list[float]:
        """For each fraction, the bound that at least that part of the recent values does not exceed.

        Values above the last bound count as that bound. Empty if nothing was added.
        """
        recent = self.recent()
        if recent is None:
            return []
        reached = list(accumulate(recent[0]))
        places = (bisect_left(reached, max(1, fraction * reached[-1])) for fraction in fractions)
        return [self.bounds[min(place, len(self.bounds) - 1)] for place in places]


class _Window:
    __slots__ = ("counts", "sum")

    def __init__(self, size: int) -> None:
        self.counts = [0] * size
        self.sum = 0.0
