"""Counts of messages and bytes, and their rate over about the last minute.

Adding is two integer additions; the clock is read only when someone asks. A window older than a minute is
replaced at the next question, so an idle topic costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock

WINDOW_SECONDS = 60.0


class Rate:
    __slots__ = ("_base_bytes", "_base_messages", "_base_time", "_clock", "bytes", "messages")

    def __init__(self, clock: Clock) -> None:
        self.messages = 0
        self.bytes = 0
        self._clock = clock
        self._base_messages = 0
        self._base_bytes = 0
        self._base_time = clock.monotonic()

    def add(self, messages: int, size: int) -> None:
        self.messages += messages
        self.bytes += size

    def per_second(self) -> tuple[float, float]:
        """Messages and bytes a second since the start of the window."""
        now = self._clock.monotonic()
        seconds = max(now - self._base_time, 1.0)
        found = (self.messages - self._base_messages) / seconds, (self.bytes - self._base_bytes) / seconds
        if seconds >= WINDOW_SECONDS:
            self._base_time, self._base_messages, self._base_bytes = now, self.messages, self.bytes
        return found
