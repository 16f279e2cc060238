"""Counts of work that succeeded or failed, and the time it took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """`seconds` is the total time of the work that succeeded. All three only grow."""

    succeeded: int = 0
    failed: int = 0
    seconds: float = 0.0

    def add(self, seconds: float = 0.0) -> None:
        self.succeeded += 1
        self.seconds += seconds

    def fail(self) -> None:
        self.failed += 1
