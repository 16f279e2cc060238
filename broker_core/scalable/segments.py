"""The segments of scalable topics as topics of the broker: created, sealed, read to the end, and deleted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from broker_core.errors import NotAllowed, TopicNotFound
from broker_core.limits.topic_limits import check_consumers, check_consumers_of_subscription, check_subscriptions
from broker_core.names import is_reserved_subscription, parse_topic
from broker_core.topic.subscription_type import KEY_SHARED, type_name
from broker_core.topics.deletion import check_unused

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable

    from broker_core.config.dispatch import DispatchConfig
    from broker_core.dispatch.consumer import Consumer
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import TopicName
    from broker_core.publishing.producer import Producer
    from broker_core.scalable.layout import Layout, Segment
    from broker_core.topic.topic import Topic
    from broker_core.topics.registry import TopicRegistry


KNOWS_SCALABLE_TOPICS = "__pulsar.v5.managed"  # in the metadata of producers and consumers


class Attached(NamedTuple):
    """The connected consumers of a segment. `are_sharing`: by entry buckets."""

    consumers: int
    are_sharing: bool


class SegmentTopics:
    def __init__(self, topics: TopicRegistry, tenancy: Tenancy, dispatch: DispatchConfig) -> None:
        self._topics = topics
        self._tenancy = tenancy
        self._dispatch = dispatch

    def name_of(self, name: TopicName, segment: Segment) -> TopicName:
        """The topic of a segment of the scalable topic `name`."""
        return parse_topic(segment.topic_of(name))

    async def topic(self, name: TopicName, segment: Segment) -> Topic:
        """The topic of a segment, loaded. Raises `TopicNotFound`."""
        return await self._topics.get(self.name_of(name, segment))

    def loaded(self, name: TopicName, segment: Segment) -> Topic | None:
        return self._topics.loaded.get(segment.topic_of(name))

    async def load(self, name: TopicName, layout: Layout, *, active: bool) -> None:
        """Loads the sealed segments, and with `active` the others. Only a loaded segment has a known backlog."""
        for segment in list(layout.segments.values()):
            if (active or not segment.is_active) and self.exists(name, segment):
                await self.topic(name, segment)

    def subscriptions(self, name: TopicName, layout: Layout) -> set[str]:
        """The durable subscriptions of the segments that are loaded."""
        topics = (self.loaded(name, segment) for segment in layout.segments.values())
        return {one for topic in topics if topic is not None for one in durable_subscriptions(topic)}

    def has_topic(self, name: TopicName) -> bool:
        return self._topics.exists(name)

    def has_older_clients(self, name: TopicName, registered: Container[str]) -> bool:
        """Whether clients use a topic that do not know scalable topics; the others mark producers and consumers.

        `registered`: the subscriptions of registered consumers, which 5.0.0-M1 does not mark.
        """
        topic = self._topics.loaded.get(str(name))
        if topic is None:
            return False
        users: list[Producer | Consumer] = list(topic.producers.values())
        for subscription, consumed in topic.subscriptions.items():
            users += () if subscription in registered else consumed.consumers
        return any(user.metadata.get(KNOWS_SCALABLE_TOPICS) != "true" for user in users)

    def topics_in_use(self) -> set[TopicName]:
        """The scalable topics of which a segment is loaded."""
        return {topic.name.base for topic in list(self._topics.loaded.values()) if topic.name.is_segment}

    async def create(self, name: TopicName, segment: Segment, subscriptions: Iterable[str] = ()) -> None:
        """Creates the topic of a segment, unless it exists, with subscriptions at its start."""
        topic_name = self.name_of(name, segment)
        await self._topics.creation.create(topic_name, awaited=True)
        for subscription in subscriptions:
            await self.subscribe(await self._topics.get(topic_name), subscription)

    async def subscribe(self, topic: Topic, subscription: str, *, earliest: bool = True) -> None:
        """Creates a subscription at the start of a segment, or at its end, unless it exists.

        The limit counts those of the scalable topic: a segment that lacked one would lose messages.
        """
        if subscription not in topic.subscriptions:
            await topic.subscriptions.open(
                subscription, durable=True, start=None, earliest=earliest, properties={}, limited=False
            )

    def check_new_subscription(self, name: TopicName, existing: Collection[str], subscription: str) -> None:
        """Call it before a scalable topic gets a subscription that is not among the `existing` ones.

        Raises `NotAllowed` for a name that no segment could use, and `LimitReached` if the topic has enough of them.
        """
        if is_reserved_subscription(subscription) or not subscription.strip():
            raise NotAllowed(f"Subscription name {subscription} is reserved")
        check_subscriptions(name, len(existing), self._tenancy.effective.of(name).max_subscriptions)

    def check_auto_creation(self, name: TopicName, subscription: str) -> None:
        """Raises `SubscriptionNotFound` unless a client may create a subscription that a scalable topic lacks."""
        self._topics.auto_creation.check_subscription(name, subscription)

    def check_new_consumer(self, name: TopicName, of_topic: int, of_subscription: int) -> None:
        """Raises `ConsumerBusy` if a topic, or its subscription, with that many registered consumers is full."""
        policies = self._tenancy.effective.of(name)
        check_consumers(of_topic, policies.max_consumers)
        check_consumers_of_subscription(of_subscription, policies.max_consumers_per_subscription)

    async def seal(self, name: TopicName, segment: Segment) -> set[str]:
        """Ends the topic of a segment: it takes no more messages. Returns its durable subscriptions."""
        topic = await self._topics.get(self.name_of(name, segment), create=bool(segment.legacy_topic))
        await topic.terminate()
        if topic.ledger.on_disk is not None:
            await topic.ledger.on_disk.roll()  # tiered storage takes sealed ledgers only
        return durable_subscriptions(topic)

    async def delete(self, name: TopicName, segment: Segment, *, force: bool) -> None:
        if self.exists(name, segment):
            await self.delete_topic(self.name_of(name, segment), force=force)

    async def delete_topic(self, name: TopicName, *, force: bool) -> None:
        """An unknown topic is deleted already."""
        with contextlib.suppress(TopicNotFound):
            await self._topics.delete(name, force=force)

    async def unload(self, name: TopicName, segment: Segment) -> None:
        with contextlib.suppress(TopicNotFound):
            await self._topics.unload(self.name_of(name, segment))

    def is_sealed(self, name: TopicName, segment: Segment) -> bool:
        """Whether the topic of a segment takes no more messages, as far as it is loaded."""
        return self.has_ended(self.name_of(name, segment))

    def has_ended(self, name: TopicName) -> bool:
        """Whether a topic takes no more messages, as far as it is loaded."""
        topic = self._topics.loaded.get(str(name))
        return topic is not None and topic.termination.at is not None

    def check_unused(self, name: TopicName, segment: Segment, *, force: bool) -> None:
        """Raises `PreconditionFailed` while clients are connected to a segment, unless `force`."""
        topic = self.loaded(name, segment)
        if topic is not None and not force:
            check_unused(topic)

    async def forget_topic(self, name: TopicName) -> None:
        """Forgets the schemas and the policies of a topic whose segments are deleted."""
        await self._topics.deletion.forget_schemas(name)
        await self._tenancy.topic_policies.forget(name)

    def is_drained(self, name: TopicName, segment: Segment, subscription: str) -> bool | None:
        """Whether the subscription has nothing left in a segment; None for one that is not loaded.

        A subscription that a segment lacks may begin at the start of its messages.
        """
        topic = self.loaded(name, segment)
        if topic is None:
            return None if self.exists(name, segment) else True
        consumed = topic.subscriptions.get(subscription)
        return not (topic.ledger.entries if consumed is None else consumed.cursor.backlog_entries)

    def exists(self, name: TopicName, segment: Segment) -> bool:
        return self._topics.exists(self.name_of(name, segment))

    def names(self) -> list[str]:
        """The topics of all segments, also of those that no record has."""
        return self._topics.segments()

    def attached(self, name: TopicName, segment: Segment, subscription: str) -> Attached:
        """The consumers that are connected to the subscription of a segment."""
        topic = self.loaded(name, segment)
        consumed = None if topic is None else topic.subscriptions.get(subscription)
        if consumed is None:
            return Attached(0, are_sharing=False)
        return Attached(len(consumed.consumers), are_sharing=consumed.delivery.sub_type == KEY_SHARED)

    def may_be_shared(self, name: TopicName) -> bool:
        """Whether a scalable topic allows the subscriptions of consumers that share a segment."""
        allowed = self._tenancy.effective.of(name).subscription_types
        return self._dispatch.key_shared and type_name(KEY_SHARED) in allowed


def durable_subscriptions(topic: Topic) -> set[str]:
    return {name for name, subscription in topic.subscriptions.items() if subscription.durable}
