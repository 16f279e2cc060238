"""The rates in force for one topic: publish, dispatch, and subscribe.

They are renewed when a policy changes; buckets of unchanged rates stay, with their debts. Without a limit there is no
cost: `publish_limit` and `DispatchBudget.rates` are None.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.errors import NotAllowed
from broker_core.limits.dispatch_limit import DispatchLimit
from broker_core.limits.rate_limit import RateLimit, TokenBucket

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.clock import Clock
    from broker_core.config.features import RateConfig
    from broker_core.dispatch.dispatcher import Dispatcher
    from broker_core.metadata.policies.in_force import PoliciesInForce
    from broker_core.metadata.policies.values import DispatchRate, SubscribeRate

SUBSCRIBERS_KEPT = 1000  # subscribers to remember before those with all tokens are dropped


@dataclass(slots=True, eq=False, repr=False)
class BrokerRates:
    """The limits that all topics of the broker share. A limit that changes is another object."""

    publish: RateLimit
    dispatch: RateLimit
    config: RateConfig

    known: tuple[int, ...]

    @classmethod
    def of(cls, config: RateConfig, clock: Clock) -> BrokerRates:
        return cls(_publish_limit(config, clock), _dispatch_limit(config, clock), config, _broker_rates(config))

    def renew(self, clock: Clock) -> None:
        """The configuration may have changed."""
        if self.known != _broker_rates(self.config):
            self.known = _broker_rates(self.config)
            self.publish, self.dispatch = _publish_limit(self.config, clock), _dispatch_limit(self.config, clock)


def _publish_limit(config: RateConfig, clock: Clock) -> RateLimit:
    return RateLimit.per_second(clock, config.broker_publish_messages, config.broker_publish_bytes)


def _dispatch_limit(config: RateConfig, clock: Clock) -> RateLimit:
    return RateLimit.per_second(clock, config.broker_dispatch_messages, config.broker_dispatch_bytes)


def _broker_rates(config: RateConfig) -> tuple[int, ...]:
    publish = (config.broker_publish_messages, config.broker_publish_bytes)
    return (*publish, config.broker_dispatch_messages, config.broker_dispatch_bytes)


class TopicThrottles:
    __slots__ = (
        "_broker",
        "_broker_publish",
        "_clock",
        "_dispatch",
        "_dispatch_rate",
        "_in_force",
        "_of_subscriptions",
        "_publish_rate",
        "_published",
        "_subscribe_rate",
        "_subscribers",
        "publish_limit",
        "publishes_held",
    )

    def __init__(
        self, clock: Clock, in_force: PoliciesInForce, broker: BrokerRates, published: Callable[[], tuple[int, int]]
    ) -> None:
        """`published`: messages and bytes that the topic has taken so far; relative dispatch rates add their rate."""
        self.publishes_held = 0  # times that a publish rate stopped reading from a connection
        self._clock = clock
        self._in_force = in_force
        self._broker = broker
        self._published = published
        self._publish_rate = in_force.current.publish_rate
        self.publish_limit: RateLimit | None = self._new_publish() or None
        self._dispatch_rate = in_force.current.dispatch_rate
        self._dispatch = self._new_dispatch(self._dispatch_rate)
        self._of_subscriptions: dict[str, tuple[DispatchRate, RateLimit]] = {}  # only those that have a rate
        self._subscribers: dict[tuple[str, str, int], TokenBucket] = {}
        self._subscribe_rate = in_force.current.subscribe_rate

    def renew(self) -> bool:
        """Applies the topic's policies, which may have changed; returns whether the publish rate did.

        The caller has to call `limit` again for every subscription.
        """
        policies = self._in_force.current
        if policies.dispatch_rate != self._dispatch_rate:
            self._dispatch_rate = policies.dispatch_rate
            self._dispatch = self._new_dispatch(self._dispatch_rate)
        if policies.subscribe_rate != self._subscribe_rate:
            self._subscribe_rate = policies.subscribe_rate
            self._subscribers.clear()
        if policies.publish_rate == self._publish_rate and self._broker_publish is self._broker.publish:
            return False
        self._publish_rate = policies.publish_rate
        self.publish_limit = self._new_publish() or None
        return True

    def forget_subscriptions(self, existing: Container[str]) -> None:
        """Drops the buckets of subscriptions that no longer exist."""
        self._of_subscriptions = {name: known for name, known in self._of_subscriptions.items() if name in existing}

    def limit(self, subscription: str, dispatcher: Dispatcher) -> None:
        """Gives the subscription's dispatcher the limits in force; buckets of unchanged rates stay."""
        levels = {
            "Subscription": self._of_subscription(subscription),
            "Topic": self._dispatch,
            "Broker": self._broker.dispatch,
        }
        before, limit = dispatcher.budget.rates, None
        if any(levels.values()):
            config = self._broker.config
            limit = DispatchLimit(
                dispatcher.cursor,
                dispatcher.wake,
                levels,
                without_backlog=config.without_backlog,
                per_batch=config.per_batch_message,
            )
            if before is not None:
                limit.events = before.events
        dispatcher.budget.rates = limit

    def _of_subscription(self, name: str) -> RateLimit:
        policies = self._in_force.current
        rate = policies.dispatch_rates.get(name, policies.subscription_dispatch_rate)
        known = self._of_subscriptions.get(name)
        if known is not None and known[0] == rate:
            return known[1]
        self._of_subscriptions.pop(name, None)
        limit = self._new_dispatch(rate)
        if limit:
            self._of_subscriptions[name] = (rate, limit)
        return limit

    def check_subscribe(self, client: Client, consumer_name: str, consumer_id: int) -> None:
        """Raises `NotAllowed` if that consumer has subscribed too many times in the period."""
        rate = self._subscribe_rate
        if rate.per_consumer <= 0:
            return
        identity = (client.address, consumer_name, consumer_id)
        bucket = self._subscribers.get(identity)
        if bucket is None:
            bucket = self._subscribers[identity] = self._new_subscriber(rate)
        if bucket.available() < 1:
            raise NotAllowed("Subscribe limited by subscribe rate limit per consumer.")
        bucket.take(1)

    def _new_subscriber(self, rate: SubscribeRate) -> TokenBucket:
        if len(self._subscribers) >= SUBSCRIBERS_KEPT:
            full = [who for who, bucket in self._subscribers.items() if bucket.available() >= bucket.burst]
            for who in full or [next(iter(self._subscribers))]:
                del self._subscribers[who]
        per_second = rate.per_consumer / max(1, rate.period_seconds)
        return TokenBucket(self._clock, per_second, burst=rate.per_consumer)

    def _new_publish(self) -> RateLimit:
        rate, self._broker_publish = self._publish_rate, self._broker.publish
        return RateLimit.per_second(self._clock, rate.messages, rate.bytes) + self._broker_publish

    def _new_dispatch(self, rate: DispatchRate) -> RateLimit:
        period = max(1, rate.period_seconds)
        extra = self._published if rate.relative else None
        return RateLimit.per_second(self._clock, rate.messages / period, rate.bytes / period, extra)
