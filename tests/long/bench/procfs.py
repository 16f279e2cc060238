"""CPU seconds and memory of a process."""

import os
import platform
import time
from pathlib import Path


def cpu_seconds(pid: int | None) -> float:
    """User and system time of all threads so far; 0 for no process.

    The clock of the process counts nanoseconds, and /proc only ticks of 10 ms. Linux gives each process this number
    (clock_getcpuclockid(3)).
    """
    return time.clock_gettime(~pid << 3 | 2) if pid else 0.0


def resident_mb(pid: int) -> float:
    return status_mb(pid, "VmRSS:")


def peak_resident_mb(pid: int) -> float:
    return status_mb(pid, "VmHWM:")


def status_mb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


def machine() -> str:
    """One line: processor, cores, memory, kernel and Python."""
    described = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0]
    model = described.lstrip("\t :") or platform.machine()
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    cores = len(os.sched_getaffinity(0))
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{model}, {cores} cores, {memory_gb:.0f} GB, {system}"
