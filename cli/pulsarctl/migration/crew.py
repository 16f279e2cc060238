"""Copies many partitions at a time, in threads that end with the command."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from pulsarctl.errors import CliError
from pulsarctl.migration.switch import Switch
from pulsarctl.migration.topic_copy import PartitionCopy, PartitionResult

Show = Callable[[int, int], None]  # entries and bytes so far
NewSwitch = Callable[[PartitionCopy], Switch]


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
    parts: Sequence[PartitionCopy], meter: Meter, *, parallel: int, switch: NewSwitch | None, verify: bool
) -> Iterator[PartitionResult]:
    """The results in the order of `parts`. Raises the first error, after the others have ended.

    `switch`: how the clients of each partition go once it is copied; None if they stay.
    """

    def copied(part: PartitionCopy) -> PartitionResult:
        return part.copy(meter.step, switch=None if switch is None else switch(part), verify=verify)

    threads = ThreadPoolExecutor(parallel, thread_name_prefix="copy")
    try:
        yield from threads.map(copied, parts)
    except BaseException:
        meter.stop()
        raise
    finally:
        threads.shutdown(cancel_futures=True)
