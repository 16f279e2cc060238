"""What a signal does while PySpark waits for a job."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from pulsarctl.spark.jobs.canceling import canceled_by_signals
from pulsarctl.stop_signals import orderly_end


class EndlessJob:
    """As PySpark behaves: when the reading of a result is interrupted, it waits for the end of the job."""

    def __init__(self) -> None:
        self._canceled = threading.Event()

    def cancelAllJobs(self) -> None:  # Spark's name
        self._canceled.set()

    def result(self, number: signal.Signals) -> None:
        try:
            os.kill(os.getpid(), number)
            self._canceled.wait(10)
        finally:
            assert self._canceled.wait(10), "nothing canceled the job"
            raise RuntimeError("the job was canceled")


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """A shell starts jobs in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_cancels_the_job_and_is_the_reason_of_the_end(
    number: signal.Signals, reason: type[BaseException]
) -> None:
    job = EndlessJob()
    with pytest.raises(reason), orderly_end(), canceled_by_signals(job):
        job.result(number)


def test_without_a_signal_the_error_of_the_job_stays() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError), canceled_by_signals(EndlessJob()):
        raise RuntimeError
    assert signal.getsignal(signal.SIGINT) is before
