"""Waiting for a condition instead of sleeping."""

import threading
import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.02


def holds_within(condition: Callable[[], bool], seconds: float, interval: float = INTERVAL_SECONDS) -> bool:
    """Waits until the condition holds; returns whether it did within `seconds`."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() >= deadline:
            return False
        pause.wait(interval)
    return True


def wait_until(condition: Callable[[], bool], seconds: float) -> float:
    """Waits until the condition holds; returns the time in seconds. Fails after `seconds`."""
    started = time.monotonic()
    assert holds_within(condition, seconds), f"not within {seconds} s"
    return time.monotonic() - started
