"""What the broker process shows: its memory, its log, and how long its event loop was blocked."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TRACEBACK = "Traceback (most recent call last)"
LONGEST_LINE = 1_000
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@dataclass(frozen=True, slots=True)
class Stall:
    """`own`: seconds for which the loop was blocked while its thread had a processor or needed none."""

    ended: float
    own: float
    late: float
    cpu: float
    stack: tuple[str, ...]

    @property
    def began(self) -> float:
        return self.ended - self.late


def stalls(file: Path) -> Iterator[Stall]:
    for line in file.read_text().splitlines():
        found = json.loads(line)
        yield Stall(found["at"], found["own"], found["late"], found["cpu"], tuple(found["stack"]))


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MB


def peak_mb(pid: int) -> float:
    """The peak resident memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@dataclass(frozen=True, slots=True)
class Log:
    lines: int
    tracebacks: int
    longest: int
    first_traceback: str


def read_log(file: Path) -> Log:
    text = file.read_text(errors="replace")
    lines = text.splitlines()
    at = text.find(TRACEBACK)
    first = text[max(at - 500, 0) : at + 3_000] if at >= 0 else ""
    return Log(len(lines), text.count(TRACEBACK), max(map(len, lines), default=0), first)
