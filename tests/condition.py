"""Waiting for a condition instead of sleeping."""

import threading
import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.02


def wait_until(condition: Callable[[], bool], seconds: float) -> float:
    """Waits until the condition holds; returns the time in seconds. Fails after `seconds`."""
    started = time.monotonic()
    pause = threading.Event()
    while not condition():
        assert time.monotonic() - started < seconds, f"not within {seconds} s"
        pause.wait(INTERVAL_SECONDS)
    return time.monotonic() - started
