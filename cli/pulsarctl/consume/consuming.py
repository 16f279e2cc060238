"""One run of `consume` or `read`: records in, bytes out, then settled (acknowledged, in most runs).

A record is written to stdout before it is settled, and every record that was written whole is settled: also when the
reader of our output goes away in the middle, and when a signal ends the run.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pulsarctl.errors import TimedOut
from pulsarctl.output import render
from pulsarctl.records.record import Record
from pulsarctl.stop_signals import undisturbed

POLL_MS = 200  # how long Ctrl-C may wait inside the client
RECORDS_AT_ONCE = 256
FOREVER = 0
SILENT_SECONDS = 1.0  # a shorter wait for the first message is not worth a line


class Source(Protocol):
    """Where records come from. `receive` returns none after `timeout_ms`; `ended` tells why there were none."""

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[Record]: ...
    def settle(self, records: Sequence[Record]) -> None: ...
    @property
    def ended(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Stops:
    """When to stop: after `count` records (0: never) or `idle_seconds` without one (0: never)."""

    count: int = FOREVER
    idle_seconds: float = 0


def stops_of(count: int | None, idle_seconds: float, *, bounded: bool) -> Stops:
    """`-n` is 1 as pulsar-client's, unless something else will end the run."""
    if count is None:
        count = FOREVER if bounded or idle_seconds else 1
    return Stops(count, idle_seconds)


def consume_all(
    source: Source, show: Callable[[Record], bytes] | None, stops: Stops, *, rate: float = 0, quiet: bool = True
) -> int:
    """Prints records until the source ends or a stop is reached; returns how many. `show` None prints only a count.

    Raises `BrokenPipeError` when stdout was closed, and `TimedOut` when silence ended it before `stops.count`.
    """
    printed = 0
    progress = render.Progress(quiet=quiet or show is not None)
    last = start = time.monotonic()
    said = quiet
    while not source.ended and (stops.count == FOREVER or printed < stops.count):
        most = RECORDS_AT_ONCE if stops.count == FOREVER else min(RECORDS_AT_ONCE, stops.count - printed)
        records = source.receive(POLL_MS, 1 if rate else most)
        if not records:
            if stops.idle_seconds and time.monotonic() - last >= stops.idle_seconds:
                break
            if not said and not printed and time.monotonic() - start >= SILENT_SECONDS:
                said = True
                render.notice("waiting for messages; Ctrl-C stops")
            continue
        _print_and_settle(source, records, show)
        printed += len(records)
        last = time.monotonic()
        progress.show(f"{printed:,} messages")
        if rate:
            time.sleep(max(0.0, start + printed / rate - time.monotonic()))
    progress.clear()
    if printed < stops.count and not source.ended:
        raise TimedOut(f"only {printed} of {stops.count} messages came before the idle timeout")
    return printed


def _print_and_settle(source: Source, records: Sequence[Record], show: Callable[[Record], bytes] | None) -> None:
    """Settles exactly what was printed. A signal waits until then, so that no message is printed and not settled."""
    whole, problem = len(records), None
    with undisturbed() as is_interrupted:
        if show is not None:
            whole, problem = render.pieces([show(record) for record in records], is_interrupted)
        source.settle(records[:whole])
    if problem is not None:
        raise problem
