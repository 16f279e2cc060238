"""Counters of the snapshots of replicated subscriptions, over all topics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False, repr=False)
class SnapshotMetrics:
    """`taken_ms`: how long the complete ones took, all together."""

    pending: int = 0
    timed_out: int = 0
    taken: int = 0
    taken_ms: float = 0.0
