"""`pulsarctl perf`: measure throughput and latency."""

from pulsarctl.commands.perf import consume, e2e, produce, read
from pulsarctl.shell.grammar import Noun

app = Noun(
    "perf",
    "Measure throughput and latency with a load of your choice.",
    produce.app,
    consume.app,
    read.app,
    e2e.app,
)
