"""Changes of layouts: creation, split, merge, rebucket, removal, and deletion. One change of a topic at a time.

The steps of a split, merge, or rebucket, in this order: the record notes the new layout; the children exist; the
parents are sealed; the children have the subscriptions of their parents, from the start; the record has the new layout;
clients learn of it. A crash leaves the old layout in the record, and the next start takes the steps again. No message
reaches a child before it has its subscriptions, because clients do not know the child.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, Conflict
from broker_core.limits.topic_limits import check_topics
from broker_core.names import PERSISTENT, parse_topic
from broker_core.rates.time_slices import gathered, sliced
from broker_core.scalable.buckets import share_of_budget
from broker_core.scalable.layout import Layout, Segment
from broker_core.scalable.records import ScalableTopic
from broker_core.scalable.synthetic import migrated_layout, synthetic_layout
from broker_core.storage.errors import StorageError
from broker_core.tasks import OneAtATime, to_the_end

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.features import ScalableConfig
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import NamespaceName, TopicName
    from broker_core.scalable.records import ScalableRecords
    from broker_core.scalable.segments import SegmentTopics
    from broker_core.tasks import Spawn
    from broker_core.topics.being_deleted import BeingDeleted

log = logging.getLogger(__name__)


MayGo = Callable[[], Awaitable[bool]]


class LayoutChanges:
    def __init__(
        self,
        records: ScalableRecords,
        segments: SegmentTopics,
        tenancy: Tenancy,
        being_deleted: BeingDeleted,
        config: ScalableConfig,
        clock: Clock,
        spawn: Spawn,
        changed: Callable[[TopicName], None],
    ) -> None:
        """`changed` learns of each topic with a new layout, and of one that is created or deleted."""
        self._records = records
        self._segments = segments
        self._tenancy = tenancy
        self._being_deleted = being_deleted
        self._config = config
        self._clock = clock
        self._spawn = spawn
        self._changed = changed
        self._changes: OneAtATime[TopicName] = OneAtATime()

    def running(self, namespace: NamespaceName) -> list[TopicName]:
        """The topics that a request is creating, changing, or deleting; they need not exist yet."""
        return [name for name in self._changes.running if name.namespace == namespace]

    async def create(self, name: TopicName, count: int, properties: Mapping[str, str]) -> None:
        """Durable on return. Raises `Conflict`, `NotFound`, `PreconditionFailed`."""
        layout = Layout.initial(count, self._clock.wall_ms(), self._buckets(count))
        await to_the_end(self._spawn, self._create(name, ScalableTopic(layout, dict(properties))))

    def _buckets(self, segments: int) -> int:
        """The number of entry buckets of each segment of a new topic."""
        return share_of_budget(self._config.bucket_budget, max(1, segments), self._config.most_buckets)

    async def _create(self, name: TopicName, record: ScalableTopic) -> None:
        async with self._changes.of(name):
            self._tenancy.check_namespace_of(name)
            self._being_deleted.check(name)
            if self._records.get(name) is not None:
                raise Conflict(f"Scalable topic already exists: {name}")
            self._check_limit(name)
            for segment in record.layout.segments.values():  # what a creation left that a crash cut off
                await self._segments.delete(name, segment, force=True)
            await gathered(list(record.layout.segments.values()), lambda segment: self._segments.create(name, segment))
            await self._records.put(name, record)
        self._changed(name)

    def _check_limit(self, name: TopicName) -> None:
        """`maxTopicsPerNamespace` counts each domain separately; a scalable topic counts as one."""
        limit = self._tenancy.effective.in_namespace(name.namespace).max_topics
        if limit:
            others = {*self._records.in_namespace(name.namespace), *self.running(name.namespace)} - {name}
            check_topics(len(others), 1, limit)

    async def create_if_missing(self, name: TopicName) -> None:
        """Creates a topic with one segment for a client; another client may be first."""
        with contextlib.suppress(Conflict):
            await self.create(name, 1, {})

    async def migrate(self, name: TopicName, regular: TopicName, partitions: int) -> None:
        """Makes a scalable topic of a regular one: its partitions become sealed segments, and it goes on in new ones.

        The caller runs it to the end, and keeps changes of the partitions waiting. Raises `Conflict`.
        """
        async with self._changes.of(name):
            if self._records.get(name) is not None:
                raise Conflict(f"Topic is already scalable: {name}")
            await self.note_migration(name, regular, partitions)
            await self._finish(name)

    async def note_migration(self, name: TopicName, regular: TopicName, partitions: int) -> None:
        """The first step of a migration: from here on, the next start takes the others."""
        before = synthetic_layout(regular, partitions)
        after = migrated_layout(before, self._clock.wall_ms(), self._buckets(len(before.segments)))
        await self._records.put(name, ScalableTopic(before, was_regular=True, changing_to=after))

    async def split(self, name: TopicName, segment_id: int) -> None:
        """Raises `NotFound`, `PreconditionFailed`."""
        await self.change(name, lambda layout: layout.split(segment_id, self._clock.wall_ms()))

    async def merge(self, name: TopicName, first_id: int, second_id: int) -> None:
        """Raises `NotFound`, `PreconditionFailed`."""
        most = self._config.most_buckets
        await self.change(name, lambda layout: layout.merge(first_id, second_id, self._clock.wall_ms(), most))

    async def rebucket(self, name: TopicName, segment_id: int, buckets: int) -> None:
        """Raises `NotFound`, `PreconditionFailed`."""
        most = self._config.most_buckets
        await self.change(name, lambda layout: layout.rebucket(segment_id, buckets, self._clock.wall_ms(), most))

    async def remove(self, name: TopicName, segment_ids: Sequence[int], may_go: MayGo) -> bool:
        """Removes sealed segments, if they `may_go` once no other change runs; returns whether they did.

        Raises `NotFound`, `PreconditionFailed`.
        """

        def without(layout: Layout) -> Layout:
            for segment_id in segment_ids:
                layout = layout.without(segment_id)
            return layout

        return await self.change(name, without, may_go)

    async def change(self, name: TopicName, change: Callable[[Layout], Layout], may: MayGo | None = None) -> bool:
        """Brings about the layout that `change` returns; durable on return. False if it may not.

        If it fails before a segment is sealed, the layout is as before. Afterwards, `finish_all` takes the other steps.
        """
        return await to_the_end(self._spawn, self._change(name, change, may))

    async def _change(self, name: TopicName, change: Callable[[Layout], Layout], may: MayGo | None) -> bool:
        async with self._changes.of(name):
            await self._finish(name)
            if may is not None and not await may():
                return False
            record = self._records.find(name)
            after = change(record.layout)
            await self._records.put(name, replace(record, changing_to=after))
            try:
                await self._finish(name)
            except (BrokerError, StorageError, OSError):
                await self.undo(name)
                raise
        return True

    async def undo(self, name: TopicName) -> None:
        """Forgets a change that has failed before it sealed a segment."""
        record = self._records.get(name)
        if record is None or record.changing_to is None:
            return
        sealed = _sealed(record.layout, record.changing_to)
        if not any(self._segments.is_sealed(name, segment) for segment in sealed) and record.changing_to.segments:
            with contextlib.suppress(StorageError):
                await self._records.put(name, replace(record, changing_to=None))

    async def _finish(self, name: TopicName) -> None:
        """Takes the remaining steps of a change, if one has begun; each step can be taken again."""
        record = self._records.get(name)
        if record is not None and record.changing_to is not None:
            await self._take_steps(name, record, record.changing_to)
        record = self._records.get(name)
        if record is not None and record.removed:
            await self._delete_removed(name, record)

    async def _take_steps(self, name: TopicName, record: ScalableTopic, after: Layout) -> None:
        before = record.layout.segments
        children = [segment for segment in after.segments.values() if segment.id not in before]
        await gathered(children, lambda child: self._segments.create(name, child))
        subscriptions = set(record.subscriptions)
        for parent in _sealed(record.layout, after):
            subscriptions |= await self._segments.seal(name, parent)
        await gathered(children, lambda child: self._segments.create(name, child, sorted(subscriptions)))
        removed = [segment.topic_of(name) for segment in before.values() if segment.id not in after.segments]
        record = self._records.find(name)
        await self._records.put(name, replace(record, layout=after, changing_to=None, removed=tuple(removed)))
        if after.segments:
            self._changed(name)

    async def _delete_removed(self, name: TopicName, record: ScalableTopic) -> None:
        """Deletes the topics of segments that the layout no longer has; without a segment, the whole topic."""
        await gathered(map(parse_topic, record.removed), lambda topic: self._segments.delete_topic(topic, force=True))
        regular = name.in_domain(PERSISTENT)
        is_gone = not any(segment.legacy_topic for segment in record.layout.segments.values())
        if record.was_regular and is_gone and self._tenancy.partitioned.count(regular):
            await self._tenancy.partitioned.delete(regular)
        if record.layout.segments:
            await self._records.put(name, replace(self._records.find(name), removed=()))
        else:
            await self._segments.forget_topic(name)
            await self._records.delete(name)
            self._changed(name)

    async def update(self, name: TopicName, change: Callable[[ScalableTopic], ScalableTopic]) -> None:
        """Changes a record, except its layout; durable on return. Raises `TopicNotFound`."""

        async def run() -> None:
            async with self._changes.of(name):
                await self.put_changed(name, change)

        await to_the_end(self._spawn, run())

    async def put_changed(self, name: TopicName, change: Callable[[ScalableTopic], ScalableTopic]) -> None:
        """Like `update`, for a caller that is `alone`."""
        record = self._records.find(name)
        after = change(record)
        if after != record:
            await self._records.put(name, after)

    def alone(self, name: TopicName) -> AbstractAsyncContextManager[None]:
        """Keeps other changes of the topic waiting."""
        return self._changes.of(name)

    async def delete(self, name: TopicName, *, force: bool) -> None:
        """Deletes a topic with its segments: the layout without segments is the deletion.

        Raises `TopicNotFound`, or `PreconditionFailed` while clients are connected, unless `force`.
        """
        await to_the_end(self._spawn, self._delete(name, force=force))

    async def _delete(self, name: TopicName, *, force: bool) -> None:
        async with self._changes.of(name):
            with self._being_deleted.closed(name):
                record = self._records.find(name)
                for segment in record.layout.segments.values():
                    self._segments.check_unused(name, segment, force=force)
                nothing = Layout(record.layout.epoch + 1, record.layout.next_id, {})
                await self._records.put(name, replace(record, changing_to=nothing))
                await self._finish(name)

    async def finish_all(self) -> None:
        """Finishes changes that a crash or a failure cut off."""
        for name in self._records.unfinished():
            try:
                async with self._changes.of(name):
                    await self._finish(name)
            except (BrokerError, StorageError, OSError) as error:
                log.warning("topic %s: cannot finish the change of its segments: %s", name, error)

    async def delete_orphans(self) -> None:
        """Call it at the start: deletes segments that no record has, because a crash cut off a change."""
        known: set[str] = set()
        async for name in sliced(self._records.all()):
            known |= self._segments_of(name)
        for key in [key async for key in sliced(self._segments.names()) if key not in known]:
            segment = parse_topic(key)
            try:
                async with self._changes.of(segment.base):
                    if key not in self._segments_of(segment.base):  # a client may have created the topic since
                        await self._segments.delete_topic(segment, force=True)
            except (BrokerError, StorageError, OSError) as error:
                log.warning("segment %s: cannot delete it; no topic has it: %s", segment, error)

    def _segments_of(self, name: TopicName) -> set[str]:
        """The topics of the segments that a topic has, or will have."""
        record = self._records.get(name)
        layouts = () if record is None else (record.layout, record.changing_to)
        return {one.topic_of(name) for layout in layouts if layout is not None for one in layout.segments.values()}


def _sealed(before: Layout, after: Layout) -> list[Segment]:
    """The segments that a change seals, as they are afterwards."""
    return [
        segment
        for segment in after.segments.values()
        if segment.id in before.segments and before.segments[segment.id].is_active and not segment.is_active
    ]
