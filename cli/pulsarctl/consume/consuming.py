"""One run of `consume` or `read`: receives records, prints them, and settles them (usually by acknowledging).

A record is settled after it is written to stdout, and every completely written record is settled, even if the reader of
our output closes the pipe or a signal ends the run.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pulsarctl.errors import TimedOut
from pulsarctl.output import render
from pulsarctl.records.record import Record
from pulsarctl.stop_signals import undisturbed

POLL_MS = 200  # maximum delay of Ctrl-C in the client
RECORDS_AT_ONCE = 256
FOREVER = 0
SILENT_SECONDS = 1.0  # a shorter wait for the first message, or without a connection, needs no notice


class Source(Protocol):
    """A source of records. `receive` returns none after `timeout_ms`, or if the source has `ended`."""

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[Record]: ...
    def settle(self, records: Sequence[Record]) -> None: ...
    @property
    def ended(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Stops:
    """When to stop: after `count` records, or after `idle_seconds` without one (0: never)."""

    count: int = FOREVER
    idle_seconds: float = 0


def stops_of(count: int | None, idle_seconds: float, *, bounded: bool) -> Stops:
    """The stops. The default of `-n` is 1, as in pulsar-client, unless the run is bounded otherwise."""
    if count is None:
        count = FOREVER if bounded or idle_seconds else 1
    return Stops(count, idle_seconds)


class Silence:
    """The notices of a run while no message comes. `is_connected` asks the client."""

    def __init__(self, is_connected: Callable[[], bool]) -> None:
        self._is_connected = is_connected
        self._start = time.monotonic()
        self._said_waiting = False
        self._lost_since: float | None = None
        self._said_lost = False

    def tell(self, printed: int) -> None:
        now = time.monotonic()
        self._tell_connection(now)
        if not self._said_waiting and not printed and now - self._start >= SILENT_SECONDS:
            self._said_waiting = True
            render.notice("waiting for messages; press Ctrl-C to stop")

    def _tell_connection(self, now: float) -> None:
        if self._is_connected():
            self._lost_since, was_lost, self._said_lost = None, self._said_lost, False
            if was_lost:
                render.notice("connected to the broker again")
        elif self._lost_since is None:
            self._lost_since = now
        elif not self._said_lost and now - self._lost_since >= SILENT_SECONDS:
            self._said_lost = True
            render.notice("warning: the connection to the broker is lost; connecting again")


def consume_all(
    source: Source,
    show: Callable[[Record], bytes] | None,
    stops: Stops,
    *,
    rate: float = 0,
    quiet: bool = True,
    is_connected: Callable[[], bool] = lambda: True,
) -> int:
    """Prints records until the source ends or a stop is reached; returns their number. `show` None prints a count.

    Raises `BrokenPipeError` if stdout is closed, and `TimedOut` if the idle timeout passes before `stops.count`.
    """
    printed = 0
    progress = render.Progress(quiet=quiet or show is not None)
    last = start = time.monotonic()
    silence = Silence(is_connected)
    while not source.ended and (stops.count == FOREVER or printed < stops.count):
        most = RECORDS_AT_ONCE if stops.count == FOREVER else min(RECORDS_AT_ONCE, stops.count - printed)
        records = source.receive(POLL_MS, 1 if rate else most)
        if not records:
            if stops.idle_seconds and time.monotonic() - last >= stops.idle_seconds:
                break
            if not quiet:
                silence.tell(printed)
            continue
        _print_and_settle(source, records, show)
        printed += len(records)
        last = time.monotonic()
        progress.show(f"{printed:,} messages")
        if rate:
            time.sleep(max(0.0, start + printed / rate - time.monotonic()))
    progress.clear()
    if printed < stops.count and not source.ended:
        raise TimedOut(f"received only {printed} of {stops.count} messages before the idle timeout")
    return printed


def _print_and_settle(source: Source, records: Sequence[Record], show: Callable[[Record], bytes] | None) -> None:
    """Settles exactly the printed records. A signal is deferred, so that every printed message is settled."""
    whole, problem = len(records), None
    with undisturbed() as is_interrupted:
        if show is not None:
            whole, problem = render.pieces([show(record) for record in records], is_interrupted)
        source.settle(records[:whole])
    if problem is not None:
        raise problem
