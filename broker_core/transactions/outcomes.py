"""How transactions ended a short while ago, so that a client that lost the answer to END_TXN can ask again."""

from __future__ import annotations

from broker_core.clock import Clock

REMEMBER_SECONDS = 300.0
REMEMBER_MAX = 100_000


class Outcomes:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ended: dict[int, tuple[float, bool]] = {}  # in order of time

    def add(self, transaction_id: int, *, commit: bool) -> None:
        now = self._clock.monotonic()
        self._ended[transaction_id] = now, commit
        while self._is_over(now):
            del self._ended[next(iter(self._ended))]

    def _is_over(self, now: float) -> bool:
        oldest, _ = next(iter(self._ended.values()))
        return len(self._ended) > REMEMBER_MAX or oldest < now - REMEMBER_SECONDS

    def was_committed(self, transaction_id: int) -> bool | None:
        """None if it is not known, or not any more."""
        ended = self._ended.get(transaction_id)
        return None if ended is None else ended[1]
