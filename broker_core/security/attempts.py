"""Failed authentications of each address: the more there were lately, the longer the next answer takes. Bounded.

Answers are delayed and never refused, so that one client with a wrong password does not lock out the others behind the
same address.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.clock import Clock

ADDRESSES_MAX = 10_000
FORGET_SECONDS = 60.0
FIRST_DELAY = 0.1  # seconds; it doubles with each further failure
LONGEST_DELAY = 5.0


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Attempts:
    """`free`: how many failures have no consequence."""

    def __init__(self, free: int, clock: Clock) -> None:
        self._free = free
        self._clock = clock
        self._by_address: dict[str, _Failures] = {}
        self.failed_total = 0

    def delay(self, address: str) -> float:
        """Seconds to wait before the answer to the next attempt."""
        found = self._by_address.get(address)
        if found is None or found.last < self._clock.monotonic() - FORGET_SECONDS:
            return 0.0
        above = found.count - self._free
        return min(FIRST_DELAY * 2 ** min(above, 10), LONGEST_DELAY) if above >= 0 else 0.0

    def failed(self, address: str) -> None:
        now = self._clock.monotonic()
        self.failed_total += 1
        before = self._by_address.pop(address, None)  # to the end: the oldest are forgotten first
        recent = before is not None and before.last >= now - FORGET_SECONDS
        self._by_address[address] = _Failures(before.count + 1 if before and recent else 1, now)
        if len(self._by_address) > ADDRESSES_MAX:
            del self._by_address[next(iter(self._by_address))]
