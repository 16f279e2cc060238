"""The findings of an abusive run: inputs sent, wrong answers, and which input was in progress when."""

import json
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tests.long.abuse.known import EXPECTED_500, KNOWN

REMEMBERED = 20_000
SHOWN = 60


@dataclass
class Tally:
    """Shared by the attackers; `failures` has one sentence for each kind of failure and input."""

    inputs: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    expected_500: int = 0
    _recent: deque[tuple[float, float, str]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def leaves_out(self, name: str) -> bool:
        """Whether an input is on the list of known failures."""
        known = any(fnmatchcase(name, pattern) for pattern in KNOWN)
        self.left_out += known
        return known

    def sent(self, kind: str, name: str, started: float) -> None:
        with self._lock:
            self.inputs[kind] += 1
            self._recent.append((started, time.time(), name))

    def under_way(self, since: float, until: float) -> list[str]:
        """The inputs that were sent, or waited for an answer, between two wall clock times."""
        with self._lock:
            return [name for started, ended, name in self._recent if started <= until and ended >= since]

    def answered(self, name: str, status: int, body: bytes) -> None:
        """Checks one HTTP answer: no 500, and a reason with every 4xx."""
        with self._lock:
            self.statuses[status] += 1
        reason = _reason(body)
        if status == 500 and any(expected in (reason or "") for expected in EXPECTED_500):
            with self._lock:
                self.expected_500 += 1
        elif status == 500:
            self.fail(f"500 {name}: {(reason or repr(body))[:200]}")
        elif 400 <= status < 500 and not reason:
            self.fail(f"{status} without a reason: {name}: {body[:100]!r}")

    def fail(self, sentence: str) -> None:
        with self._lock:
            if len(self.failures) < 10 * SHOWN:
                self.failures[sentence] += 1


def _reason(body: bytes) -> str | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return str(found["reason"]) if isinstance(found, dict) and found.get("reason") else None
