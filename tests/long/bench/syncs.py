"""How long the disk takes to sync, and how often a broker syncs."""

import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.condition import holds_within

PROBE_WRITES = 300
SYNC_CALLS = ("fdatasync", "fsync", "pwritev2")  # the last one as RealDisk.write_synced has it
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
    """Runs `load` and returns the number of syncs of the process during it; None without strace."""
    if not shutil.which("strace"):
        return None
    tracer = subprocess.Popen(
        ["strace", "-c", "-f", "-e", f"trace={','.join(SYNC_CALLS)}", "-p", str(pid)], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_attached(pid)
        load()
    finally:
        tracer.send_signal(signal.SIGINT)
        summary = tracer.communicate()[1]
    return total_calls(summary)


def total_calls(summary: str) -> int:
    """Sums the column `calls` of `strace -c`: % time, seconds, usecs/call, calls, errors (may be blank), syscall."""
    rows = [line.split() for line in summary.splitlines()]
    return sum(int(row[3]) for row in rows if row and row[-1] in SYNC_CALLS)


def wait_attached(pid: int) -> None:
    status = Path(f"/proc/{pid}/status")
    if not holds_within(lambda: "TracerPid:\t0\n" not in status.read_text(), ATTACH_SECONDS):
        raise TimeoutError("strace did not attach; is tracing of other processes allowed here?")
