"""Pauses between attempts: they double from 0.1 s to a minute, with jitter, so that many topics do not come at once."""

from __future__ import annotations

import random

FIRST_SECONDS = 0.1
MOST_SECONDS = 60.0  # as in Pulsar


class Backoff:
    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = FIRST_SECONDS

    def reset(self) -> None:
        """An attempt made progress."""
        self._next = FIRST_SECONDS

    def next_seconds(self) -> float:
        """Between half of the pause and all of it."""
        pause, self._next = self._next, min(self._next * 2, MOST_SECONDS)
        return pause * random.uniform(0.5, 1.0)  # noqa: S311  # spreads retries, and is not a secret
