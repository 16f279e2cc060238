"""The broker's two clocks; tests use their own.

Timers use the monotonic clock; times that are stored or compared with publish times use the wall clock. The wall clock
may jump in either direction, so each timer that fires checks again whether something is due.
`metadata.policies.expiry_clock` decides what expires.
"""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

_WITH_SLEEP = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # on macOS the latter counts sleep


class Clock(Protocol):
    def wall_ms(self) -> int:
        """Milliseconds since the epoch; may jump."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never jumps. Stops while the machine sleeps, as timers do."""

    def elapsed(self) -> float:
        """Seconds since an arbitrary start; never jumps. Continues while the machine sleeps."""


class SystemClock:
    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)  # read twice for each run of messages, so not wrapped in a call

    def elapsed(self) -> float:
        return time.clock_gettime(_WITH_SLEEP)


LAST_MS = 253_402_300_799_999  # the end of the year 9999; clients may send any time


@lru_cache(maxsize=1024)  # reports show most times many times: connections were made together, or never used
def iso(wall_ms: int) -> str:
    """A wall time in the form of Pulsar's JSON; one before 1970 or after 9999 is shown as the nearest limit."""
    return (
        datetime.fromtimestamp(min(max(wall_ms, 0), LAST_MS) / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
