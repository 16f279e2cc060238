"""How long the disk takes to sync, and how often a broker asks it to."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROBE_WRITES = 300
SYNC_CALLS = "fdatasync,fsync"
ATTACH_SECONDS = 5.0


def fdatasync_ms(directory: Path) -> float:
    """Median time of an append of 200 bytes and its fdatasync in `directory`."""
    times = []
    with tempfile.TemporaryFile(dir=directory) as probe:
        for _ in range(PROBE_WRITES):
            started = time.perf_counter()
            os.write(probe.fileno(), bytes(200))
            os.fdatasync(probe.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def count_syncs(pid: int, load: Callable[[], object]) -> int | None:
    """Runs `load` and returns how many syncs the process made meanwhile; None where there is no strace."""
    if not shutil.which("strace"):
        return None
    tracer = subprocess.Popen(
        ["strace", "-c", "-f", "-e", f"trace={SYNC_CALLS}", "-p", str(pid)], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_attached(pid)
        load()
    finally:
        tracer.send_signal(signal.SIGINT)
        summary = tracer.communicate()[1]
    rows = re.findall(r"(\d+)\s+(?:\d+\s+)?(?:fdatasync|fsync)$", summary, re.MULTILINE)
    return sum(map(int, rows))


def wait_attached(pid: int) -> None:
    deadline = time.monotonic() + ATTACH_SECONDS
    while "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text():
        if time.monotonic() > deadline:
            raise TimeoutError("strace did not attach; is tracing of other processes allowed here?")
        time.sleep(0.01)
