"""Deletes topics and subscriptions that were not used for a long time, if the policies say so.

The rules: `brokerDeleteInactiveTopics...`, the policy `inactive_topic_policies`, and
`subscriptionExpirationTimeMinutes` (Pulsar docs, "Inactive topics"). As in Pulsar, only loaded topics are checked, and
the time counts from the first check that finds them unused, or from when a client left after it: a client that comes
and goes between two checks uses them, too. Unlike in Pulsar, the deletion of persistent topics is off
by default: messages published before the first subscription should still be there an hour later. Non-persistent
topics, which lose nothing, are always deleted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from broker_core.errors import BrokerError
from broker_core.metadata.policies.values import CAUGHT_UP
from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.rates.time_slices import sliced
from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.features import InactiveConfig
    from broker_core.names import TopicName
    from broker_core.topic.subscription import Subscription
    from broker_core.topic.topic import Topic
    from broker_core.topics.partitioned import PartitionedTopics
    from broker_core.topics.registry import TopicRegistry

log = logging.getLogger(__name__)


class Inactivity:
    def __init__(
        self, topics: TopicRegistry, partitioned: PartitionedTopics, config: InactiveConfig, clock: Clock
    ) -> None:
        self._topics = topics
        self._partitioned = partitioned
        self._config = config
        self._clock = clock
        # Since when (monotonic) they are unused. Entries disappear with the objects.
        self._unused_topics: WeakKeyDictionary[Topic, float] = WeakKeyDictionary()
        self._unused_subscriptions: WeakKeyDictionary[Subscription, float] = WeakKeyDictionary()

    async def watch_topics(self) -> None:
        await _each(lambda: self._config.check_seconds, self.look_at_topics)

    async def watch_subscriptions(self) -> None:
        await _each(lambda: self._config.subscription_check_minutes * 60, self.look_at_subscriptions)

    # -- topics

    async def look_at_topics(self) -> None:
        async for topic in sliced(list(self._topics.loaded.values())):
            if is_in_use(topic):
                self._unused_topics.pop(topic, None)
            elif self._config.close and topic.name.is_persistent:
                if self._may_unload(topic):
                    await self._unload(topic)
            elif self._is_due(topic):
                await self._delete(topic)

    def _unused_seconds(self, topic: Topic) -> float:
        now = self._clock.monotonic()
        return now - max(self._unused_topics.setdefault(topic, now), topic.last_used)

    def _may_unload(self, topic: Topic) -> bool:
        """Consumers of a caught-up subscription, or housekeeping, would load the topic again at once."""
        policy, unused = topic.policies.inactive_topics, self._unused_seconds(topic)
        stays = is_system_topic(topic.name) or topic.name.is_segment or self._topics.always_loaded.is_needed(topic.name)
        return not stays and policy.mode != CAUGHT_UP and unused >= policy.max_inactive_seconds

    async def _unload(self, topic: Topic) -> None:
        try:
            if await self._topics.unload_if(topic, lambda: not is_in_use(topic)):
                log.info("topic %s: unloaded, because it was inactive", topic.name)
        except (BrokerError, StorageError, OSError) as error:
            log.warning("topic %s: cannot unload this inactive topic: %s", topic.name, error)

    def _is_due(self, topic: Topic) -> bool:
        unused = self._unused_seconds(topic)
        retention_ms = topic.policies.retention.limits.time_ms
        stays = is_system_topic(topic.name) or topic.name.is_segment  # a scalable topic has it until all have read it
        if not topic.policies.inactive_topics.delete or retention_ms < 0 or stays:
            return False
        return unused >= max(topic.policies.inactive_topics.max_inactive_seconds, retention_ms / 1000)

    async def _delete(self, topic: Topic) -> None:
        try:
            if await self._topics.deletion.delete_if(topic, lambda: not is_in_use(topic)):
                log.info("topic %s: deleted, because it was inactive", topic.name)
                await self._delete_partitioned(topic.name)
        except (BrokerError, StorageError, OSError) as error:
            log.warning("topic %s: cannot delete this inactive topic: %s", topic.name, error)

    async def _delete_partitioned(self, name: TopicName) -> None:
        """Deletes a partitioned topic after its last partition, if configured."""
        if self._config.delete_partitioned and name.is_partition:
            await self._partitioned.delete_if_empty(name.base)

    # -- subscriptions

    async def look_at_subscriptions(self) -> None:
        async for topic in sliced(list(self._topics.loaded.values())):
            seconds = topic.policies.subscription_expiration_minutes * 60
            if seconds > 0 and not is_system_topic(topic.name):
                for subscription in list(topic.subscriptions.values()):
                    await self._look_at(topic, subscription, seconds)

    async def _look_at(self, topic: Topic, subscription: Subscription, seconds: int) -> None:
        now = self._clock.monotonic()
        if subscription.consumers or not subscription.durable or subscription.is_replicated:
            self._unused_subscriptions.pop(subscription, None)
        elif now - max(self._unused_subscriptions.setdefault(subscription, now), subscription.last_used) >= seconds:
            try:
                await topic.subscriptions.delete(subscription.name)
                log.info("subscription %s of %s: deleted, because it was inactive", subscription.name, topic.name)
            except (BrokerError, StorageError, OSError) as error:
                log.warning(
                    "subscription %s of %s: cannot delete this inactive subscription: %s",
                    subscription.name,
                    topic.name,
                    error,
                )


def is_in_use(topic: Topic) -> bool:
    """Whether a producer or a subscription uses the topic. The policy may require consumers or a backlog."""
    subscriptions = topic.subscriptions.values()
    if any(subscription.cursor.backlog_entries for subscription in topic.replicators.values()):
        return True
    if topic.migration.is_running:  # it would come back with the next client, which belongs to another cluster
        return True
    if topic.policies.inactive_topics.mode == CAUGHT_UP:
        return bool(topic.producers) or any(
            subscription.consumers or subscription.cursor.backlog_entries for subscription in subscriptions
        )
    return bool(topic.producers or subscriptions)


async def _each(seconds: Callable[[], float], look: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds())
        try:
            await look()
        except Exception:  # the metadata store may work again at the next check
            log.exception("cannot finish the search for unused topics and subscriptions")
