"""`ops backlog` of 10,000,000 messages as seen from a shell: time, and the memory of all its processes."""

import contextlib
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tests.long.bench.brokers import scratch_dir
from tests.long.bench.large_topic import publish
from tests.long.bench.procfs import cpu_seconds, resident_mb
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.official_client import connect

TOPIC = "persistent://public/default/large"
BATCHES, BATCH, VALUE_BYTES = 10_000, 1000, 20
SAMPLE_SECONDS = 0.2
ENGINES = ("spark", "local")


class Run(NamedTuple):
    seconds: float
    cpu_seconds: float
    peak_mb: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.cpu_seconds:.1f} s of processor time, {self.peak_mb:,.0f} MB"


def large_backlog(directory: Path) -> str:
    """The class archive of Spark is written by the row `backlog`, or by the first run here."""
    with BrokerProcess(scratch_dir(directory, "large-backlog")) as process:
        client = connect(process.service_url)
        client.subscribe(TOPIC, "s").close()
        client.close()
        publish(process.service_url, TOPIC, batches=BATCHES, messages=BATCH, value_bytes=VALUE_BYTES)
        size = sum(path.stat().st_size for path in process.data_dir.rglob("*.ledger"))
        addresses = {"PULSARCTL_ADMIN_URL": process.http_url, "PULSARCTL_SERVICE_URL": process.service_url}
        environment = os.environ | addresses | {"PULSARCONFIG": str(directory / "no-contexts")}
        found = {engine: run(engine, environment) for engine in ENGINES}
    scratch_dir(directory, "large-backlog")
    figures = ", ".join(f"{engine} {found[engine]}" for engine in ENGINES)
    return f"`pulsarctl ops backlog` of {BATCHES * BATCH:,} messages, {size / 1e6:,.0f} MB: {figures}"


def run(engine: str, environment: dict[str, str]) -> Run:
    """Raises CalledProcessError."""
    arguments = ("ops", "backlog", TOPIC, "--engine", engine, "-o", "json")
    started = time.perf_counter()
    command = subprocess.Popen([PULSARCTL, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
    usage = Usage(command.pid)
    usage.start()
    output, _ = command.communicate()
    seconds = time.perf_counter() - started
    usage.stop()
    if command.returncode:
        raise subprocess.CalledProcessError(command.returncode, arguments)
    assert f'"messages": {BATCHES * BATCH},' in output
    return Run(seconds, usage.cpu_seconds, usage.peak_mb)


class Usage(threading.Thread):
    """Samples a command and all processes that it starts: Java, and the workers that Java starts.

    `peak_mb` is the most that they had resident together; pages that they share count for each. What a process uses
    after the last sample is not counted.
    """

    def __init__(self, command: int) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0
        self._command = command
        self._cpu: dict[int, float] = {}
        self._done = threading.Event()

    @property
    def cpu_seconds(self) -> float:
        return sum(self._cpu.values())

    def run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            found = [facts for pid in descendants(self._command) if (facts := facts_of(pid))]
            self.peak_mb = max(self.peak_mb, sum(megabytes for _, _, megabytes in found))
            self._cpu |= {pid: seconds for pid, seconds, _ in found}

    def stop(self) -> None:
        self._done.set()
        self.join()


def descendants(command: int) -> set[int]:
    """With the command itself."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.name))
    found, waiting = set(), [command]
    while waiting:
        found.add(process := waiting.pop())
        waiting += children.get(process, ())
    return found


def facts_of(pid: int) -> tuple[int, float, float] | None:
    """Its ID, processor time, and memory; None if it has ended."""
    try:
        return pid, cpu_seconds(pid), resident_mb(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
