"""How long the writes of a topic take, and how large its entries are; a call per run, not per message.

A run of one entry, which a client waits for, is noted and counted later, with others.
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
NOTED = 1_000  # runs of one entry at most
PUBLISH_MS = tuple(0.05 * 1.1**step for step in range(150))  # to a minute; quantiles are exact to 10%


def publish_latency() -> Histogram:
    """Of all topics together, fine enough for quantiles."""
    return Histogram(PUBLISH_MS)


class Writes:
    """`everywhere`: the broker's `publish_latency`. What was added is in the histograms after `count_noted`."""

    __slots__ = ("_everywhere", "_noted", "_room", "entries", "entry_bytes", "latency_ms")

    def __init__(self, clock: Clock, everywhere: Histogram) -> None:
        self.entries = Rate(clock)
        self.latency_ms = Histogram(LATENCY_MS)
        self.entry_bytes = Histogram(ENTRY_BYTES)
        self._everywhere = everywhere
        self._noted: list[tuple[float, int]] = []  # seconds and bytes
        self._room = NOTED

    def add(self, starts: Sequence[int], ends: Sequence[int], seconds: float) -> None:
        """The entries between `starts` and `ends` of a chunk were written together."""
        if starts[0] == starts[-1]:
            self._noted.append((seconds, ends[0] - starts[0]))
            self._room -= 1
            if not self._room:
                self.count_noted()
        else:
            self._add_many(len(starts), seconds * 1000, list(map(sub, ends, starts)))

    def _add_many(self, entries: int, milliseconds: float, sizes: list[int]) -> None:
        self.entries.add(entries, 0)
        self.latency_ms.add(milliseconds, entries)
        self._everywhere.add(milliseconds, entries)
        self.entry_bytes.add_all(sizes)

    def count_noted(self) -> None:
        if not self._noted:
            return
        self.entries.add(len(self._noted), 0)
        milliseconds = [seconds * 1000 for seconds, _ in self._noted]
        self.latency_ms.add_all(milliseconds)
        self._everywhere.add_all(milliseconds)
        self.entry_bytes.add_all([size for _, size in self._noted])
        self._noted, self._room = [], NOTED

    def sample(self) -> None:
        self.count_noted()
        self.entries.sample()
        self.latency_ms.sample()
        self.entry_bytes.sample()
