"""How many messages may be unacknowledged: at a consumer, on a subscription, in the broker.

After a limit is reached, dispatch stops until half of the limit is free, so that it does not start and stop at the
edge. With a limit of 1, it stops until everything is acknowledged. The limits are checked before each step. Nothing is
counted per message except what `Pending` counts anyway, and what the limit of the broker needs if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from broker_core.config.dispatch import DispatchConfig
    from broker_core.dispatch.consumer import Consumer
    from broker_core.metadata.policies.in_force import PoliciesInForce


def resumes_below(limit: int) -> int:
    """The number of unacknowledged messages below which dispatch that has reached the limit goes on."""
    return max(1, limit // 2)


class BrokerUnacked:
    """The unacknowledged messages of all subscriptions, while `maxUnackedMessagesPerBroker` limits them."""

    def __init__(self, limit: int, blocked_share: float) -> None:
        self.limit = limit
        self.many = int(limit * blocked_share)  # for one subscription, while the broker is blocked
        self.messages = 0
        self.blocked = False
        self._waiting: set[Callable[[], None]] = set()

    @classmethod
    def of(cls, config: DispatchConfig) -> Self | None:
        """None when there is no limit."""
        limit = config.max_unacked_per_broker
        return cls(limit, config.blocked_share) if limit else None

    def changed(self, messages: int) -> None:
        """The number of unacknowledged messages changed by `messages`."""
        self.messages += messages
        if self.blocked and self.messages < resumes_below(self.limit):
            self.blocked = False
            waiting, self._waiting = self._waiting, set()
            for wake in waiting:
                wake()
        elif not self.blocked:
            self.blocked = self.messages >= self.limit

    def holds(self, unacked: int, already: bool, wake: Callable[[], None]) -> bool:
        """Whether a subscription with `unacked` messages must wait. Calls `wake` when it may go on."""
        if not self.blocked or unacked < (self.many // 2 if already else self.many):
            return False
        self._waiting.add(wake)
        return True


class UnackedLimits:
    """The limits of one subscription.

    broker     the limit of all subscriptions, if there is one
    held_back  a consumer got nothing because of these limits since it was last set to False
    """

    def __init__(self, broker: BrokerUnacked | None, in_force: PoliciesInForce) -> None:
        self.blocked = False
        self.held_back = False
        self.broker = broker
        self._in_force = in_force
        self._reported = 0

    def consumer_blocked(self, consumer: Consumer) -> bool:
        limit = self._in_force.current.max_unacked_per_consumer
        if limit <= 0:
            consumer.blocked = False
        elif consumer.blocked:
            consumer.blocked = consumer.unacked_messages > limit // 2
        else:
            consumer.blocked = consumer.unacked_messages >= limit
        self.held_back |= consumer.blocked
        return consumer.blocked

    def allowed(self, consumer: Consumer) -> int:
        """How many of its permits a consumer that is not blocked may use now."""
        limit = self._in_force.current.max_unacked_per_consumer
        return consumer.permits if limit <= 0 else min(consumer.permits, limit - consumer.unacked_messages)

    def subscription_blocked(self, consumers: Sequence[Consumer], wake: Callable[[], None]) -> bool:
        """Whether no consumer may be served. Calls `wake` later if that is due to the limit of the broker."""
        limit = self._in_force.current.max_unacked_per_subscription
        broker = self.broker
        if limit <= 0 and broker is None:
            self.blocked = False
            return False
        unacked = sum([consumer.pending.messages for consumer in consumers])
        full = limit > 0 and unacked >= (resumes_below(limit) if self.blocked else limit)
        if broker is not None:
            self._report(broker, unacked)
            full = full or broker.holds(unacked, self.blocked, wake)
        self.blocked = full
        self.held_back |= full
        return full

    def report(self, consumers: Sequence[Consumer]) -> None:
        """Reports the unacknowledged messages of the subscription to the broker's limit, if there is one."""
        if self.broker is not None:
            self._report(self.broker, sum([consumer.pending.messages for consumer in consumers]))

    def _report(self, broker: BrokerUnacked, unacked: int) -> None:
        change, self._reported = unacked - self._reported, unacked
        if change:
            broker.changed(change)
