"""One measurement: its threads, its end, and its interval lines."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pulsarctl.client.abandoned import in_background
from pulsarctl.perf.record import Measured
from pulsarctl.perf.tally import Tally

DRAIN_AFTER_INTERRUPT_SECONDS = 2.0
JOIN_SECONDS = 5.0  # beyond the drain: a thread may wait in the client


class Stop(threading.Event):
    """Tells the threads to end. They wait at most `drain_seconds` for missing answers."""

    def __init__(self, drain_seconds: float) -> None:
        super().__init__()
        self.drain_seconds = drain_seconds


Work = Callable[[Stop], None]  # runs on a thread until its end or the stop


@dataclass(frozen=True, slots=True)
class Side:
    """One role in a run: its threads, and what they count. `offered_rate` is 0 if there is no limit.

    `start_seconds` is when the broker may have begun to send, if that is before the run (0: with the run).
    """

    role: str
    works: Sequence[Work]
    tally: Tally
    offered_rate: float = 0
    start_seconds: float = 0

    def whole(self, run_start: float, ended: float) -> Measured:
        """The whole run, up to the last message."""
        seconds = (self.tally.last_seconds or ended) - (self.start_seconds or run_start)
        return Measured(self.role, self.tally.total(), seconds, self.offered_rate or None)

    def interval(self, seconds: float) -> Measured:
        return Measured(self.role, self.tally.end_interval(), seconds, self.offered_rate or None)


@dataclass(frozen=True, slots=True)
class Plan:
    """The end of a run and the interval of its reports; 0 seconds: never. `is_over` is asked a few times per second."""

    duration_seconds: float
    report_seconds: float
    drain_seconds: float
    is_over: Callable[[], bool] = lambda: False


class Run:
    """The threads of one measurement. The first error of a thread ends it, and is its `problem`."""

    POLL_SECONDS = 0.1

    def __init__(self, sides: Sequence[Side], plan: Plan, say: Callable[[str], None]) -> None:
        self._sides = sides
        self._plan = plan
        self._say = say
        self._stop = Stop(plan.drain_seconds)
        self._changed = threading.Event()
        self.problem: Exception | None = None
        self.is_interrupted = False

    def finish(self) -> list[Measured]:
        """Runs to the end; a signal is one. Returns what each side did, from the start to its last message."""
        start = time.monotonic()
        works = [work for side in self._sides for work in side.works]
        threads = [in_background(lambda work=work: self._guarded(work)) for work in works]  # type: ignore[misc]  # mypy cannot infer a default
        try:
            self._watch(threads, start)
        except (KeyboardInterrupt, SystemExit):  # as `stop_signals.orderly_end` raises them
            self.is_interrupted = True
            self._stop.drain_seconds = min(self._stop.drain_seconds, DRAIN_AFTER_INTERRUPT_SECONDS)
        self._stop.set()
        deadline = time.monotonic() + self._stop.drain_seconds + JOIN_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        ended = time.monotonic()
        return [side.whole(start, ended) for side in self._sides]

    def _watch(self, threads: Sequence[threading.Thread], start: float) -> None:
        plan, said = self._plan, start
        while any(thread.is_alive() for thread in threads) and self.problem is None and not plan.is_over():
            now = time.monotonic()
            if plan.duration_seconds and now - start >= plan.duration_seconds:
                return
            if plan.report_seconds and now - said >= plan.report_seconds:
                for side in self._sides:
                    self._say(side.interval(now - said).line())
                said = now
            left = start + plan.duration_seconds - now if plan.duration_seconds else self.POLL_SECONDS
            self._changed.wait(min(self.POLL_SECONDS, left))
            self._changed.clear()

    def _guarded(self, work: Work) -> None:
        try:
            work(self._stop)
        except Exception as error:  # the main thread raises it: a thread would only print it
            self.problem = self.problem or error
        finally:
            self._changed.set()
