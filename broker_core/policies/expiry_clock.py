"""The time by which messages expire: the wall clock, held to the time that really passed.

A message that expired is gone, so a wall clock that is wrong for a minute must not decide that. It may run ahead of
elapsed time by `expiryClockToleranceSeconds`, counted from where it was last believed. When it is further ahead,
messages expire by elapsed time until the clock comes back, or has kept the new time for `expiryClockProofSeconds`,
which makes it believed. A start believes the clock, so restarting the broker is how an operator accepts a time.
A clock that is behind is believed at once: it only expires things late.

Sleep of the machine counts as elapsed time and needs no proof.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.broker import PolicyConfig

log = logging.getLogger(__name__)


class ExpiryClock:
    """Every call of `now_ms` is a look at both clocks; there is no timer."""

    def __init__(self, clock: Clock, config: PolicyConfig) -> None:
        self._clock = clock
        self._tolerance_ms = config.clock_tolerance_seconds * 1000
        self._proof_ms = config.clock_proof_seconds * 1000
        self._kept_since = self._elapsed_ms()
        # Offsets are wall time minus elapsed time (ms).
        self._believed = self._kept = clock.wall_ms() - self._kept_since
        self._is_held = False

    def now_ms(self) -> int:
        """Wall time (ms), or less while the wall clock is not believed."""
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
                "the wall clock is %d s ahead of the time that passed; messages expire by elapsed time until it has"
                " kept its time for %d s. If it is right, restart the broker to accept it at once",
                (offset - self._believed) // 1000,
                self._proof_ms // 1000,
            )
        elif was_held and not self._is_held:
            log.warning("messages expire by the wall clock again")

    def _elapsed_ms(self) -> int:
        return round(self._clock.elapsed() * 1000)
