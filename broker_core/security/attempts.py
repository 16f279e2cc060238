"""Failed authentications of each address or user: the more there were, the longer the next answer takes. Bounded."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from broker_core.clock import Clock

SUBJECTS_MAX = 10_000
FORGET_SECONDS = 60.0
FIRST_DELAY = 0.1  # seconds; it doubles with each further failure
LONGEST_DELAY = 5.0


@dataclass(slots=True, eq=False, repr=False)
class _Failures:
    """The number of attempts that failed, and the time of the last one."""

    count: int
    last: float


class Attempts:
    """`free` failures have no consequence. With `most`, no more than that may fail; 0 means no limit."""

    def __init__(self, free: int, most: int, clock: Clock) -> None:
        self._free = free
        self._most = most
        self._clock = clock
        self._by_subject: dict[Hashable, _Failures] = {}

    def delay(self, subject: Hashable) -> float:
        """Seconds to wait before the answer to the next attempt."""
        above = self.recent(subject) - self._free
        return min(FIRST_DELAY * 2 ** min(above, 10), LONGEST_DELAY) if above >= 0 else 0.0

    def refuses(self, subject: Hashable) -> bool:
        """Whether the next attempt must not be checked, because too many failed."""
        return 0 < self._most <= self.recent(subject)

    def failed(self, subject: Hashable) -> None:
        """An attempt was checked, and failed. One that is refused does not count, so the refusal ends."""
        count = self.recent(subject) + 1
        self._by_subject.pop(subject, None)  # moved to the end: the oldest are forgotten first
        self._by_subject[subject] = _Failures(count, self._clock.monotonic())
        if len(self._by_subject) > SUBJECTS_MAX:
            del self._by_subject[next(iter(self._by_subject))]

    def recent(self, subject: Hashable) -> int:
        """The number of attempts that failed, each within a minute of the one before."""
        failures = self._by_subject.get(subject)
        if failures is None or failures.last < self._clock.monotonic() - FORGET_SECONDS:
            return 0
        return failures.count
