"""CPU seconds of all threads and resident memory of a process, from /proc."""

import os
import platform
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int | None) -> float:
    """User and system time of all threads so far; 0 for no process. One tick is 10 ms."""
    if not pid:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


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
