"""A non-persistent topic: messages go from the producer to the consumers that can take them now.

It is a topic over a log that keeps nothing (`volatile_log`): each dispatcher gets one pass over a message, then the
broker sends the receipt and the message is gone. Policies about retention do not apply.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker_core.limits.rate_limit import NO_LIMIT
from broker_core.metadata.policies.values import HOLD, BacklogQuota, DelayedDelivery, DispatchRate, RetentionPolicy
from broker_core.rates.rate import Rate
from broker_core.topic.topic import Topic
from broker_core.topics.nonpersistent.producer import NonPersistentProducer
from broker_core.topics.nonpersistent.subscription import NonPersistentSubscription
from broker_core.topics.nonpersistent.volatile_log import VolatileLog

if TYPE_CHECKING:
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.names import TopicName
    from broker_core.topic.services import TopicServices


class NonPersistentTopic(Topic):
    producer_type = NonPersistentProducer
    subscription_type = NonPersistentSubscription

    def __init__(self, name: TopicName, services: TopicServices) -> None:
        self._log = VolatileLog(str(name), services.clock.wall_ms(), self._dealt)
        super().__init__(name, self._log, _without_waiting(services))

    def _on_confirmed(self) -> None:
        """Wakes the dispatchers instead of running them, because a producer is in the middle of its run."""
        if self.replicators.by_cursor:
            self.replicators.offer(self._log.newest)
        for subscription in self.subscriptions.by_name.values():
            subscription.delivery.dispatcher.wake()

    def _dealt(self) -> bool:
        """Whether all dispatchers have finished with the passing messages; what they have not sent is then dropped."""
        if any(subscription.delivery.dispatcher.is_due for subscription in self.subscriptions.by_name.values()):
            return False
        for subscription in list(self.subscriptions.by_name.values()):
            subscription.drop_unsent(self._log.messages_from)
        return True

    def rates(self) -> Iterator[Rate]:
        yield from super().rates()
        yield from [producer.dropped for producer in self.producers.values() if producer.dropped is not None]


def _without_waiting(services: TopicServices) -> TopicServices:
    """The services without the wait of a consumer that takes over: there is nothing that it could receive twice."""
    return services._replace(
        dispatch=dataclasses.replace(services.dispatch, failover_delay_ms=0),
        rates=dataclasses.replace(services.rates, dispatch=NO_LIMIT),
        policies_of=lambda name: _for_what_is_not_kept(services.policies_of(name)),
    )


def _for_what_is_not_kept(policies: TopicPolicies) -> TopicPolicies:
    return dataclasses.replace(
        policies,
        retention=RetentionPolicy(),
        ttl_seconds=0,
        compaction_threshold=0,
        deduplication_enabled=False,
        delayed_delivery=DelayedDelivery(),
        dispatch_rate=DispatchRate(),
        subscription_dispatch_rate=DispatchRate(),
        dispatch_rates={},
        size_quota=BacklogQuota(policy=HOLD),
        age_quota=BacklogQuota(policy=HOLD),
        inactive_topics=dataclasses.replace(policies.inactive_topics, delete=True),
    )
