"""The latency of a producer alone, and beside reports about 10,000 topics, each asked for without a pause.

The reports are read, and topics deleted, by separate processes, so that the producer waits only for the broker and for
the processors. `/metrics` is asked for more often than any Prometheus does.

Each report is also read, and half of the topics deleted, by a process of the lowest priority: in production, that
client is on another machine and takes no time from the broker and the producer. Both are shown.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.asking import seconds
from tests.bench.attached import TOPICS, Attached
from tests.bench.brokers import scratch_dir
from tests.bench.console_pages import PAGES
from tests.bench.load import Load
from tests.bench.procfs import cpu_seconds, resident_mb
from tests.bench.rows import run_python
from tests.bench.table import aligned
from tests.broker_process import PULSARCTL, BrokerProcess

COUNT = 3000
RATE = 1000
LOWEST = ("nice", "-n", "19")  # a command that starts another
HEADER = ["beside", "p50 ms", "p99 ms", f"p50 at {RATE:,}/s", f"p99 at {RATE:,}/s", "s each", "MB"]
REPORTS = {
    "metrics": ["/metrics"],
    "list of topics": ["/admin/v2/persistent/public/default"],
    "stats of all": ["/admin/v2/broker-stats/topics"],
    "console, topics": [PAGES["first page of topics"]],
    "console, backlogs": [PAGES["largest backlogs"]],
}
Cells = list[str]
Priority = tuple[str, ...]


def beside(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "beside")) as process:
        with Attached(process.service_url, name="gone"):
            pass  # their topics are deleted before the reports
        with Attached(process.service_url, messages=True):
            rows = [["nothing", *latencies(process), "-", memory(process)]]
            rows.append(deletion(process, "regex delete", "gone-.*[02468]"))
            rows.append(deletion(process, "regex delete, low priority", "gone-.*", LOWEST))
            for name, paths in REPORTS.items():
                rows.append(report(process, name, paths))
                rows.append(report(process, f"{name}, low priority", paths, LOWEST))
        scrape = cpu_of_a_scrape(process)
    table = aligned(HEADER, rows)
    return f"a producer beside reports about {TOPICS:,} topics; a scrape uses {scrape * 1000:.0f} ms of CPU\n{table}"


def latencies(process: BrokerProcess) -> Cells:
    found = []
    for load in ("sync", "steady"):
        result = run_python(
            Load(load, process.service_url, "persistent://public/default/latency", COUNT, warmup=100, rate=RATE)
        )
        found += [f"{result['p50_ms']:.2f}", f"{result['p99_ms']:.2f}"]
    return found


def memory(process: BrokerProcess) -> str:
    return f"{resident_mb(process.pid):.0f}"


def report(process: BrokerProcess, name: str, paths: list[str], priority: Priority = ()) -> Cells:
    with asking([process.http_url + path for path in paths], priority) as asker:
        cells = latencies(process)
        said, _ = asker.communicate("", timeout=300)
    return [name, *cells, f"{float(said):.2f}", memory(process)]


@contextmanager
def asking(urls: list[str], priority: Priority) -> Iterator["subprocess.Popen[str]"]:
    command = [*priority, sys.executable, "-m", "tests.bench.asking", *urls]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asker:
        yield asker


def deletion(process: BrokerProcess, name: str, topics: str, priority: Priority = ()) -> Cells:
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
        cells = latencies(process)
        _, said = deleting.communicate(timeout=600)
    if deleting.returncode:
        raise RuntimeError(f"{' '.join(command)}: {said}")
    return [name, *cells, "-", memory(process)]


def cpu_of_a_scrape(process: BrokerProcess) -> float:
    """Of the broker, without a producer."""
    before, times = cpu_seconds(process.pid), 10
    for _ in range(times):
        seconds(f"{process.http_url}/metrics")
    return (cpu_seconds(process.pid) - before) / times
