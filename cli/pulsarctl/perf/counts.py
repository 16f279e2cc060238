"""The counts of a measurement, in an interval and in total. Pure."""

from collections import Counter
from dataclasses import dataclass, field

from pulsarctl.perf.latencies import Latencies


@dataclass(slots=True)
class Counts:
    """`errors` has the number of failures by their reason."""

    messages: int = 0
    size: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    latencies: Latencies = field(default_factory=Latencies)

    @property
    def failures(self) -> int:
        return self.errors.total()

    def merge(self, other: "Counts") -> None:
        self.messages += other.messages
        self.size += other.size
        self.errors.update(other.errors)
        self.latencies.merge(other.latencies)
