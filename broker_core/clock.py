"""The broker's two clocks; tests bring their own.

Timers use the monotonic clock; times that are stored or compared with publish times use the wall clock.
The wall clock may jump in either direction, so what is due is decided again whenever a timer fires; what expires
is decided by `policies.expiry_clock`.
"""

import time
from datetime import UTC, datetime
from typing import Protocol

_WITH_SLEEP = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # on macOS the latter counts sleep


class Clock(Protocol):
    def wall_ms(self) -> int:
        """Milliseconds since the epoch; may jump."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never jumps. Stands still while the machine sleeps, as timers do."""

    def elapsed(self) -> float:
        """Seconds since an arbitrary start; never jumps. Sleep of the machine counts."""


class SystemClock:
    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def elapsed(self) -> float:
        return time.clock_gettime(_WITH_SLEEP)


def iso(wall_ms: int) -> str:
    """A wall time as Pulsar's JSON has it."""
    return datetime.fromtimestamp(wall_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
