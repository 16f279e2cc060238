"""Measures how long the writes of a topic take, and how large its entries are.

Runs are noted, and counted later, many together: a histogram costs more than everything else that a short run needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub
from typing import TYPE_CHECKING

from broker_core.rates.histogram import Histogram
from broker_core.rates.rate import Rate

if TYPE_CHECKING:
    from broker_core.clock import Clock

LATENCY_MS = (0.5, 1, 5, 10, 20, 50, 100, 200, 1000)  # Pulsar's bounds, which the names of its metrics contain
ENTRY_BYTES = (128, 512, 1024, 2048, 4096, 16384, 102_400, 1_048_576)
NOTED = 1_000  # entries; a run may exceed it
FINE_MS = tuple(0.05 * 1.1**step for step in range(150))  # to a minute; quantiles are exact to 10%


def milliseconds() -> Histogram:
    """A histogram for all topics together, fine enough for quantiles."""
    return Histogram(FINE_MS)


class Writes:
    """`everywhere`: the broker's latency of all topics. What was added is in the histograms after `count_noted`."""

    __slots__ = ("_everywhere", "_lone", "_room", "_runs", "_sizes", "entries", "entry_bytes", "latency_ms")

    def __init__(self, clock: Clock, everywhere: Histogram) -> None:
        self.entries = Rate(clock)
        self.latency_ms = Histogram(LATENCY_MS)
        self.entry_bytes = Histogram(ENTRY_BYTES)
        self._everywhere = everywhere
        self._lone: list[tuple[float, int]] = []  # runs of one entry: seconds, bytes
        self._runs: list[tuple[float, int]] = []  # the others: seconds, entries
        self._sizes: list[int] = []  # of their entries
        self._room = NOTED

    def add(self, starts: Sequence[int], ends: Sequence[int], seconds: float) -> None:
        """The entries between `starts` and `ends` of a chunk were written together."""
        if starts[0] == starts[-1]:
            self._lone.append((seconds, ends[0] - starts[0]))
            self._room -= 1
        else:
            self._runs.append((seconds, len(starts)))
            self._sizes += map(sub, ends, starts)
            self._room -= len(starts)
        if self._room <= 0:
            self.count_noted()

    @property
    def any_recent(self) -> bool:
        """Whether something was written in the last 30 to 60 seconds."""
        return self._room != NOTED or self.latency_ms.any_recent

    def count_noted(self) -> None:
        if self._room == NOTED:
            return
        runs = self._runs + [(seconds, 1) for seconds, _ in self._lone]
        milliseconds, lengths = [seconds * 1000 for seconds, _ in runs], [length for _, length in runs]
        sizes = self._sizes + [size for _, size in self._lone]
        self.entries.add(len(sizes), 0)
        self.latency_ms.add_times(milliseconds, lengths)
        self._everywhere.add_times(milliseconds, lengths)
        self.entry_bytes.add_all(sizes)
        self._lone, self._runs, self._sizes, self._room = [], [], [], NOTED

    def sample(self) -> None:
        self.count_noted()
        self.entries.sample()
        self.latency_ms.sample()
        self.entry_bytes.sample()
