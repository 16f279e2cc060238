"""Changes of layouts: creation, split, merge, removal of segments, and deletion. One change of a topic at a time.

The steps of a split or merge, in this order: the record notes the new layout; the children exist; the parents are
sealed; the children have the subscriptions of their parents, from the start; the record has the new layout; clients
learn of it. A crash leaves the old layout in the record, and the next start takes the steps again. No message reaches a
child before it has its subscriptions, because clients do not know the child.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, Conflict
from broker_core.names import parse_topic
from broker_core.rates.time_slices import gathered, sliced
from broker_core.scalable.layout import Layout, Segment
from broker_core.scalable.records import ScalableTopic
from broker_core.scalable.synthetic import migrated_layout, synthetic_layout
from broker_core.storage.errors import StorageError
from broker_core.tasks import OneAtATime, to_the_end

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import NamespaceName, TopicName
    from broker_core.scalable.records import ScalableRecords
    from broker_core.scalable.segments import SegmentTopics
    from broker_core.tasks import Spawn
    from broker_core.topics.being_deleted import BeingDeleted

log = logging.getLogger(__name__)


class LayoutChanges:
    def __init__(
        self,
        records: ScalableRecords,
        segments: SegmentTopics,
        tenancy: Tenancy,
        being_deleted: BeingDeleted,
        clock: Clock,
        spawn: Spawn,
        changed: Callable[[TopicName], None],
    ) -> None:
        """`changed` learns of each topic with a new layout, and of one that is created or deleted."""
        self._records = records
        self._segments = segments
        self._tenancy = tenancy
        self._being_deleted = being_deleted
        self._clock = clock
        self._spawn = spawn
        self._changed = changed
        self._changes: OneAtATime[TopicName] = OneAtATime()

    def running(self, namespace: NamespaceName) -> list[TopicName]:
        """The topics that a request is creating, changing, or deleting; they need not exist yet."""
        return [name for name in self._changes.running if name.namespace == namespace]

    async def create(self, name: TopicName, count: int, properties: Mapping[str, str]) -> None:
        """Durable on return. Raises `Conflict`, `NotFound`, `PreconditionFailed`."""
        layout = Layout.initial(count, self._clock.wall_ms())
        await to_the_end(self._spawn, self._create(name, ScalableTopic(layout, dict(properties))))

    async def _create(self, name: TopicName, record: ScalableTopic) -> None:
        async with self._changes.of(name):
            self._tenancy.check_namespace_of(name)
            self._being_deleted.check(name)
            if self._records.get(name) is not None:
                raise Conflict(f"Scalable topic already exists: {name}")
            for segment in record.layout.segments.values():  # what a creation left that a crash cut off
                await self._segments.delete(name, segment, force=True)
            await gathered(list(record.layout.segments.values()), lambda segment: self._segments.create(name, segment))
            await self._records.put(name, record)
        self._changed(name)

    async def create_if_missing(self, name: TopicName) -> None:
        """Creates a topic with one segment for a client; another client may be first."""
        with contextlib.suppress(Conflict):
            await self.create(name, 1, {})

    async def migrate(self, name: TopicName, regular: TopicName, partitions: int) -> None:
        """Makes a scalable topic of a regular one: its partitions become sealed segments, and it goes on in new ones.

        Raises `Conflict`.
        """
        await to_the_end(self._spawn, self._migrate(name, regular, partitions))

    async def _migrate(self, name: TopicName, regular: TopicName, partitions: int) -> None:
        async with self._changes.of(name):
            if self._records.get(name) is not None:
                raise Conflict(f"Topic is already scalable: {name}")
            await self.note_migration(name, regular, partitions)
            await self._finish(name)

    async def note_migration(self, name: TopicName, regular: TopicName, partitions: int) -> None:
        """The first step of a migration: from here on, the next start takes the others."""
        before = synthetic_layout(regular, partitions)
        after = migrated_layout(before, self._clock.wall_ms())
        await self._records.put(name, ScalableTopic(before, was_regular=True, changing_to=after))

    async def split(self, name: TopicName, segment_id: int) -> None:
        """Raises `NotFound`, `PreconditionFailed`."""
        await self.change(name, lambda layout: layout.split(segment_id, self._clock.wall_ms()))

    async def merge(self, name: TopicName, first_id: int, second_id: int) -> None:
        """Raises `NotFound`, `PreconditionFailed`."""
        await self.change(name, lambda layout: layout.merge(first_id, second_id, self._clock.wall_ms()))

    async def remove(self, name: TopicName, segment_id: int) -> None:
        """Removes a sealed segment. Raises `NotFound`, `PreconditionFailed`."""
        await self.change(name, lambda layout: layout.without(segment_id))

    async def change(self, name: TopicName, change: Callable[[Layout], Layout]) -> None:
        """Brings about the layout that `change` returns; durable on return."""
        await to_the_end(self._spawn, self._change(name, change))

    async def _change(self, name: TopicName, change: Callable[[Layout], Layout]) -> None:
        async with self._changes.of(name):
            await self._finish(name)
            record = self._records.find(name)
            after = change(record.layout)
            await self._records.put(name, replace(record, changing_to=after))
            await self._finish(name)

    async def _finish(self, name: TopicName) -> None:
        """Takes the remaining steps of a change, if one has begun; each step can be taken again."""
        record = self._records.get(name)
        after = None if record is None else record.changing_to
        if record is None or after is None:
            return
        before = record.layout.segments
        if not after.segments:
            await self._finish_deletion(name, list(before.values()))
            return
        children = [segment for segment in after.segments.values() if segment.id not in before]
        await gathered(children, lambda child: self._segments.create(name, child))
        parents = [segment for segment in after.segments.values() if _is_sealed_by(before, segment)]
        subscriptions = set(record.subscriptions)
        for parent in parents:
            subscriptions |= await self._segments.seal(name, parent)
        await gathered(children, lambda child: self._segments.create(name, child, sorted(subscriptions)))
        record = self._records.find(name)
        await self._records.put(name, replace(record, layout=after, changing_to=None))
        self._changed(name)
        for removed in (segment for segment in before.values() if segment.id not in after.segments):
            await self._segments.delete(name, removed, force=True)

    async def update(self, name: TopicName, change: Callable[[ScalableTopic], ScalableTopic]) -> None:
        """Changes a record, except its layout; durable on return. Raises `TopicNotFound`."""

        async def run() -> None:
            async with self._changes.of(name):
                record = self._records.find(name)
                after = change(record)
                if after != record:
                    await self._records.put(name, after)

        await to_the_end(self._spawn, run())

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

    async def _finish_deletion(self, name: TopicName, segments: Sequence[Segment]) -> None:
        await gathered(segments, lambda segment: self._segments.delete(name, segment, force=True))
        await self._segments.forget_topic(name)
        await self._records.delete(name)
        self._changed(name)

    async def finish_all(self) -> None:
        """Call it at the start: finishes changes that a crash cut off."""
        for name in self._records.unfinished():
            try:
                async with self._changes.of(name):
                    await self._finish(name)
            except (BrokerError, StorageError) as error:
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
                    if key not in self._segments_of(segment.base):  # a client may have created the topic meanwhile
                        await self._segments.delete_topic(segment, force=True)
            except (BrokerError, StorageError) as error:
                log.warning("segment %s: cannot delete it; no topic has it: %s", segment, error)

    def _segments_of(self, name: TopicName) -> set[str]:
        """The topics of the segments that a topic has, or will have."""
        record = self._records.get(name)
        layouts = () if record is None else (record.layout, record.changing_to)
        return {one.topic_of(name) for layout in layouts if layout is not None for one in layout.segments.values()}


def _is_sealed_by(before: Mapping[int, Segment], after: Segment) -> bool:
    """Whether the change seals this segment, or an earlier attempt of the change has."""
    return after.id in before and before[after.id].is_active and not after.is_active
