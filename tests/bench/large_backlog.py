"""`ops backlog` of 10,000,000 messages as seen from a shell: wall time, and the memory of all its processes."""

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tests.bench.brokers import scratch_dir
from tests.bench.large_topic import publish
from tests.bench.procfs import resident_mb
from tests.broker_process import PULSARCTL, BrokerProcess
from tests.official_client import connect

TOPIC = "persistent://public/default/large"
BATCHES, BATCH, VALUE_BYTES = 10_000, 1000, 20
SAMPLE_SECONDS = 0.2
ENGINES = ("auto", "local")  # auto chooses Spark for this size


class Run(NamedTuple):
    seconds: float
    peak_mb: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.peak_mb:,.0f} MB"


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
    command = subprocess.Popen(
        [PULSARCTL, *arguments], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    memory = SessionMemory(command.pid)
    memory.start()
    output, _ = command.communicate()
    seconds = time.perf_counter() - started
    memory.stop()
    if command.returncode:
        raise subprocess.CalledProcessError(command.returncode, arguments)
    assert f'"messages": {BATCHES * BATCH},' in output
    return Run(seconds, memory.peak_mb)


class SessionMemory(threading.Thread):
    """The most that the processes of a session had resident together; pages that they share count for each."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0
        self._session = session
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.peak_mb = max(self.peak_mb, sum(map(memory_of, processes_of(self._session))))

    def stop(self) -> None:
        self._done.set()
        self.join()


def processes_of(session: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(path.name)) == session:
                found.append(int(path.name))
        except (ProcessLookupError, PermissionError):
            continue
    return found


def memory_of(pid: int) -> float:
    try:
        return resident_mb(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
