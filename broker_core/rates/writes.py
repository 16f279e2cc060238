"""How long the writes of a topic take, and how large its entries are; a call per run, not per message."""

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
PUBLISH_MS = tuple(0.05 * 1.1**step for step in range(150))  # to a minute; quantiles are exact to 10%


def publish_latency() -> Histogram:
    """Of all topics together, fine enough for quantiles."""
    return Histogram(PUBLISH_MS)


class Writes:
    """`everywhere`: the broker's `publish_latency`."""

    __slots__ = ("_everywhere", "entries", "entry_bytes", "latency_ms")

    def __init__(self, clock: Clock, everywhere: Histogram) -> None:
        self.entries = Rate(clock)
        self.latency_ms = Histogram(LATENCY_MS)
        self.entry_bytes = Histogram(ENTRY_BYTES)
        self._everywhere = everywhere

    def add(self, starts: Sequence[int], ends: Sequence[int], seconds: float) -> None:
        """The entries between `starts` and `ends` of a chunk were written together."""
        entries, milliseconds = len(starts), seconds * 1000
        self.entries.add(entries, 0)
        self.latency_ms.add(milliseconds, entries)
        self._everywhere.add(milliseconds, entries)
        if entries == 1:
            self.entry_bytes.add(ends[0] - starts[0])
        else:
            self.entry_bytes.add_all(list(map(sub, ends, starts)))

    def sample(self) -> None:
        self.entries.sample()
        self.latency_ms.sample()
        self.entry_bytes.sample()
