"""Scalable topics, and the layouts of all topics for the clients that know them.

A regular topic has a synthetic layout (`scalable.synthetic`), so these clients can use every topic. `changes` brings
about new layouts, and this module tells everyone who has to learn of them: the sessions of clients, the groups of
registered consumers, and those who watch a namespace.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from broker_core.errors import Conflict, InvalidName, NotAllowed, PreconditionFailed, TopicNotFound
from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.names import NON_PERSISTENT, SCALABLE
from broker_core.rates.time_slices import sliced
from broker_core.scalable.auto_scaler import AutoScaler
from broker_core.scalable.changes import LayoutChanges
from broker_core.scalable.collection import Collection
from broker_core.scalable.groups import Groups
from broker_core.scalable.records import ScalableRecords
from broker_core.scalable.segments import SegmentTopics
from broker_core.scalable.subscriptions import ScalableSubscriptions
from broker_core.scalable.synthetic import synthetic_layout
from broker_core.tasks import to_the_end

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.dispatch import DispatchConfig
    from broker_core.config.features import ScalableConfig
    from broker_core.config.scaling import ScalingConfig
    from broker_core.metadata.tenancy.documents import BadValue
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import NamespaceName, TopicName
    from broker_core.scalable.group import ConsumerGroup
    from broker_core.scalable.layout import Layout
    from broker_core.scalable.layout_session import LayoutSession
    from broker_core.storage.catalog.metadata import Metadata
    from broker_core.tasks import Spawn
    from broker_core.topics.partitioned import PartitionedTopics
    from broker_core.topics.registry import TopicListener, TopicRegistry

log = logging.getLogger(__name__)


class ScalableTopics:
    def __init__(
        self,
        metadata: Metadata,
        topics: TopicRegistry,
        partitioned: PartitionedTopics,
        tenancy: Tenancy,
        config: ScalableConfig,
        scaling: ScalingConfig,
        dispatch: DispatchConfig,
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        self._partitioned = partitioned
        partitioned.growth_listeners.append(self._partitions_added)
        self._tenancy = tenancy
        self._config = config
        self._spawn = spawn
        self.records = ScalableRecords(metadata, _report)
        self.segments = SegmentTopics(topics, tenancy, dispatch)
        self.changes = LayoutChanges(
            self.records, self.segments, tenancy, topics.being_deleted, config, clock, spawn, self._changed
        )
        self.groups = Groups(
            self.records,
            self.segments,
            self.changes,
            spawn,
            config,
            lambda name: self.scaling.decide_soon(name),
        )
        self.subscriptions = ScalableSubscriptions(self.records, self.segments, self.changes, self.groups.of)
        self.collection = Collection(self.records, self.segments, self.changes, tenancy, clock)
        self._known = set(self.records.all())  # to the listeners
        self.scaling = AutoScaler(
            self.records, self.segments, self.changes, tenancy, scaling, config, clock, spawn, self.groups.readers
        )
        self._sessions: dict[TopicName, set[LayoutSession]] = {}
        self.listeners: set[TopicListener] = set()  # learn of created and deleted scalable topics

    async def start(self) -> None:
        """Finishes what a crash cut off. `expect_consumers` comes first."""
        await self.changes.finish_all()
        await self.changes.delete_orphans()

    def expect_consumers(self) -> None:
        """Call it before a client can come."""
        self.groups.expect(self.layout_of)

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
        if self.records.get(resolved(name)) is None:
            if name.is_scalable:
                await self._create_for_client(name, create=create)
            else:
                await self._partitioned.for_client(name, create=create)
        return self.layout_of(name)

    async def _create_for_client(self, name: TopicName, *, create: bool) -> None:
        """A new topic has one segment. Two clients may come at once."""
        if not create or not self._may_create(name):
            raise TopicNotFound(f"Scalable topic not found: {name}")
        await self.changes.create_if_missing(name)

    def _may_create(self, name: TopicName) -> bool:
        has_namespace = self._tenancy.has_namespace(name.namespace)
        return has_namespace and self._tenancy.effective.of(name).auto_topic_creation.allowed

    def layout_of(self, name: TopicName) -> Layout:
        """Raises `TopicNotFound` for a scalable topic that does not exist."""
        record = self.records.get(resolved(name))
        if record is not None and record.layout.segments:  # without one, it is being deleted
            return record.layout
        if name.is_scalable:
            raise TopicNotFound(f"Scalable topic not found: {name}")
        return synthetic_layout(name, self._partitioned.count(name))

    def in_namespace(self, namespace: NamespaceName) -> list[TopicName]:
        """The scalable topics that exist, and those that a request is creating."""
        return sorted({*self.records.in_namespace(namespace), *self.changes.running(namespace)}, key=str)

    # -- clients that follow layouts

    def follow(self, session: LayoutSession) -> None:
        self._sessions.setdefault(session.name, set()).add(session)

    def unfollow(self, session: LayoutSession) -> None:
        sessions = self._sessions.get(session.name, set())
        sessions.discard(session)
        if not sessions:
            self._sessions.pop(session.name, None)

    def _changed(self, name: TopicName) -> None:
        """The topic has a new layout, or was created or deleted."""
        record = self.records.get(name)
        if record is None:
            self.scaling.forget(name)
        self._spawn(self._tell_clients(name))
        if (record is not None) != (name in self._known):
            (self._known.discard if record is None else self._known.add)(name)
            for listener in list(self.listeners):
                listener(name, exists=record is not None)

    async def _tell_clients(self, name: TopicName) -> None:
        """Sessions first, then registered consumers; in time slices, because a topic may have thousands of clients."""
        async for session in sliced(list(self._sessions.get(name, ()))):
            if name in self._known or session.asked != name:
                session.layout_changed()
            else:
                session.topic_deleted()
        self.groups.layout_changed(name)

    def _partitions_added(self, name: TopicName) -> None:
        """The epoch of the layout stays 0; clients of 5.0.0-M1 take layouts with the epoch that they know."""
        self._spawn(self._tell_clients(resolved(name)))

    async def migrate(self, name: TopicName, *, force: bool) -> None:
        """Makes a scalable topic of a regular one (PIP-475).

        Raises `PreconditionFailed` for a partition or a system topic, `TopicNotFound`, and `Conflict` if it is scalable
        already, or if clients use it that do not know scalable topics, unless `force`: their producers fail from then
        on, and consumers read to the end.
        """
        if name.is_partition:
            raise PreconditionFailed(f"{name} is one part of a topic; ask for {name.base}")
        if is_system_topic(name):
            raise PreconditionFailed(f"{name} is a system topic")
        await to_the_end(self._spawn, self._migrate(name, force=force))

    async def _migrate(self, name: TopicName, *, force: bool) -> None:
        """The layout has the partitions that exist when it is written: an update waits, or is finished first."""
        async with self._partitioned.alone(name):
            await self._partitioned.finish_update(name)
            partitions = self._partitioned.count(name)
            self._check_migration(name, partitions, force=force)
            await self.changes.migrate(resolved(name), name, partitions)

    def _check_migration(self, name: TopicName, partitions: int, *, force: bool) -> None:
        if self.records.get(resolved(name)) is None and not partitions and not self.segments.has_topic(name):
            raise TopicNotFound(f"Topic {name} not found")
        parts = [name.partition_name(index) for index in range(partitions)] or [name]
        registered = self.groups.of(resolved(name))
        if not force and any(self.segments.has_older_clients(part, registered) for part in parts):
            raise Conflict(f"Clients that do not know scalable topics are connected to {name}")

    def has_replaced(self, name: TopicName) -> bool:
        """Whether a regular topic became a scalable one, so that nothing creates it again."""
        record = self.records.get(resolved(name.base))
        return record is not None and record.was_regular and not name.is_segment

    # -- registered consumers

    async def prepare_group(self, name: TopicName) -> None:
        """Loads what the groups of the topic need to know. Raises what `for_client` raises."""
        layout, key = await self.for_client(name, create=True), resolved(name)
        may_create = self._tenancy.effective.of(key).auto_subscription_creation.allowed
        await self.segments.load(key, layout, active=self.records.get(key) is not None and not may_create)

    def group(self, name: TopicName, subscription: str, consumer: str, *, is_ordered: bool) -> ConsumerGroup:
        """The group of a subscription, for a consumer that joins it at once, since a group without consumers ends.

        `is_ordered`: a stream consumer, not a checkpoint consumer. Raises `NotAllowed`, `ConsumerBusy` if there are
        enough consumers, or `TopicNotFound` if the topic was deleted after `prepare_group`.
        """
        self.layout_of(name)
        self.groups.check_new_consumer(resolved(name), name, subscription, consumer)
        return self.groups.group(
            resolved(name), name, lambda: self.layout_of(name), subscription, is_ordered=is_ordered
        )

    async def begin(self, name: TopicName, subscription: str, *, earliest: bool) -> None:
        """A client creates a subscription of a topic, perhaps of a segment.

        That of a stream consumer begins in all segments at once. So does one that comes to a segment after its seal,
        since only those that it had then are passed on to its children.
        """
        scalable = resolved(name.base)
        group = self.groups.of(scalable).get(subscription)
        is_late = name.is_segment and self.segments.has_ended(name)
        if (is_late or (group is not None and group.is_ordered)) and self.records.get(scalable) is not None:
            await self.subscriptions.begin(scalable, subscription, earliest=earliest)

    async def policies_changed(self, namespace: NamespaceName, _topic: TopicName | None) -> None:
        """They say whether consumers may share a segment."""
        self.groups.assign_all(namespace)

    def segment_changed(self, name: TopicName, subscription: str) -> None:
        """A consumer of a topic, perhaps of a segment, has left, or a subscription has read a sealed one to its end."""
        self.groups.assign(resolved(name.base), subscription)

    def segment_left(self, name: TopicName, subscription: str, *, lost: bool) -> None:
        """A client closed its consumer of a topic, perhaps of a segment, or `lost` its connection."""
        group = self.groups.of(resolved(name.base)).get(subscription)
        if group is not None:
            group.segment_left(str(name), lost=lost)

    def segment_busy(self, name: TopicName, subscription: str, consumer_name: str) -> None:
        """A consumer was refused, because an exclusive one is connected to the topic, perhaps to a segment."""
        group = self.groups.of(resolved(name.base)).get(subscription)
        if group is not None and group.is_ordered:
            group.segment_busy(str(name), consumer_name)

    def close(self) -> None:
        self.groups.close()


def resolved(name: TopicName) -> TopicName:
    """The name in the domain of scalable topics."""
    return name if name.is_scalable else name.in_domain(SCALABLE)


def _report(bad_value: BadValue) -> None:
    log.error("%s", bad_value)
