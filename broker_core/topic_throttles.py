"""The rates of one topic as they are in force: publish and subscribe.

Renewed when a policy changes; buckets of a rate that stays the same are kept, with their debts. What is not limited
costs nothing: `Topic.publish_limit` is None then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.errors import NotAllowed
from broker_core.rate_limit import RateLimit, TokenBucket

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config_features import RateConfig
    from broker_core.policy_values import SubscribeRate
    from broker_core.session import Session
    from broker_core.topic import Topic

SUBSCRIBERS_KEPT = 1000  # identities whose subscribe rates are remembered before those with all tokens are dropped


@dataclass(frozen=True, slots=True)
class BrokerRates:
    """The limits that all topics of the broker share."""

    publish: RateLimit

    @classmethod
    def of(cls, config: RateConfig, clock: Clock) -> BrokerRates:
        return cls(RateLimit.per_second(clock, config.broker_publish_messages, config.broker_publish_bytes))


class TopicThrottles:
    def __init__(self, topic: Topic, broker: BrokerRates) -> None:
        self.publishes_held = 0  # times a connection was not read because of a publish rate
        self._topic = topic
        self._broker = broker
        self._publish_rate = topic.policies.publish_rate
        self._publish = self._new_publish()
        self._subscribers: dict[tuple[str, str, int], TokenBucket] = {}
        self._subscribe_rate = topic.policies.subscribe_rate
        topic.publish_limit = self._publish or None

    def renew(self) -> None:
        """The topic's policies may have changed."""
        policies = self._topic.policies
        if policies.publish_rate != self._publish_rate:
            self._publish_rate = policies.publish_rate
            self._publish = self._new_publish()
            self._topic.publish_limit = self._publish or None
            for producer in list(self._topic.producers.values()):
                producer.throttle.renewed()
        if policies.subscribe_rate != self._subscribe_rate:
            self._subscribe_rate = policies.subscribe_rate
            self._subscribers.clear()

    def check_subscribe(self, session: Session, consumer_name: str, consumer_id: int) -> None:
        """Raises `NotAllowed` when that consumer has subscribed too often lately."""
        rate = self._subscribe_rate
        if rate.per_consumer <= 0:
            return
        identity = (session.address, consumer_name, consumer_id)
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
        return TokenBucket(self._topic.clock, per_second, burst=rate.per_consumer)

    def _new_publish(self) -> RateLimit:
        rate = self._publish_rate
        return RateLimit.per_second(self._topic.clock, rate.messages, rate.bytes) + self._broker.publish
