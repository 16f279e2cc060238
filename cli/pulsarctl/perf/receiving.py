"""The receiving side of a measurement: a thread for each consumer or reader."""

import threading
import time
from collections.abc import Callable, Sequence

from pulsarctl.consume.consuming import POLL_MS, RECORDS_AT_ONCE, Source
from pulsarctl.errors import CannotConnect
from pulsarctl.perf.pace import Pace
from pulsarctl.perf.running import Side, Stop
from pulsarctl.perf.stamps import Stamps
from pulsarctl.perf.tally import Tally
from pulsarctl.records.record import Record

CONNECTION_LOST = "ConnectionLost"

Count = Callable[[Record], None]
ConnectedSource = tuple[Source, Callable[[], bool]]  # a source, and whether it is connected


class Quota:
    """The number of messages that all threads together may still take. A limit of 0 means no limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit
        self._lock = threading.Lock()

    def take(self, requested: int) -> int:
        if not self._limit:
            return requested
        with self._lock:
            granted = min(requested, self._left)
            self._left -= granted
        return granted

    @property
    def is_used_up(self) -> bool:
        return bool(self._limit) and not self._left


class Receiver:
    """Receives from `source` until its end, and settles what it has counted."""

    def __init__(
        self, source: Source, count: Count, quota: Quota, rate: float, is_connected: Callable[[], bool], tally: Tally
    ) -> None:
        self._source = source
        self._count = count
        self._quota = quota
        self._rate = rate
        self._is_connected = is_connected
        self._tally = tally
        self._lost_at: float | None = None

    def __call__(self, stop: Stop) -> None:
        received, pace = 0, Pace(self._rate, time.monotonic())
        while not (stop.is_set() or self._source.ended or self._quota.is_used_up):
            due = pace.due(time.monotonic(), received, RECORDS_AT_ONCE)
            if not due:
                stop.wait(pace.pause_seconds(time.monotonic(), received))
                continue
            records = self._source.receive(POLL_MS, due)
            if not records:
                self._check_connection(stop.drain_seconds)
                continue
            self._lost_at = None
            granted = self._quota.take(len(records))
            for record in records[:granted]:
                self._count(record)
            self._source.settle(records[:granted])
            received += granted

    def _check_connection(self, most_seconds: float) -> None:
        """Counts a lost connection, which the client restores. Raises `CannotConnect` if that takes too long."""
        if self._is_connected():
            self._lost_at = None
        elif self._lost_at is None:
            self._lost_at = time.monotonic()
            self._tally.fail(CONNECTION_LOST)
        elif time.monotonic() - self._lost_at > most_seconds:
            raise CannotConnect(
                f"the connection to the broker is lost, and did not return within {most_seconds:g} s",
                hint="pulsarctl brokers healthcheck",
            )


def by_publish_time(tally: Tally) -> Count:
    """Counts a message with the time since it was published, in whole milliseconds by the clocks of two machines."""

    def count(record: Record) -> None:
        latency_us = time.time_ns() // 1000 - record.publish_time_ms * 1000
        tally.add(len(record.value or b""), max(0, latency_us))

    return count


def by_stamp(tally: Tally, stamps: Stamps, measured_from_ns: int) -> Count:
    """Counts a message of this run with the time since it was sent; other messages do not count."""

    def count(record: Record) -> None:
        value = record.value or b""
        sent_ns = stamps.sent_ns(value)
        if sent_ns is not None:
            latency_us = (time.perf_counter_ns() - sent_ns) // 1000
            tally.add(len(value), latency_us if sent_ns >= measured_from_ns else None)

    return count


def receiving_side(
    role: str, sources: Sequence[ConnectedSource], limit: int, rate: float, start_seconds: float
) -> Side:
    """Measures the age of at most `limit` messages (0: no limit), from each source `rate` per second (0: no limit)."""
    tally, quota = Tally(), Quota(limit)
    works = [
        Receiver(source, by_publish_time(tally), quota, rate, is_connected, tally) for source, is_connected in sources
    ]
    return Side(role, works, tally, rate * len(works), start_seconds)
