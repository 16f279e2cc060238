"""A maximum number of rows per second."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from pulsarctl.values.clock import monotonic, pause

ROWS_AT_ONCE = 5000


class Pace:
    """It starts now. A rate of 0 means no limit."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._started = monotonic()

    def keep(self, sent: int) -> None:
        """Waits until `sent` rows are not more than the rate for each second since the start."""
        if self._rate and (early := self._started + sent / self._rate - monotonic()) > 0:
            pause(early)


def slices(batches: Iterable[pa.RecordBatch], rate: float) -> Iterator[pa.RecordBatch]:
    """A tenth of a second's worth at once."""
    rows = max(int(rate / 10), 1) if rate else ROWS_AT_ONCE
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)
