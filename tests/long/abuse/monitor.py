"""What the broker process shows: its memory, its log, and how long its event loop was blocked."""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.long.abuse.tally import Tally

TRACEBACK = "Traceback (most recent call last)"
LONGEST_LINE = 1_000
SHOWN_INPUTS = 6
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@dataclass(frozen=True, slots=True)
class Stall:
    """Seconds. `own`: the loop was blocked while the process had a processor, or needed none. `collecting`: garbage."""

    ended: float
    own: float
    late: float
    cpu: float
    collecting: float
    threads: dict[str, float]  # name -> computed
    stack: tuple[str, ...]

    @property
    def began(self) -> float:
        return self.ended - self.late

    def __str__(self) -> str:
        computed = ", ".join(f"{name} {seconds * 1000:.0f}" for name, seconds in self.threads.items()) or "none"
        functions = " < ".join(reversed(self.stack[-6:])) or "no function that was seen"
        return (
            f"{self.own * 1000:.0f} ms (CPU {self.cpu * 1000:.0f} ms, of threads: {computed}; "
            f"collections {self.collecting * 1000:.0f} ms) in {functions}"
        )


class WorstStalls:
    """The longest stall of each place in the code, of those of `seconds` and more; read while the run goes on.

    The inputs under way are looked up at once: the tally forgets those of long ago.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._read = 0  # bytes of the file
        self._worst: dict[str, tuple[Stall, list[str]]] = {}
        self._counts: Counter[str] = Counter()
        self.longest = 0.0

    @property
    def count(self) -> int:
        return self._counts.total()

    def skip(self, file: Path) -> None:
        """Leaves out what was reported until now: the start of the broker."""
        self._read = file.read_bytes().rfind(b"\n") + 1

    def read(self, file: Path, tally: Tally) -> None:
        """Takes what is new in the file; a line that is being written waits for the next time."""
        with file.open("rb") as lines:
            lines.seek(self._read)
            for line in lines:
                if line.endswith(b"\n"):
                    self._read += len(line)
                    self._add(json.loads(line), tally)

    def _add(self, found: dict[str, Any], tally: Tally) -> None:
        ended, stack = found.pop("at"), tuple(found.pop("stack"))
        stall = Stall(ended, stack=stack, **found)
        self.longest = max(self.longest, stall.own)
        if stall.own >= self._seconds:
            where = stall.stack[-1] if stall.stack else "unseen"
            self._counts[where] += 1
            if where not in self._worst or stall.own > self._worst[where][0].own:
                self._worst[where] = stall, tally.under_way(stall.began, stall.ended)[:SHOWN_INPUTS]

    def sentences(self) -> list[str]:
        return [
            f"the loop stood still {self._counts[where]} times, for up to {stall}, during {inputs}"
            for where, (stall, inputs) in self._worst.items()
        ]


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
    longest_line: str
    first_traceback: str


def read_log(file: Path) -> Log:
    text = file.read_text(errors="replace")
    lines = text.splitlines()
    at = text.find(TRACEBACK)
    first = text[max(at - 500, 0) : at + 3_000] if at >= 0 else ""
    return Log(len(lines), text.count(TRACEBACK), max(lines, key=len, default=""), first)
