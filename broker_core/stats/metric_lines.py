"""The lines of a scrape, which Prometheus requires in the order of metrics, from samples in the order of topics.

Written metric by metric for some hundred blocks of the same metrics at a time. Most topics are idle, so that most
metrics have the same value in all of these blocks, and one call writes all of their lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker_core.rates.long_text import LongText
from broker_core.rates.time_slices import TimeSlices, sliced
from broker_core.stats.topic_metrics import Block, Metrics, Values

BLOCKS_TOGETHER = 200


class MetricLines:
    """`head` returns what precedes the first line of a metric. `slices`: those of the report."""

    def __init__(self, head: Callable[[str], str], slices: TimeSlices) -> None:
        self._head = head
        self._slices = slices
        self._tables: dict[Metrics, _Table] = {}
        self._written: dict[str, list[bytes]] = {}

    def add(self, block: Block) -> bool:
        """Whether there are now enough blocks of these metrics to `write` them."""
        labels, metrics, values = block
        table = self._tables.get(metrics)
        if table is None:
            table = self._tables[metrics] = _Table()
        table.tails.append(f"{{{labels}}} ")
        table.rows.append(values)
        return len(table.rows) == BLOCKS_TOGETHER

    async def write(self, metrics: Metrics) -> None:
        table = self._tables.pop(metrics)
        columns = zip(metrics, zip(*table.rows, strict=True), strict=True)
        async for metric, values in sliced(columns, self._slices):
            self._written.setdefault(metric, []).append(_lines(metric, table.tails, values).encode())

    async def text(self) -> LongText:
        """Return all lines; call it once."""
        for metrics in list(self._tables):
            await self.write(metrics)
        text = LongText()
        async for metric in sliced(sorted(self._written), self._slices):
            text.add(self._head(metric).encode())
            async for piece in sliced(self._written.pop(metric), self._slices):
                text.add(piece)
        return text


class _Table:
    """Blocks of the same metrics: what follows the metric in each line, and the values."""

    __slots__ = ("rows", "tails")

    def __init__(self) -> None:
        self.tails: list[str] = []
        self.rows: list[Values] = []


def _lines(metric: str, tails: Sequence[str], values: Values) -> str:
    first = values[0]
    if values.count(first) == len(values):
        end = f"{_shown(first)}\n"
        return f"{metric}{(end + metric).join(tails)}{end}"
    return "".join(
        [
            f"{metric}{tail}{value if value.__class__ is int else _shown(value)}\n"
            for tail, value in zip(tails, values, strict=True)
        ]
    )


def _shown(value: float) -> float:
    return int(value) if value == int(value) else round(value, 3)
