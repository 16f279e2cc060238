"""The lines of a running measurement and its final record. Pure."""

from dataclasses import dataclass

from pulsarctl.perf.counts import Counts
from pulsarctl.perf.latencies import Latencies

Value = str | int | float | None

PERCENTILES = {"P50": 50, "P95": 95, "P99": 99, "P99_9": 99.9, "P99_99": 99.99}
LABELS = {
    "role": "Role",
    "messages": "Messages",
    "seconds": "Seconds",
    "offeredRate": "Offered messages/s",
    "achievedRate": "Achieved messages/s",
    "megabytesPerSecond": "MB/s",
    "errors": "Errors",
    "latencyMsMean": "Latency mean (ms)",
    "latencyMsP50": "Latency 50 % (ms)",
    "latencyMsP95": "Latency 95 % (ms)",
    "latencyMsP99": "Latency 99 % (ms)",
    "latencyMsP99_9": "Latency 99.9 % (ms)",
    "latencyMsP99_99": "Latency 99.99 % (ms)",
    "latencyMsMax": "Latency max (ms)",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of one side of a run. `offered_rate` is the rate of -r, None if it was not limited."""

    role: str
    counts: Counts
    seconds: float
    offered_rate: float | None

    def record(self) -> dict[str, Value]:
        """The fields of the final record, which scripts rely on."""
        counts, seconds = self.counts, max(self.seconds, 1e-9)
        return {
            "role": self.role,
            "messages": counts.messages,
            "bytes": counts.size,
            "seconds": round(self.seconds, 3),
            "offeredRate": self.offered_rate,
            "achievedRate": round(counts.messages / seconds, 3),
            "megabytesPerSecond": round(counts.size / seconds / 1e6, 6),
            "errors": counts.failures,
            **_latency_fields(counts.latencies),
        }

    def line(self) -> str:
        """The line for an interval."""
        counts, seconds = self.counts, max(self.seconds, 1e-9)
        text = f"{self.role}: {counts.messages / seconds:,.0f} msg/s, {counts.size / seconds / 1e6:,.3f} MB/s"
        if counts.failures:
            text += f", {counts.failures:,} errors"
        return text + _latency_text(counts.latencies)


def rows(records: list[dict[str, Value]]) -> list[list[str]]:
    """The rows of a table with a column for each record."""
    return [[label, *(_cell(name, record[name]) for record in records)] for name, label in LABELS.items()][1:]


def _latency_fields(latencies: Latencies) -> dict[str, Value]:
    fields = {"latencyMsMean": latencies.mean_us}
    fields |= {f"latencyMs{name}": latencies.percentile_us(percent) for name, percent in PERCENTILES.items()}
    fields["latencyMsMax"] = float(latencies.max_us) if latencies.count else None
    return {name: None if value is None else round(value / 1000, 3) for name, value in fields.items()}


def _latency_text(latencies: Latencies) -> str:
    mean, median, tail = latencies.mean_us, latencies.percentile_us(50), latencies.percentile_us(99)
    if mean is None or median is None or tail is None:
        return ""
    parts = (("mean", mean), ("50 %", median), ("99 %", tail), ("max", latencies.max_us))
    return "; latency ms: " + ", ".join(f"{name} {value / 1000:,.3f}" for name, value in parts)


def _cell(name: str, value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if name in ("messages", "errors"):
        return f"{value:,}"
    return f"{value:,.1f}" if name in ("seconds", "offeredRate", "achievedRate") else f"{value:,.3f}"
