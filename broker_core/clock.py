"""The broker's two clocks; tests bring their own.

Timers use the monotonic clock; times that are stored or compared with publish times use the wall clock.
The wall clock may jump in either direction, so an age computed from it is never below 0 (`age_ms`).
"""

import time
from typing import Protocol


class Clock(Protocol):
    def wall_ms(self) -> int:
        """Milliseconds since the epoch; may jump."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never jumps."""


class SystemClock:
    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


def age_ms(now_ms: int, then_ms: int) -> int:
    """How old `then_ms` is at `now_ms`; a time in the future has age 0."""
    return max(0, now_ms - then_ms)
