"""The latency of a producer alone, and beside reports about 10,000 topics, each asked for without a pause.

The reports are read, and topics deleted, by separate processes, so that the producer waits only for the broker and for
the processors. `/metrics` is asked for more often than any Prometheus does.

Each report is also read, and half of the topics deleted, by a process of the lowest priority: in production, that
client is on another machine and takes no time from the broker and the producer. Both are shown.

Reports take turns, and what counts is the median over the rounds: now and then, the kernel's scheduler lets a producer
wait for a tick of 4 ms, also when it is alone.
"""

import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.long.bench.asking import seconds
from tests.long.bench.attached import TOPICS, Attached
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.console_pages import PAGES
from tests.long.bench.load import Load
from tests.long.bench.procfs import cpu_seconds, resident_mb
from tests.long.bench.rows import run_python
from tests.long.bench.table import aligned
from tests.support.broker_process import PULSARCTL, BrokerProcess

ROUNDS = 3
COUNT = 3000
RATE = 1000
LOWEST = ("nice", "-n", "19")  # a command that starts another
EACH = f"at {RATE:,}/s"
HEADER = ["beside", "p50 ms", "p99 ms", "x alone", f"p50 {EACH}", f"p99 {EACH}", f"x alone {EACH}", "s each", "MB"]
REPORTS = {
    "metrics": ["/metrics"],
    "list of topics": ["/admin/v2/persistent/public/default"],
    "stats of all": ["/admin/v2/broker-stats/topics"],
    "console, topics": [PAGES["first page of topics"]],
    "console, backlogs": [PAGES["largest backlogs"]],
}
ALONE, ALONE_WITH_MORE = "nothing", f"nothing, {2 * TOPICS:,} topics"
Priority = tuple[str, ...]


class Beside(NamedTuple):
    """Percentiles in ms of messages one at a time, and of `RATE` per second; seconds of a report, 0 for others."""

    sync_p50: float
    sync_p99: float
    steady_p50: float
    steady_p99: float
    seconds: float
    resident_mb: float


Rounds = defaultdict[str, list[Beside]]


def beside(directory: Path) -> str:
    found: Rounds = defaultdict(list)
    with (
        BrokerProcess(scratch_dir(directory, "beside")) as process,
        Attached(process.service_url, messages=True),
    ):
        for _ in range(ROUNDS):
            reports(process, found)
        scrape = cpu_of_a_scrape(process)
        for number in range(ROUNDS):
            deletions(process, found, f"gone-{number}")
    alone = found[ALONE]
    lines = []
    for name, rounds in found.items():
        alone = rounds if name == ALONE_WITH_MORE else alone
        lines.append(line(name, rounds, alone))
    scene = f"a producer beside reports about {TOPICS:,} topics, medians of {ROUNDS} rounds"
    return f"{scene}; a scrape uses {scrape * 1000:.0f} ms of CPU\n{aligned(HEADER, lines)}"


def reports(process: BrokerProcess, found: Rounds) -> None:
    found[ALONE].append(latencies(process))
    for name, paths in REPORTS.items():
        found[name].append(report(process, paths))
        found[f"{name}, low priority"].append(report(process, paths, LOWEST))


def deletions(process: BrokerProcess, found: Rounds, name: str) -> None:
    """Measures two deletions, each of half of the topics."""
    with Attached(process.service_url, name=name):
        pass
    found[ALONE_WITH_MORE].append(latencies(process))
    found["regex delete"].append(deletion(process, f"{name}-.*[02468]"))
    found["regex delete, low priority"].append(deletion(process, f"{name}-.*", LOWEST))


def line(name: str, rounds: list[Beside], alone: list[Beside]) -> list[str]:
    """Medians."""
    own, base = (Beside(*map(statistics.median, zip(*some, strict=True))) for some in (rounds, alone))
    return [
        name,
        f"{own.sync_p50:.2f}",
        f"{own.sync_p99:.2f}",
        f"{own.sync_p99 / base.sync_p99:.1f}",
        f"{own.steady_p50:.2f}",
        f"{own.steady_p99:.2f}",
        f"{own.steady_p99 / base.steady_p99:.1f}",
        f"{own.seconds:.2f}" if own.seconds else "-",
        f"{own.resident_mb:.0f}",
    ]


def latencies(process: BrokerProcess) -> Beside:
    (sync_p50, sync_p99), (steady_p50, steady_p99) = (percentiles(process, load) for load in ("sync", "steady"))
    return Beside(sync_p50, sync_p99, steady_p50, steady_p99, 0.0, resident_mb(process.pid))


def percentiles(process: BrokerProcess, load: str) -> tuple[float, float]:
    topic = "persistent://public/default/latency"
    result = run_python(Load(load, process.service_url, topic, COUNT, warmup=100, rate=RATE))
    return result["p50_ms"], result["p99_ms"]


def report(process: BrokerProcess, paths: list[str], priority: Priority = ()) -> Beside:
    with asking([process.http_url + path for path in paths], priority) as asker:
        measured = latencies(process)
        said, _ = asker.communicate("", timeout=300)
    return measured._replace(seconds=float(said))


@contextmanager
def asking(urls: list[str], priority: Priority) -> Iterator["subprocess.Popen[str]"]:
    command = [*priority, sys.executable, "-m", "tests.long.bench.asking", *urls]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asker:
        yield asker


def deletion(process: BrokerProcess, topics: str, priority: Priority = ()) -> Beside:
    command = [
        *priority,
        str(PULSARCTL),
        "--admin-url",
        process.http_url,
        "topics",
        "delete",
        "--regex",
        topics,
        "--yes",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as deleting:
        measured = latencies(process)
        _, said = deleting.communicate(timeout=600)
    if deleting.returncode:
        raise RuntimeError(f"{' '.join(command)}: {said}")
    return measured


def cpu_of_a_scrape(process: BrokerProcess) -> float:
    """The CPU seconds of the broker for one scrape, without a producer."""
    before, times = cpu_seconds(process.pid), 10
    for _ in range(times):
        seconds(f"{process.http_url}/metrics")
    return (cpu_seconds(process.pid) - before) / times
