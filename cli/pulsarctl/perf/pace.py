"""Sending at a rate without drift. Pure: the caller has the clock."""

LEAST_PAUSE_SECONDS = 0.001


class Pace:
    """The number of messages that are due at a time. A rate of 0 means no limit.

    Each time is measured from the start, so late wake-ups do not add up: after a pause, the missed messages are due
    at once, and the achieved rate stays the offered one.
    """

    def __init__(self, rate: float, start_seconds: float) -> None:
        self._rate = rate
        self._start = start_seconds

    def due(self, now_seconds: float, sent: int, at_most: int) -> int:
        """The number of messages to send now, after `sent` messages."""
        if not self._rate:
            return at_most
        return max(0, min(at_most, int((now_seconds - self._start) * self._rate) + 1 - sent))

    def pause_seconds(self, now_seconds: float, sent: int) -> float:
        """The time to sleep until the next message is due."""
        return max(LEAST_PAUSE_SECONDS, self.wait_seconds(now_seconds, sent))

    def wait_seconds(self, now_seconds: float, sent: int) -> float:
        """The time until the next message is due, after `sent` messages."""
        return max(0.0, self._start + sent / self._rate - now_seconds) if self._rate else 0.0
