"""Looks for unreachable cycles of objects without long pauses, in a process that runs only the broker.

A full collection visits every object, and nothing else runs meanwhile: three million objects, which 100,000
subscriptions have, take more than a second. So full collections are frequent, and once many objects have survived one,
they are frozen: the next one visits only what came since. A frozen cycle that is no longer in use, such as a connection
that was closed after hours, stays in memory until a thorough collection. That one visits everything and waits until the
broker is idle. Where the number of objects does not grow, nothing is frozen, and every cycle is found soon.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from broker_core.stats.broker_load import resident_bytes

# Few objects survive a message. 50,000 objects that requests left behind take up to 90 ms, so a full collection comes
# after at most 24,000.
THRESHOLD = (2_000, 3, 2)
FROZEN_AT_A_TIME = 25_000  # far more than running requests have, so that those are not frozen
PAUSE_SECONDS = 600.0  # between two thorough collections
GROWTH_OBJECTS = 20_000  # since the last thorough one; fewer are not worth the next
GROWTH_BYTES = 2 << 30  # more than twice the memory and this: unused cycles weigh more than a pause


class Collector:
    """Must be the only one of its process. `start` takes what exists as long-lived."""

    def __init__(self, resident: Callable[[], int] = resident_bytes) -> None:
        self._resident = resident
        self._objects = self._bytes = 0  # after the last thorough collection
        self._collected_at = 0.0

    def start(self) -> None:
        gc.set_threshold(*THRESHOLD)
        gc.callbacks.append(_freeze_survivors)
        gc.freeze()  # without a collection, which would cost tens of milliseconds of the start
        self._remember()

    def look(self, *, idle: bool) -> None:
        """Collects thoroughly if the broker is idle and has many objects more, or if memory has grown too much."""
        if (idle and self._is_due()) or self._resident() > 2 * self._bytes + GROWTH_BYTES:
            self.collect()

    def _is_due(self) -> bool:
        if time.monotonic() - self._collected_at < PAUSE_SECONDS:
            return False
        return gc.get_freeze_count() > self._objects + self._objects // 4 + GROWTH_OBJECTS

    def collect(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        gc.collect()  # collects nothing: CPython waits for a quarter of the objects of the last collection
        self._remember()

    def _remember(self) -> None:
        self._objects, self._bytes = gc.get_freeze_count(), self._resident()
        self._collected_at = time.monotonic()


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2 and len(gc.get_objects(generation=2)) >= FROZEN_AT_A_TIME:
        gc.freeze()
