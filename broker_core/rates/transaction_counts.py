"""What the transaction coordinator counts since the start of the broker, for the metrics."""

from __future__ import annotations

from bisect import bisect_left

LATENCY_MS = (10, 20, 50, 100, 500, 1000, 5000, 15_000, 30_000, 60_000, 300_000, 1_500_000, 3_000_000)
"""Pulsar's bounds, which the names of its metrics contain."""


class TransactionCounts:
    """`latency`: by bound, the commits that came within that time after the begin, and last the later ones."""

    __slots__ = ("aborted", "begun", "committed", "latency", "timed_out")

    def __init__(self) -> None:
        self.begun = self.committed = self.aborted = self.timed_out = 0
        self.latency = [0] * (len(LATENCY_MS) + 1)

    def ended(self, milliseconds: int, *, commit: bool) -> None:
        if commit:
            self.committed += 1
            self.latency[bisect_left(LATENCY_MS, milliseconds)] += 1
        else:
            self.aborted += 1
