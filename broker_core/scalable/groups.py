"""The groups of registered consumers of all topics, and what of them survives a restart.

The record of a scalable topic has the names of its stream consumers: after a restart, they have a grace period to
return. The groups of regular topics, and those of checkpoint consumers, are only in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from broker_core.errors import NotAllowed, TopicNotFound
from broker_core.scalable.group import ConsumerGroup
from broker_core.scalable.layout import Layout
from broker_core.scalable.records import QUEUE, STREAM, ScalableTopic
from broker_core.scalable.scaling import Readers

if TYPE_CHECKING:
    from broker_core.config.features import ScalableConfig
    from broker_core.names import NamespaceName, TopicName
    from broker_core.scalable.changes import LayoutChanges
    from broker_core.scalable.layout import Segment
    from broker_core.scalable.records import ScalableRecords
    from broker_core.scalable.segments import Attached, SegmentTopics
    from broker_core.tasks import Spawn


class TopicGroups:
    """The groups of one topic, by subscription."""

    def __init__(
        self, name: TopicName, layout: Callable[[], Layout], segments: SegmentTopics, config: ScalableConfig
    ) -> None:
        self._config = config
        self.name = name
        self._layout = layout
        self._segments = segments
        self._drained: set[tuple[int, str]] = set()  # what is known of segments that are not loaded any more
        self.by_subscription: dict[str, ConsumerGroup] = {}

    @property
    def layout(self) -> Layout:
        """Nothing is left to share when the topic is deleted, and the consumers of the group leave one by one."""
        try:
            return self._layout()
        except TopicNotFound:
            return Layout(0, 0, {})

    def is_drained(self, segment: Segment, subscription: str) -> bool:
        drained = self._segments.is_drained(self.name, segment, subscription)
        if drained is None:
            return (segment.id, subscription) in self._drained
        (self._drained.add if drained else self._drained.discard)((segment.id, subscription))
        return drained

    def layout_changed(self) -> None:
        """Forgets what is gone, and shares the segments again."""
        segments = self.layout.segments
        gone = {known for known in self._drained if known[0] not in segments or known[1] not in self.by_subscription}
        self._drained -= gone
        for group in list(self.by_subscription.values()):
            group.layout_changed()

    def attached(self, segment: Segment, subscription: str) -> Attached:
        return self._segments.attached(self.name, segment, subscription)

    @property
    def shares_segments(self) -> bool:
        return self._config.shares_buckets and self._segments.may_be_shared(self.name)


class Groups:
    """By the name of a topic in the domain of scalable topics."""

    def __init__(
        self,
        records: ScalableRecords,
        segments: SegmentTopics,
        changes: LayoutChanges,
        spawn: Spawn,
        config: ScalableConfig,
        joined_or_left: Callable[[TopicName], None],
    ) -> None:
        """`joined_or_left` learns of each scalable topic whose registered consumers have changed."""
        self._records = records
        self._segments = segments
        self._changes = changes
        self._spawn = spawn
        self._config = config
        self._joined_or_left = joined_or_left
        self._topics: dict[TopicName, TopicGroups] = {}
        self._to_store: set[tuple[TopicName, str]] = set()  # subscriptions whose consumers are yet to be stored
        self._is_closed = False

    def of(self, name: TopicName) -> dict[str, ConsumerGroup]:
        """The groups of a topic, by subscription."""
        topic = self._topics.get(name)
        return {} if topic is None else topic.by_subscription

    def readers(self, name: TopicName) -> Readers:
        groups = list(self.of(name).values())
        alone, sharing = (
            max((len(group.consumers) for group in groups if group.is_sharing is kind), default=0)
            for kind in (False, True)
        )
        return Readers(alone, sharing)

    def group(
        self, key: TopicName, name: TopicName, layout: Callable[[], Layout], subscription: str, *, is_ordered: bool
    ) -> ConsumerGroup:
        """The group of a subscription; `key` and `name`: the topic in the domain of scalable topics, and in its own.

        `is_ordered`: a stream consumer, not a checkpoint consumer. One group has only one of both. Raises `NotAllowed`,
        `SubscriptionNotFound`, or `LimitReached`.
        """
        record = self._records.get(key)
        if is_ordered and record is not None:
            self._check_ordered(key, record, subscription)
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = TopicGroups(name, layout, self._segments, self._config)
        group = topic.by_subscription.get(subscription)
        if group is None:
            group = topic.by_subscription[subscription] = ConsumerGroup(
                topic,
                subscription,
                is_ordered=is_ordered,
                grace_seconds=self._config.grace_seconds,
                changed=lambda: self._members_changed(key, subscription),
            )
        if group.is_ordered != is_ordered:
            raise NotAllowed(f"Subscription {subscription} of {name} has consumers of another type")
        return group

    def check_new_consumer(self, key: TopicName, name: TopicName, subscription: str, consumer: str) -> None:
        """Raises `ConsumerBusy` if there are enough consumers. One that is away may return; `key`: as for `group`."""
        groups = {other: group.consumers for other, group in self.of(key).items()}
        members = groups.get(subscription, {})
        if consumer not in members:
            self._segments.check_new_consumer(name, sum(map(len, groups.values())), len(members))

    def _check_ordered(self, name: TopicName, record: ScalableTopic, subscription: str) -> None:
        """The record keeps the subscriptions of stream consumers, and each new segment gets them."""
        if record.subscriptions.get(subscription) == QUEUE:
            raise NotAllowed(f"Subscription {subscription} of {name} is for queue consumers")
        being_kept = (other for other, group in self.of(name).items() if group.is_ordered)
        kept = {*record.subscriptions, *record.consumers, *being_kept}
        if subscription not in kept:
            kept |= self._segments.subscriptions(name, record.layout)
        if subscription not in kept:
            self._segments.check_auto_creation(name, subscription)
            self._segments.check_new_subscription(name, kept, subscription)

    def expect(self, layout_of: Callable[[TopicName], Layout]) -> None:
        """Call it at the start, before a client can come: awaits the consumers of the records."""
        for name in self._records.all():
            for subscription, consumers in self._records.find(name).consumers.items():
                group = self.group(name, name, partial(layout_of, name), subscription, is_ordered=True)
                for consumer in consumers:
                    group.expect(consumer)

    def _members_changed(self, name: TopicName, subscription: str) -> None:
        """A consumer joined or left the group."""
        topic = self._topics.get(name)
        group = topic.by_subscription.get(subscription) if topic is not None else None
        if topic is None or group is None or self._is_closed:
            return
        if self._records.get(name) is not None:
            self._store_soon(name, group)
            self._joined_or_left(name)
        if not group.consumers:
            del topic.by_subscription[subscription]
            if not topic.by_subscription:
                del self._topics[name]

    def _store_soon(self, name: TopicName, group: ConsumerGroup) -> None:
        key = (name, group.subscription)
        if group.is_ordered and key not in self._to_store:
            self._to_store.add(key)
            self._spawn(self._store_members(*key))

    async def _store_members(self, name: TopicName, subscription: str) -> None:
        """Stores who is registered when it is written; a group without consumers leaves the subscription as it is."""

        def changed(record: ScalableTopic) -> ScalableTopic:
            self._to_store.discard((name, subscription))
            group = self.of(name).get(subscription)
            others = {other: names for other, names in record.consumers.items() if other != subscription}
            if group is None or not group.consumers or not group.is_ordered:
                return replace(record, consumers=others)
            return replace(
                record,
                consumers={**others, subscription: tuple(sorted(group.consumers))},
                subscriptions={**record.subscriptions, subscription: STREAM},
            )

        try:
            await self._changes.update(name, changed)
        except TopicNotFound:  # deleted in the meantime
            self._to_store.discard((name, subscription))

    def assign(self, name: TopicName, subscription: str) -> None:
        """Something that a group depends on has changed."""
        group = self.of(name).get(subscription)
        if group is not None:
            group.assign_soon()

    def assign_all(self, namespace: NamespaceName | None = None) -> None:
        """Something that all groups depend on has changed, or those of one namespace."""
        for name, topic in self._topics.items():
            if namespace in (None, name.namespace):
                for group in topic.by_subscription.values():
                    group.assign_soon()

    def layout_changed(self, name: TopicName) -> None:
        topic, record = self._topics.get(name), self._records.get(name)
        if topic is None:
            return
        topic.layout_changed()
        for group in topic.by_subscription.values():
            if record is not None and group.subscription not in record.consumers:  # the record is new
                self._store_soon(name, group)

    def close(self) -> None:
        """The broker stops: the records keep the consumers, whose segments and connections it closes from now on."""
        self._is_closed = True
        for topic in self._topics.values():
            for group in topic.by_subscription.values():
                group.close()
