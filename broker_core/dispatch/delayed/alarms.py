"""Callbacks at a wall time, for the whole broker with one timer.

Timers of the event loop are monotonic, and the wall clock may change in the meantime. So the timer never sleeps longer
than `LOOK_AGAIN_SECONDS` and then checks the wall clock: after a jump in either direction all alarms are right again
within that time. Without alarms there is no timer.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock

LOOK_AGAIN_SECONDS = 1.0
_TIDY_AT = 1000  # cancelled alarms at which a pass over all alarms pays off


class Alarm:
    """`ring` is called once at `at_ms` or later, unless the alarm is cancelled before."""

    __slots__ = ("at_ms", "ring")

    def __init__(self, at_ms: int, ring: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.ring: Callable[[], None] | None = ring

    def __lt__(self, other: Alarm) -> bool:
        return self.at_ms < other.at_ms


class Alarms:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._alarms: list[Alarm] = []  # heap
        self._cancelled = 0
        self._timer: asyncio.TimerHandle | None = None
        self._armed_ms = 0

    def set(self, at_ms: int, ring: Callable[[], None]) -> Alarm:
        """`ring` must not raise."""
        alarm = Alarm(at_ms, ring)
        heapq.heappush(self._alarms, alarm)
        if self._timer is None or at_ms < self._armed_ms:
            self._arm()
        return alarm

    def cancel(self, alarm: Alarm) -> None:
        if alarm.ring is not None:
            alarm.ring = None
            self._cancelled += 1
            if self._cancelled >= _TIDY_AT and 2 * self._cancelled > len(self._alarms):
                self._alarms = [alarm for alarm in self._alarms if alarm.ring is not None]
                heapq.heapify(self._alarms)
                self._cancelled = 0

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._alarms.clear()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._alarms:
            self._armed_ms = self._alarms[0].at_ms
            seconds = (self._armed_ms - self._clock.wall_ms()) / 1000
            self._timer = self._loop.call_later(min(max(seconds, 0.0), LOOK_AGAIN_SECONDS), self._look)

    def _look(self) -> None:
        self._timer = None
        now = self._clock.wall_ms()
        while self._alarms and self._alarms[0].at_ms <= now:
            alarm = heapq.heappop(self._alarms)
            ring, alarm.ring = alarm.ring, None
            if ring is None:
                self._cancelled -= 1
            else:
                ring()
        if self._timer is None:  # unless a callback has set another one
            self._arm()
