"""How many messages may leave in one step, as one value.

Four things limit a step: the permits of the consumers and the space in their sockets, the unacknowledged messages of
the consumer, the subscription, and the broker, the share that the policy gives each consumer, and the dispatch rates.
A dispatcher asks for all of them at once, before it reads anything. Where one consumer gets everything, one number is
enough: `for_only`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections import Counter

    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.unacked_limits import UnackedLimits

Shares = dict["Consumer", int]  # messages that each consumer can take; always more than 0


class DispatchRates(Protocol):
    """The dispatch rates of a subscription."""

    events: Counter[str]

    def allowed(self, messages: int) -> int:
        """How many of `messages` may go now. After a 0 it wakes the dispatcher when some may go again."""

    def dispatched(self, messages: int, size: int, entries: int) -> None:
        """Records what was sent: messages, their bytes, and their entries."""


class Allowance:
    """The messages that may leave in one step: at most `shares` for each consumer, and `messages` for all of them."""

    __slots__ = ("messages", "shares")

    def __init__(self, shares: Shares, messages: int) -> None:
        self.shares = shares
        self.messages = messages


class DispatchBudget:
    """The limits of one dispatcher. `rates` is None without dispatch rates, `unacked` where acks are cumulative."""

    __slots__ = ("_unacked", "rates")

    def __init__(self, unacked: UnackedLimits | None) -> None:
        self.rates: DispatchRates | None = None
        self._unacked = unacked

    def can_take(self, consumer: Consumer) -> int:
        """Messages that the consumer can take now."""
        unacked = self._unacked
        # Always ask: a consumer that reaches its limit stays blocked, whatever its permits and its socket say later.
        if unacked is not None and unacked.consumer_blocked(consumer):
            return 0
        if consumer.permits <= 0 or not consumer.writable:
            return 0
        return consumer.permits if unacked is None else unacked.allowed(consumer)

    def for_only(self, consumer: Consumer) -> int:
        """Messages that may leave now where this consumer gets everything, and acks are cumulative."""
        messages = self.can_take(consumer)
        return messages if self.rates is None or messages <= 0 else self.rates.allowed(messages)

    def allowance(
        self,
        consumers: Sequence[Consumer],
        wake: Callable[[], None],
        divide: Callable[[Shares], Shares] | None = None,
    ) -> Allowance | None:
        """The messages that may leave now, or None. `divide` gives each consumer its share of what it can take.

        `wake` is called later if the limit of the broker on unacknowledged messages is the reason for None.
        """
        shares = {consumer: most for consumer in consumers if (most := self.can_take(consumer)) > 0}
        if self._unacked is not None and self._unacked.subscription_blocked(consumers, wake):
            return None
        if not shares:
            return None
        if divide is not None:
            shares = divide(shares)
        messages = sum(shares.values())
        if self.rates is not None:
            messages = self.rates.allowed(messages)
        return Allowance(shares, messages) if messages > 0 else None
