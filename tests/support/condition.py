"""Waiting for a condition instead of sleeping."""

import asyncio
import threading
import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.02
PATIENCE_SECONDS = 60.0  # only a failing test takes this long


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


async def until(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS, interval: float = 0) -> None:
    """Waits in an event loop until the condition holds, by default checking it in each iteration of the loop."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # what real threads bring about has no event to wait for
            await asyncio.sleep(interval)
