"""Copies many partitions at a time, in threads that end with the command."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from pulsarctl.errors import CliError
from pulsarctl.migration.topic_copy import PartitionCopy, PartitionResult

Show = Callable[[int, int], None]  # entries and bytes so far


class Canceled(CliError):
    """The command ends, so its threads do."""


class Meter:
    """Counts what all threads have sent. After `stop`, their next entry raises `Canceled`."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._lock = threading.Lock()
        self._stopped = False
        self.entries = self.size = 0

    def step(self, entries: int, size: int) -> None:
        if self._stopped:
            raise Canceled("canceled")
        with self._lock:
            self.entries += entries
            self.size += size
            self._show(self.entries, self.size)

    def stop(self) -> None:
        self._stopped = True


def copy_all(
    parts: Sequence[PartitionCopy], meter: Meter, *, parallel: int, terminate: bool, verify: bool
) -> Iterator[PartitionResult]:
    """The results in the order of `parts`. Raises the first error, after the others have ended."""

    def copied(part: PartitionCopy) -> PartitionResult:
        return part.copy(meter.step, at_end=part.terminate if terminate else _nothing, verify=verify)

    threads = ThreadPoolExecutor(parallel, thread_name_prefix="copy")
    try:
        yield from threads.map(copied, parts)
    except BaseException:
        meter.stop()
        raise
    finally:
        threads.shutdown(cancel_futures=True)


def _nothing() -> None:
    """The source goes on."""
