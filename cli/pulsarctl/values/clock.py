"""The clock of the commands."""

import time


def now_ms() -> int:
    """Wall clock, milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def monotonic() -> float:
    """Monotonic seconds, for deadlines."""
    return time.monotonic()


def pause(seconds: float) -> None:
    time.sleep(seconds)
