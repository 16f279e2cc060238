"""Token buckets: so many messages and bytes a second, on the clock that is given.

What is taken may exceed what is there by one piece (a batch, an entry): the debt is paid before the next, so the
rate holds on average whatever the sizes. An idle bucket saves up a quarter of a second's tokens, so that over ten
seconds from a standing start no more than 2.5 % too much goes through, and a loop that is late catches up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock

BURST_SECONDS = 0.25


class TokenBucket:
    """`per_second` above 0. `burst`: tokens that are saved up; also those of the start.

    `besides` counts something whose own rate comes on top (what is being published): a number that only grows.
    """

    __slots__ = ("_besides", "_clock", "_moment", "_own_rate", "_seen", "_seen_at", "_tokens", "burst", "per_second")

    def __init__(
        self,
        clock: Clock,
        per_second: float,
        burst: float | None = None,
        besides: Callable[[], int] | None = None,
    ) -> None:
        self.per_second = self._own_rate = per_second
        self.burst = max(1.0, per_second * BURST_SECONDS) if burst is None else burst
        self._clock = clock
        self._tokens = self.burst
        self._moment = self._seen_at = clock.monotonic()
        self._besides = besides
        self._seen = besides() if besides is not None else 0

    def available(self) -> float:
        """Tokens that are there now; negative while there is a debt."""
        now = self._clock.monotonic()
        self._tokens = min(self._tokens + (now - self._moment) * self.per_second, self.burst)
        self._moment = now
        if self._besides is not None and now - self._seen_at >= BURST_SECONDS:
            self._follow(self._besides(), now)
        return self._tokens

    def _follow(self, count: int, now: float) -> None:
        self.per_second = self._own_rate + (count - self._seen) / (now - self._seen_at)
        self.burst = max(1.0, self.per_second * BURST_SECONDS)
        self._seen, self._seen_at = count, now

    def take(self, tokens: float) -> None:
        self._tokens -= tokens

    def wait_seconds(self) -> float:
        """Until a whole token is there; 0 when one is."""
        return max(0.0, (1.0 - self.available()) / self.per_second)


class RateLimit:
    """Several buckets as one: those that count messages, and those that count bytes."""

    __slots__ = ("bytes", "messages")

    def __init__(self, messages: Sequence[TokenBucket], bytes: Sequence[TokenBucket]) -> None:
        self.messages = tuple(messages)
        self.bytes = tuple(bytes)

    @classmethod
    def per_second(
        cls, clock: Clock, messages: float, size: float, besides: Callable[[], tuple[int, int]] | None = None
    ) -> RateLimit:
        """Messages and bytes a second; 0 or less: not limited. `besides` counts both."""
        counted = None if besides is None else (lambda: besides()[0], lambda: besides()[1])
        buckets = [
            (TokenBucket(clock, rate, besides=counted and counted[index]),) if rate > 0 else ()
            for index, rate in enumerate((messages, size))
        ]
        return cls(*buckets)

    def __bool__(self) -> bool:
        """Whether anything is limited."""
        return bool(self.messages or self.bytes)

    def __add__(self, other: RateLimit) -> RateLimit:
        """Both at once."""
        return RateLimit(self.messages + other.messages, self.bytes + other.bytes)

    def allowed(self, messages: int, size: float) -> int:
        """How many of that many messages, each of about that many bytes, may go now."""
        found = [messages, *(int(bucket.available()) for bucket in self.messages)]
        for bucket in self.bytes:
            tokens = bucket.available()
            found.append(0 if tokens < 1 else max(1, int(tokens / size)))  # one message may go on credit
        return max(0, min(found))

    def entries_allowed(self, counts: Sequence[int], sizes: Sequence[int]) -> int:
        """How many of the entries, with so many messages and bytes each, may go now."""
        entries = len(counts)
        for buckets, amounts in ((self.messages, counts), (self.bytes, sizes)):
            if buckets:
                entries = min(entries, _within(amounts, min(bucket.available() for bucket in buckets)))
        return entries

    def take(self, messages: int, size: int) -> None:
        for bucket in self.messages:
            bucket.take(messages)
        for bucket in self.bytes:
            bucket.take(size)

    def wait_seconds(self) -> float:
        """Until a message may go; 0 when one may."""
        return max([0.0, *(bucket.wait_seconds() for bucket in (*self.messages, *self.bytes))])


def _within(amounts: Sequence[int], tokens: float) -> int:
    """How many of the amounts can be taken one after the other, the last one on credit."""
    if tokens < 1:
        return 0
    for index, total in enumerate(accumulate(amounts)):
        if total >= tokens:
            return index + 1
    return len(amounts)


NO_LIMIT = RateLimit((), ())
