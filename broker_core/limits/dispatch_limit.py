"""The dispatch rates that apply to one subscription: its own, its topic's, and the broker's.

A dispatcher asks before it dispatches and reports what it sent; after a refusal it is woken when there are tokens
again. With `dispatchThrottlingOnNonBacklogConsumerEnabled` false, subscriptions that have caught up are not limited.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.limits.rate_limit import RateLimit
    from broker_core.storage.cursor.cursor import ManagedCursor

TICK_SECONDS = 0.01  # minimum time between wake-ups of a dispatcher, so that messages go in runs
FIRST_GUESS_BYTES = 1024  # size of a message before the first one is sent
LOOK_AGAIN_SECONDS = 1.0  # maximum wait, however large the debt: by then the subscription or the rate may be gone
CAUGHT_UP_ENTRIES = 1000  # Pulsar's managedLedgerCursorBackloggedThreshold


class DispatchLimit:
    """`levels`: the limits by `Subscription`, `Topic`, and `Broker`. `events` counts refusals by Pulsar's names."""

    def __init__(
        self,
        cursor: ManagedCursor,
        wake: Callable[[], None],
        levels: Mapping[str, RateLimit],
        *,
        without_backlog: bool,
        per_batch: bool,
    ) -> None:
        self.events: Counter[str] = Counter()
        self._levels = levels
        self._rates = reduce(add, levels.values())
        self._per_batch = per_batch
        self._cursor = cursor
        self._wake_dispatcher = wake
        self._without_backlog = without_backlog
        self._message_size = float(FIRST_GUESS_BYTES)  # average of the last messages sent
        self._timer: asyncio.TimerHandle | None = None

    def allowed(self, messages: int) -> int:
        """How many of that number of messages may go now; after a 0 the dispatcher is woken when more may go."""
        if not self._applies():
            return messages
        allowed = self._rates.allowed(messages, self._message_size)
        if not allowed and self._timer is None:
            seconds = min(max(self._rates.wait_seconds(), TICK_SECONDS), LOOK_AGAIN_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake)
            self._count_refusal()
        return allowed

    def dispatched(self, messages: int, size: int, entries: int) -> None:
        """Records that the messages were sent, with their total size and number of entries."""
        self._message_size = max(1.0, size / messages)
        if self._applies():
            self._rates.take(entries if self._per_batch else messages, size)

    def _applies(self) -> bool:
        return self._without_backlog or self._cursor.backlog_entries >= CAUGHT_UP_ENTRIES

    def _count_refusal(self) -> None:
        for level, rates in self._levels.items():
            for unit, buckets in (("Msg", rates.messages), ("Bytes", rates.bytes)):
                if any(bucket.available() < 1 for bucket in buckets):
                    self.events[f"dispatchThrottled{unit}EventsBy{level}Limit"] += 1

    def _wake(self) -> None:
        self._timer = None
        self._wake_dispatcher()


class NothingAllowed:
    """The dispatch rates of a subscription that delivers nothing."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()

    def allowed(self, messages: int) -> int:
        return 0

    def dispatched(self, messages: int, size: int, entries: int) -> None:
        """Never called, because nothing is allowed."""
