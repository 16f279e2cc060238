"""The time by which messages expire: the wall clock, checked against elapsed time.

An expired message is gone, so a wall clock that is wrong for a minute must not expire messages. The wall clock may run
ahead of elapsed time by `expiryClockToleranceSeconds`, counted from the last trusted time. If it is further ahead,
messages expire by elapsed time until the clock comes back or has stayed consistent for `expiryClockProofSeconds`, after
which it is trusted again. The broker trusts the clock when it starts, so an operator accepts a time by restarting the
broker. A clock that is behind is trusted at once: it can only delay expiry.

Time in which the machine sleeps counts as elapsed time.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.policies import PolicyConfig

log = logging.getLogger(__name__)


class ExpiryClock:
    """Each call of `now_ms` reads both clocks; there is no timer."""

    def __init__(self, clock: Clock, config: PolicyConfig) -> None:
        self._clock = clock
        self._tolerance_ms = config.clock_tolerance_seconds * 1000
        self._proof_ms = config.clock_proof_seconds * 1000
        self._kept_since = self._elapsed_ms()
        # Offsets are wall time minus elapsed time (ms).
        self._believed = self._kept = clock.wall_ms() - self._kept_since
        self._is_held = False

    def now_ms(self) -> int:
        """Wall time (ms), or an earlier time while the wall clock is not trusted."""
        elapsed, wall = self._elapsed_ms(), self._clock.wall_ms()
        self._look(wall - elapsed, elapsed)
        return self._believed + elapsed if self._is_held else wall

    def _look(self, offset: int, elapsed: int) -> None:
        if abs(offset - self._kept) > self._tolerance_ms:
            self._kept, self._kept_since = offset, elapsed
        elif elapsed - self._kept_since >= self._proof_ms:
            self._believed = offset
        was_held, self._is_held = self._is_held, offset - self._believed > self._tolerance_ms
        if self._is_held and not was_held:
            log.warning(
                "the wall clock is %d s ahead of elapsed time; messages expire by elapsed time until the clock has"
                " stayed consistent for %d s. If the clock is right, restart the broker to accept it at once",
                (offset - self._believed) // 1000,
                self._proof_ms // 1000,
            )
        elif was_held and not self._is_held:
            log.warning("messages expire by the wall clock again")

    def _elapsed_ms(self) -> int:
        return round(self._clock.elapsed() * 1000)
