"""The subscriptions of scalable topics: each one has a cursor in every segment, and requests act on all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_core.scalable.records import QUEUE
from broker_core.scalable.segments import durable_subscriptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from broker_core.names import TopicName
    from broker_core.scalable.changes import LayoutChanges
    from broker_core.scalable.group import ConsumerGroup
    from broker_core.scalable.layout import Segment
    from broker_core.scalable.records import ScalableRecords, ScalableTopic
    from broker_core.scalable.segments import SegmentTopics
    from broker_core.topic.subscription import Subscription
    from broker_core.topic.topic import Topic


class ScalableSubscriptions:
    def __init__(
        self,
        records: ScalableRecords,
        segments: SegmentTopics,
        changes: LayoutChanges,
        groups_of: Callable[[TopicName], Mapping[str, ConsumerGroup]],
    ) -> None:
        """`groups_of`: the registered consumers of a topic, by subscription."""
        self._records = records
        self._segments = segments
        self._changes = changes
        self._groups_of = groups_of

    async def create(self, name: TopicName, subscription: str, kind: str) -> None:
        """Creates it at the start of each active segment, unless it exists; `kind` is STREAM or QUEUE.

        Raises `NotAllowed`, `LimitReached`, or `TopicNotFound`.
        """

        def changed(record: ScalableTopic) -> ScalableTopic:
            if subscription not in record.subscriptions:
                self._segments.check_new_subscription(name, record.subscriptions, subscription)
            return replace(record, subscriptions={subscription: kind, **record.subscriptions})

        async with self._changes.alone(name):
            await self._changes.put_changed(name, changed)
            for segment in self._records.find(name).layout.active:
                await self._segments.subscribe(await self._segments.topic(name, segment), subscription)

    async def begin(self, name: TopicName, subscription: str, *, earliest: bool) -> None:
        """Creates it in every segment, unless it exists there.

        Otherwise, it would begin with a segment later than it should: what others have read could be deleted by then,
        and the latest message would be a later one. A change that runs may not give it to the new segments.
        """
        async with self._changes.alone(name):
            for segment in list(self._records.find(name).layout.segments.values()):
                if self._segments.exists(name, segment):
                    topic = await self._segments.topic(name, segment)
                    await self._segments.subscribe(topic, subscription, earliest=earliest)

    async def delete(self, name: TopicName, subscription: str) -> None:
        """Deletes its registered consumers, its record, and its cursors. An unknown one is deleted already.

        Raises `TopicNotFound`.
        """

        def changed(record: ScalableTopic) -> ScalableTopic:
            subscriptions = {other: kind for other, kind in record.subscriptions.items() if other != subscription}
            consumers = {other: names for other, names in record.consumers.items() if other != subscription}
            return replace(record, subscriptions=subscriptions, consumers=consumers)

        self._records.find(name)  # a regular topic has groups, too
        group = self._groups_of(name).get(subscription)
        for consumer in list(group.consumers.values()) if group is not None else ():
            consumer.expel()
        async with self._changes.alone(name):
            await self._changes.put_changed(name, changed)
            async for _segment, topic, _consumed in self._cursors(name, subscription):
                await topic.subscriptions.delete(subscription, force=True)

    async def seek(self, name: TopicName, subscription: str, timestamp_ms: int) -> None:
        """Moves it to the first message of each segment that was published at that time or later.

        A stream consumer loses the children as soon as their parent has messages again: it reads the parent first.
        """
        async with self._changes.alone(name):
            async for segment, topic, consumed in self._cursors(name, subscription):
                if not segment.is_active and await _ends_before(topic, timestamp_ms):
                    await consumed.clear_backlog()
                else:
                    await consumed.reset_to_time(0 if segment.created_ms >= timestamp_ms else timestamp_ms)
                self._assign(name, subscription)

    async def skip_all(self, name: TopicName, subscription: str) -> None:
        async with self._changes.alone(name):
            async for _segment, _topic, consumed in self._cursors(name, subscription):
                await consumed.clear_backlog()
        self._assign(name, subscription)

    def _assign(self, name: TopicName, subscription: str) -> None:
        """What is drained has changed."""
        group = self._groups_of(name).get(subscription)
        if group is not None:
            group.assign()

    async def kinds(self, name: TopicName) -> dict[str, str]:
        """STREAM or QUEUE by name: of the record, and of the cursors that queue consumers made."""
        record = self._records.find(name)
        kinds = dict(record.subscriptions)
        for segment in list(record.layout.segments.values()):
            if self._segments.exists(name, segment):
                for subscription in durable_subscriptions(await self._segments.topic(name, segment)):
                    kinds.setdefault(subscription, QUEUE)
        return kinds

    async def _cursors(self, name: TopicName, subscription: str) -> AsyncIterator[tuple[Segment, Topic, Subscription]]:
        """The segments that have the subscription."""
        for segment in list(self._records.find(name).layout.segments.values()):
            if self._segments.exists(name, segment):
                topic = await self._segments.topic(name, segment)
                if subscription in topic.subscriptions:
                    yield segment, topic, topic.subscriptions[subscription]


async def _ends_before(topic: Topic, timestamp_ms: int) -> bool:
    """Whether all its messages were published before that time. The time of a seal is that of the decision to seal."""
    return await topic.ledger.find_by_time(timestamp_ms) > topic.ledger.last_confirmed
