"""The counts of a running measurement, which several threads write."""

import threading
import time

from pulsarctl.perf.counts import Counts


class Tally:
    """The counts of the current interval and of the whole run, written by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._interval = Counts()
        self._total = Counts()
        self.last_seconds: float | None = None  # the monotonic time of the last message

    def add(self, size: int, latency_us: int | None) -> None:
        """Counts one message; its latency is None during the warm-up."""
        now = time.monotonic()
        with self._lock:
            self.last_seconds = now
            self._interval.messages += 1
            self._interval.size += size
            if latency_us is not None:
                self._interval.latencies.add(latency_us)

    def fail(self, reason: str) -> None:
        with self._lock:
            self._interval.errors[reason] += 1

    def end_interval(self) -> Counts:
        """The counts since the last call."""
        with self._lock:
            ended, self._interval = self._interval, Counts()
            self._total.merge(ended)
        return ended

    @property
    def failures(self) -> int:
        with self._lock:
            return self._interval.failures + self._total.failures

    @property
    def messages(self) -> int:
        with self._lock:
            return self._interval.messages + self._total.messages

    def total(self) -> Counts:
        self.end_interval()
        return self._total
