"""When transactions time out: a heap of times, and one timer for the next of them."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Collection

from broker_core.clock import Clock

LONGEST_SECONDS = 3600.0  # the most that the timer waits
ENDED_MAX = 1000  # times of ended transactions that the heap may hold, beside one for each active one


class Deadlines:
    def __init__(self, clock: Clock, expired: Callable[[int], None], active: Collection[int]) -> None:
        """`expired` is called on the loop with each ID whose time has come. It may have ended since it was added.

        `active` has the IDs that can still expire.
        """
        self._clock = clock
        self._expired = expired
        self._active = active
        self._loop = asyncio.get_running_loop()
        self._heap: list[tuple[float, int]] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, transaction_id: int, seconds: float) -> None:
        """It expires in that many seconds."""
        if len(self._heap) >= 2 * len(self._active) + ENDED_MAX:
            self._forget_ended()
        heapq.heappush(self._heap, (self._clock.monotonic() + seconds, transaction_id))
        if self._heap[0][1] == transaction_id:
            self._arm()

    def __len__(self) -> int:
        return len(self._heap)

    def _forget_ended(self) -> None:
        self._heap = [row for row in self._heap if row[1] in self._active]
        heapq.heapify(self._heap)

    def _arm(self) -> None:
        self.close()
        if self._heap:
            seconds = self._heap[0][0] - self._clock.monotonic()
            self._timer = self._loop.call_later(min(max(seconds, 0.0), LONGEST_SECONDS), self._look)

    def _look(self) -> None:
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            self._expired(heapq.heappop(self._heap)[1])
        self._arm()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
