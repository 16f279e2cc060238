"""The durations of the latest writes of a topic and the sizes of their entries, as an immutable snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker_core.rates.writes import Writes


class WriteStats(NamedTuple):
    """The writes of the last 30 to 60 seconds: the counts between the bounds of `rates.writes`, and the totals."""

    entry_rate: float  # per second
    latency_counts: Sequence[int]
    latency_ms: float
    size_counts: Sequence[int]
    entry_bytes: float

    @classmethod
    def of(cls, writes: Writes) -> WriteStats | None:
        """Return the statistics, or None if nothing was written lately."""
        if not writes.any_recent:  # as of most of 10,000 topics
            return None
        writes.count_noted()
        if (latency := writes.latency_ms.recent()) is None or (sizes := writes.entry_bytes.recent()) is None:
            return None
        return cls(writes.entries.per_second()[0], *latency, *sizes)
