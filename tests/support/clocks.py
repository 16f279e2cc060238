"""Clocks that a test moves."""

from dataclasses import dataclass

from broker_core.clock import SystemClock


@dataclass
class StillClock:
    """All clocks stand still between the steps of a test."""

    seconds: float = 100.0

    def wall_ms(self) -> int:
        return round(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    def elapsed(self) -> float:
        return self.seconds


@dataclass
class ShiftedClock(SystemClock):
    """The system's clocks, which keep running, plus what the test adds."""

    jump_ms: int = 0  # a user set the wall clock
    slept_ms: int = 0  # the machine slept, which timers do not notice
    ran_seconds: float = 0.0  # what timers count

    def wall_ms(self) -> int:
        return super().wall_ms() + self.jump_ms + self.slept_ms

    def monotonic(self) -> float:
        return super().monotonic() + self.ran_seconds

    def elapsed(self) -> float:
        return super().elapsed() + self.slept_ms / 1000
