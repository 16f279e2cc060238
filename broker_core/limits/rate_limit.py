"""Token buckets for messages and bytes per second, on a given clock.

Taking may exceed the available tokens by one piece (a batch, an entry). The debt is paid before the next piece, so the
rate holds on average whatever the sizes. An idle bucket saves the tokens of a quarter of a second. So at most 2.5 % too
much passes within ten seconds after an idle time, and a late loop can catch up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock

BURST_SECONDS = 0.25


class TokenBucket:
    """`per_second` is above 0. `burst`: the maximum of saved tokens, and the number at the start.

    `extra` returns a count that only grows, such as that of published messages; its own rate is added.
    """

    __slots__ = ("_clock", "_extra", "_moment", "_own_rate", "_seen", "_seen_at", "_tokens", "burst", "per_second")

    def __init__(
        self,
        clock: Clock,
        per_second: float,
        burst: float | None = None,
        extra: Callable[[], int] | None = None,
    ) -> None:
        self.per_second = self._own_rate = per_second
        self.burst = max(1.0, per_second * BURST_SECONDS) if burst is None else burst
        self._clock = clock
        self._tokens = self.burst
        self._moment = self._seen_at = clock.monotonic()
        self._extra = extra
        self._seen = extra() if extra is not None else 0

    def available(self) -> float:
        """The tokens available now; negative while there is a debt."""
        now = self._clock.monotonic()
        self._tokens = min(self._tokens + (now - self._moment) * self.per_second, self.burst)
        self._moment = now
        if self._extra is not None and now - self._seen_at >= BURST_SECONDS:
            self._follow(self._extra(), now)
        return self._tokens

    def _follow(self, count: int, now: float) -> None:
        self.per_second = self._own_rate + (count - self._seen) / (now - self._seen_at)
        self.burst = max(1.0, self.per_second * BURST_SECONDS)
        self._seen, self._seen_at = count, now

    def take(self, tokens: float) -> None:
        self._tokens -= tokens

    def wait_seconds(self) -> float:
        """Seconds until a whole token is available; 0 if one is."""
        return max(0.0, (1.0 - self.available()) / self.per_second)


class RateLimit:
    """Several buckets as one: some count messages, others bytes."""

    __slots__ = ("bytes", "messages")

    def __init__(self, messages: Sequence[TokenBucket], bytes: Sequence[TokenBucket]) -> None:
        self.messages = tuple(messages)
        self.bytes = tuple(bytes)

    @classmethod
    def per_second(
        cls, clock: Clock, messages: float, size: float, extra: Callable[[], tuple[int, int]] | None = None
    ) -> RateLimit:
        """Limits messages and bytes per second; 0 or less means no limit. `extra` counts both."""
        counted = None if extra is None else (lambda: extra()[0], lambda: extra()[1])
        buckets = [
            (TokenBucket(clock, rate, extra=counted and counted[index]),) if rate > 0 else ()
            for index, rate in enumerate((messages, size))
        ]
        return cls(*buckets)

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return bool(self.messages or self.bytes)

    def __add__(self, other: RateLimit) -> RateLimit:
        """Both limits together."""
        return RateLimit(self.messages + other.messages, self.bytes + other.bytes)

    def allowed(self, messages: int, size: float) -> int:
        """How many of the messages, each of about `size` bytes, may go now."""
        counts = [messages, *(int(bucket.available()) for bucket in self.messages)]
        for bucket in self.bytes:
            tokens = bucket.available()
            counts.append(0 if tokens < 1 else max(1, int(tokens / size)))  # one message may go on credit
        return max(0, min(counts))

    def entries_allowed(self, counts: Sequence[int], sizes: Sequence[int]) -> int:
        """How many of the entries, with these numbers of messages and bytes, may go now."""
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
        """Seconds until a message may go; 0 if one may go now."""
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
