"""Counts of messages and bytes, and their rate over about the last minute.

Adding is two integer additions and reads no clock. The broker samples every rate each half minute (`sample_forever`).
A rate is counted from the sample before the last one, which is 30 to 60 seconds old. Reading a rate changes nothing,
so any number of tools can read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_core.rates.time_slices import sliced

if TYPE_CHECKING:
    from broker_core.clock import Clock

SAMPLE_SECONDS = 30.0


class Sampled(Protocol):
    def sample(self) -> None:
        """Called twice a minute."""


class Sample(NamedTuple):
    moment: float  # monotonic
    messages: int
    bytes: int


class Rate:
    __slots__ = ("_clock", "_newer", "_older", "bytes", "messages")

    def __init__(self, clock: Clock) -> None:
        self.messages = 0
        self.bytes = 0
        self._clock = clock
        self._older = self._newer = Sample(clock.monotonic(), 0, 0)

    def add(self, messages: int, size: int) -> None:
        self.messages += messages
        self.bytes += size

    def absorb(self, other: Rate) -> None:
        """Adds the counts of another rate, without letting them look recent."""
        self.messages += other.messages
        self.bytes += other.bytes
        self._older = _sum(self._older, other._older)
        self._newer = _sum(self._newer, other._newer)

    def sample(self) -> None:
        self._older = self._newer
        self._newer = Sample(self._clock.monotonic(), self.messages, self.bytes)

    def per_second(self) -> tuple[float, float]:
        """Messages and bytes per second; less than a second counts as one, so that short bursts are not inflated."""
        moment, messages, size = self._older
        if messages == self.messages and size == self.bytes:  # as for most of 10,000 topics
            return 0.0, 0.0
        seconds = max(self._clock.monotonic() - moment, 1.0)
        return (self.messages - messages) / seconds, (self.bytes - size) / seconds


def _sum(own: Sample, other: Sample) -> Sample:
    return Sample(own.moment, own.messages + other.messages, own.bytes + other.bytes)


async def sample_forever(rates: Callable[[], Iterable[Sampled]]) -> None:
    """Samples all of `rates()` twice a minute; the iterable must tolerate awaits between its items."""
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        async for rate in sliced(rates()):
            rate.sample()
