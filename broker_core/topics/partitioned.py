"""Partitioned topics: the number of partitions in the metadata, and one topic `T-partition-N` for each partition.

The metadata is created first and deleted last, so that a failed creation or deletion can be repeated; new partitions
are ready before the metadata counts them. The metadata notes an update before its first partition, so that the next
start finishes what a crash cut off. Partitions are topics of the registry, which deletes, unloads, and counts
them. Changes of one partitioned topic follow one another.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, Conflict, LimitReached, PreconditionFailed, TopicNotFound
from broker_core.names import check_has_messages, check_new_topic
from broker_core.rates.time_slices import gathered, sliced
from broker_core.storage.errors import StorageError
from broker_core.tasks import OneAtATime, to_the_end
from broker_core.topics.deletion import check_unused

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import NamespaceName, TopicName
    from broker_core.tasks import Spawn
    from broker_core.topics.registry import TopicRegistry

log = logging.getLogger(__name__)


class PartitionedTopics:
    def __init__(self, topics: TopicRegistry, tenancy: Tenancy, spawn: Spawn) -> None:
        self._topics = topics
        self._tenancy = tenancy
        self._spawn = spawn
        self._changes: OneAtATime[TopicName] = OneAtATime()
        self.growth_listeners: list[Callable[[TopicName], None]] = []

    def count(self, name: TopicName) -> int:
        return self._tenancy.partitioned.count(name)

    def being_changed(self, namespace: NamespaceName) -> list[TopicName]:
        """The partitioned topics that a request is creating, changing, or deleting; they need not exist yet."""
        return [name for name in self._changes.running if name.namespace == namespace]

    def alone(self, name: TopicName) -> contextlib.AbstractAsyncContextManager[None]:
        """Keeps changes of the partitioned topic waiting."""
        return self._changes.of(name)

    async def for_client(self, name: TopicName, *, create: bool) -> int:
        """The number of partitions, 0 for other topics. May create the metadata of a partitioned topic."""
        check_has_messages(name)
        auto_creation = self._topics.auto_creation
        auto_creation.check_partition(name)
        partitions = self._tenancy.partitioned.count(name)
        if partitions or name.is_partition or self._topics.exists(name):
            return partitions
        auto_creation.check_topic(name, may_create=create)
        automatic = auto_creation.partitions_of(name)
        if automatic:
            with contextlib.suppress(Conflict):  # another client was first
                await to_the_end(self._spawn, self._create_metadata(name, automatic))
        return self._tenancy.partitioned.count(name)

    async def _create_metadata(self, name: TopicName, partitions: int) -> None:
        async with self._changes.of(name):
            with self._claim(name):
                await self._tenancy.partitioned.create(name, partitions)

    async def create(self, name: TopicName, partitions: int, properties: dict[str, str] | None = None) -> None:
        async with self._changes.of(name):
            with self._claim(name):
                self._tenancy.partitioned.check_count(partitions)
                with self._room_for(name, range(partitions)):
                    await self._tenancy.partitioned.create(name, partitions, properties or {})
                    await self._create_partitions(name, 0, partitions)

    def _claim(self, name: TopicName) -> contextlib.AbstractContextManager[None]:
        """Claims the name. Call it once the change runs: a deletion of the namespace waits only for running changes."""
        check_new_topic(name)
        self._topics.being_deleted.check(name)
        self._topics.auto_creation.check_regular(name)
        return self._topics.creation.claim(name)

    @contextlib.contextmanager
    def _room_for(self, name: TopicName, indexes: range) -> Iterator[None]:
        """Counts partitions before they exist: concurrent requests must not both get the last ones of the namespace."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._topics.creation.quota.hold(name, map(name.partition_name, indexes)))
            except LimitReached as error:
                raise PreconditionFailed(error.reason) from error
            yield

    async def update(self, name: TopicName, partitions: int) -> None:
        """Adds partitions. Each new one gets the subscriptions of the first, at its start."""
        async with self._changes.of(name):
            self._topics.auto_creation.check_regular(name)
            current = self._tenancy.partitioned.check_update(name, partitions)
            before = current.partitions
            parts = [name.partition_name(index) for index in range(before, partitions)]
            new = [part for part in parts if not self._topics.exists(part)]
            try:
                await self._update(name, before, partitions)
            except (BrokerError, StorageError):
                await self._undo_update(name, new, current.growing_to)
                raise

    async def _update(self, name: TopicName, before: int, partitions: int) -> None:
        with self._room_for(name, range(before, partitions)):
            if partitions > before:
                await self._tenancy.partitioned.note_growth(
                    name, max(partitions, self._tenancy.partitioned.reach(name))
                )
            await self._create_partitions(name, before, partitions)
            await self._copy_subscriptions(name, before, partitions)
            # Last: the next start, or a repeated request, does what a crash left undone before.
            await self._tenancy.partitioned.update(name, partitions)
        for listener in self.growth_listeners:
            listener(name)

    async def _undo_update(self, name: TopicName, new: list[TopicName], growing_to: int) -> None:
        """Undoes an update, so that a failed one leaves nothing. If that fails, too, the next start finishes it."""
        with contextlib.suppress(BrokerError, StorageError):
            for part in filter(self._topics.exists, new):
                await self._topics.delete(part, force=True)
            await self._tenancy.partitioned.note_growth(name, growing_to)

    async def finish_updates(self) -> None:
        """Call it at the start: new partitions of an update that a crash cut off would stay topics of their own."""
        for name, partitions in self._tenancy.partitioned.unfinished():
            try:
                async with self._changes.of(name):
                    await self.finish_update(name)
            except (BrokerError, StorageError) as error:
                log.warning("topic %s: cannot finish its update to %d partitions: %s", name, partitions, error)

    async def finish_update(self, name: TopicName) -> None:
        """Finishes an update that a crash cut off, for a caller that is `alone`."""
        partitions, reach = self.count(name), self._tenancy.partitioned.reach(name)
        if reach > partitions:
            await self._update(name, partitions, reach)

    async def create_missing(self, name: TopicName) -> None:
        """Creates missing partitions again, which were deleted one by one."""
        async with self._changes.of(name):
            await self._create_partitions(name, 0, self._tenancy.partitioned.count(name))

    async def _create_partitions(self, name: TopicName, first: int, end: int) -> None:
        if not name.is_persistent:
            return  # their partitions exist only while clients use them
        parts = (name.partition_name(index) for index in range(first, end))
        create = partial(self._topics.creation.create, awaited=True)
        await gathered((part for part in parts if not self._topics.exists(part)), create)

    async def _copy_subscriptions(self, name: TopicName, first: int, end: int) -> None:
        """Copies those of the first partition. An automatically created topic may not have one yet."""
        if not self._topics.exists(name.partition_name(0)):
            return
        model = await self._topics.get(name.partition_name(0))
        durable = [subscription for subscription in model.subscriptions.values() if subscription.durable]
        for index in range(first, end if durable else first):
            topic = await self._topics.get(name.partition_name(index))
            for subscription in durable:
                await topic.subscriptions.open(
                    subscription.name,
                    durable=True,
                    start=None,
                    earliest=True,
                    properties=subscription.properties,
                    replicated=subscription.is_replicated,
                )

    async def delete(self, name: TopicName, *, force: bool = False) -> None:
        """Deletes all partitions, then the metadata, so that a failed deletion can be repeated.

        Clients that reconnect in the meantime do not create partitions again. Raises `TopicNotFound`.
        """
        async with self._leaves(name):
            if not self.count(name):
                raise TopicNotFound(f"Topic {name} not found.")
            await self._delete(name, force=force)

    async def delete_if_empty(self, name: TopicName) -> None:
        """Deletes a partitioned topic that has no partition any more, even if another change comes first."""
        async with self._leaves(name):
            if self.count(name) and not any(map(self._topics.creation.is_taken, self._parts(name))):
                await self._delete(name, force=False)

    @contextlib.asynccontextmanager
    async def _leaves(self, name: TopicName) -> AsyncIterator[None]:
        async with self._changes.of(name):
            with self._topics.being_deleted.closed(name):
                yield

    async def _delete(self, name: TopicName, *, force: bool) -> None:
        parts = map(name.partition_name, range(self._tenancy.partitioned.reach(name)))
        existing = [part async for part in sliced(parts) if self._topics.creation.is_taken(part)]
        if not force:
            async for part in sliced(existing):
                if str(part) in self._topics.loaded:
                    check_unused(self._topics.loaded[str(part)])
        await gathered(existing, partial(self._topics.delete, force=force))
        await self._topics.deletion.forget_schemas(name)
        await self._tenancy.topic_policies.forget(name)
        await self._tenancy.partitioned.delete(name)
        await self._tenancy.topic_policies.forget(name)  # again, because until now the topic could get some

    async def existing(self, name: TopicName) -> list[TopicName]:
        """The partitions that exist."""
        return [part async for part in sliced(self._parts(name)) if self._topics.exists(part)]

    def _parts(self, name: TopicName) -> Iterator[TopicName]:
        return map(name.partition_name, range(self._tenancy.partitioned.count(name)))
