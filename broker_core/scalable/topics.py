"""The layouts of topics for the clients of scalable topics, and the consumers that such clients register.

A regular topic has a synthetic layout (`scalable.synthetic`), so these clients can use every topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.errors import InvalidName, NotAllowed, TopicNotFound
from broker_core.names import NON_PERSISTENT, SCALABLE
from broker_core.scalable.group import ConsumerGroup
from broker_core.scalable.synthetic import synthetic_layout

if TYPE_CHECKING:
    from broker_core.config.features import ScalableConfig
    from broker_core.names import TopicName
    from broker_core.scalable.layout import Layout, Segment
    from broker_core.topics.loaded import LoadedTopics
    from broker_core.topics.partitioned import PartitionedTopics


class TopicGroups:
    """The groups of registered consumers of one topic."""

    def __init__(self, name: TopicName, layout: Callable[[], Layout], loaded: LoadedTopics) -> None:
        self.name = name
        self._layout = layout
        self._loaded = loaded
        self.by_subscription: dict[str, ConsumerGroup] = {}

    @property
    def layout(self) -> Layout:
        return self._layout()

    def is_drained(self, segment: Segment, subscription: str) -> bool:
        return True

    def is_free(self, segment: Segment, subscription: str) -> bool:
        topic = self._loaded.get(segment.topic_of(self.name))
        consumed = topic.subscriptions.get(subscription) if topic is not None else None
        return consumed is None or not consumed.consumers


class ScalableTopics:
    def __init__(self, loaded: LoadedTopics, partitioned: PartitionedTopics, config: ScalableConfig) -> None:
        self._loaded = loaded
        self._partitioned = partitioned
        self._config = config
        self._groups: dict[TopicName, TopicGroups] = {}

    def check_enabled(self) -> None:
        """Raises `NotAllowed`."""
        if not self._config.enabled:
            raise NotAllowed("Scalable topics are disabled (scalableTopicsEnabled)")

    def check_serves(self, name: TopicName) -> None:
        """Raises `InvalidName` for a scalable topic or a segment if there are none here, as older brokers do."""
        if not self._config.enabled and (name.is_scalable or name.is_segment):
            raise InvalidName(f"Invalid topic domain: '{name.domain}' in '{name}'")

    async def for_client(self, name: TopicName, *, create: bool) -> Layout:
        """The layout of a topic that a client asks for; a missing topic is created if `create` and the policies allow.

        Raises `NotAllowed`, `TopicNotFound`.
        """
        self.check_enabled()
        if name.domain == NON_PERSISTENT:
            raise NotAllowed(f"A non-persistent topic has no segments: {name}")
        if name.is_partition or name.is_segment:
            raise TopicNotFound(f"{name} is one part of a topic; ask for {name.base}")
        if name.is_scalable:
            raise TopicNotFound(f"Scalable topic not found: {name}")
        await self._partitioned.for_client(name, create=create)
        return self.layout_of(name)

    def layout_of(self, name: TopicName) -> Layout:
        return synthetic_layout(name, self._partitioned.count(name))

    async def group(self, name: TopicName, subscription: str, *, is_ordered: bool) -> ConsumerGroup:
        """The group of a subscription, for a consumer that joins it. Raises what `for_client` raises.

        `is_ordered`: a stream consumer, not a checkpoint consumer. One group has only one of both.
        """
        await self.for_client(name, create=True)
        topic = self._groups.setdefault(name, TopicGroups(name, lambda: self.layout_of(name), self._loaded))
        group = topic.by_subscription.get(subscription)
        if group is None:
            group = topic.by_subscription[subscription] = ConsumerGroup(
                topic,
                subscription,
                is_ordered=is_ordered,
                grace_seconds=self._config.grace_seconds,
                ended=lambda: self._ended(name, subscription),
            )
        if group.is_ordered != is_ordered:
            raise NotAllowed(f"Subscription {subscription} of {name} has consumers of another type")
        return group

    def _ended(self, name: TopicName, subscription: str) -> None:
        topic = self._groups[name]
        topic.by_subscription.pop(subscription).close()
        if not topic.by_subscription:
            del self._groups[name]

    def consumer_left(self, name: TopicName, subscription: str) -> None:
        """A consumer of a topic, perhaps of a segment, has left: another one may read the segment now."""
        topic = self._groups.get(name.base)
        group = topic.by_subscription.get(subscription) if topic is not None else None
        if group is not None:
            group.assign()

    def close(self) -> None:
        for topic in self._groups.values():
            for group in topic.by_subscription.values():
                group.close()


def resolved(name: TopicName) -> TopicName:
    """The name in the domain of scalable topics."""
    return name.in_domain(SCALABLE)
