"""A signal ends a job, too: PySpark waits for the end of a job whose result it no longer reads."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from pulsarctl.stop_signals import ENDING


class Jobs(Protocol):
    """The part of a SparkContext that is used here."""

    def cancelAllJobs(self) -> None:  # Spark's name
        """Returns at once."""


@contextmanager
def canceled_by_signals(jobs: Jobs) -> Iterator[None]:
    """In the block, a signal that unwinds the main thread cancels all jobs first.

    What unwinds leaves the block in any case, and not the error of the job that was canceled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    reasons: list[BaseException] = []

    def end(number: int, frame: FrameType | None) -> None:
        # In its own thread, because the main thread may be within a call of Java.
        threading.Thread(target=jobs.cancelAllJobs, name="spark-cancel", daemon=True).start()
        _unwind(before[signal.Signals(number)], number, frame, reasons)

    for each in before:
        signal.signal(each, end)
    try:
        yield
    except BaseException:
        if reasons:
            raise reasons[0] from None
        raise
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _unwind(handler: Any, number: int, frame: FrameType | None, reasons: list[BaseException]) -> None:
    try:
        handler(number, frame)
    except BaseException as reason:
        reasons.append(reason)
        raise
