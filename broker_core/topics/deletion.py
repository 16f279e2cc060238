"""Deletes topics with everything in them: entries, cursors, schemas, policies, and last the document."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.errors import PreconditionFailed, TopicNotFound, Unprocessable
from broker_core.metadata.tenancy.system_topics import is_change_events
from broker_core.names import NON_PERSISTENT, PERSISTENT, ledger_name, parse_topic
from broker_core.rates.time_slices import TimeSlices

if TYPE_CHECKING:
    from broker_core.metadata.schema.registry import SchemaRegistry
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import TopicName
    from broker_core.storage.engine import StorageEngine
    from broker_core.topic.topic import Topic
    from broker_core.topics.always_loaded import AlwaysLoadedTopics
    from broker_core.topics.deleted import DeletedTopics
    from broker_core.topics.documents import TopicDocuments
    from broker_core.topics.loaded import LoadedTopics
    from broker_core.topics.operations import TopicOperations


class TopicDeletion:
    def __init__(
        self,
        storage: StorageEngine,
        tenancy: Tenancy,
        schemas: SchemaRegistry,
        documents: TopicDocuments,
        deleted: DeletedTopics,
        loaded: LoadedTopics,
        always_loaded: AlwaysLoadedTopics,
        operations: TopicOperations,
        gone: Callable[[TopicName], None],
    ) -> None:
        """`gone` learns of each deleted topic."""
        self._storage = storage
        self._tenancy = tenancy
        self._schemas = schemas
        self._documents = documents
        self._deleted = deleted
        self._loaded = loaded
        self._always_loaded = always_loaded
        self._operations = operations
        self._gone = gone

    async def delete(self, name: TopicName, *, force: bool = False) -> None:
        """Deletes the topic with everything in it. `force` allows it while clients are connected.

        Raises `TopicNotFound`, `PreconditionFailed`, `Unprocessable`.
        """
        key = str(name)
        async with self._operations.alone(key):
            if self._documents.get(name) is None:
                raise TopicNotFound(f"Topic {name} not found")
            if key in self._loaded and not force:
                check_unused(self._loaded[key])
            await self._delete(name)

    async def delete_if(self, topic: Topic, still: Callable[[], bool]) -> bool:
        """Deletes a loaded topic if `still()` agrees once no client can reach the topic any longer."""
        key = str(topic.name)
        async with self._operations.alone(key):
            is_due = self._loaded.get(key) is topic and still()
            if is_due:
                await self._delete(topic.name, forever=False)  # a replicator may create it again
            return is_due

    async def _delete(self, name: TopicName, *, forever: bool = True) -> None:
        slices, is_remembered = TimeSlices(), forever and self._has_copies(name)
        # A topic that cannot be remembered stays, so its log is closed as for an unload.
        await self._loaded.close(str(name), for_deletion=name.is_persistent and not is_remembered)
        await slices.pause()
        if is_remembered:
            await self._deleted.remember(name)
        if name.is_persistent:
            await self._storage.delete_ledger(ledger_name(name))
            await slices.pause()
        if not name.is_part:  # partitions and segments share the schema of their topic
            await self.forget_schemas(name)
        await self._tenancy.topic_policies.forget(name)  # before the name is free: a crash leaves them to no new topic
        await self._documents.delete(name)
        await self._tenancy.topic_policies.forget(name)  # again, because until now the topic could get some
        self._gone(name)

    def _has_copies(self, name: TopicName) -> bool:
        """Whether replicators of other clusters could create it again."""
        return name.is_persistent and self._always_loaded.is_replicated(name) and not is_change_events(name)

    async def forget_schemas(self, name: TopicName) -> None:
        """Deletes the schemas of a topic, unless the topic of that name in the other domain uses them."""
        domain = NON_PERSISTENT if name.is_persistent else PERSISTENT
        twin = parse_topic(f"{domain}://{name.namespace}/{name.local}")
        if self._documents.get(twin) is None and not self._tenancy.partitioned.count(twin):
            await self._schemas.forget(name)


def check_unused(topic: Topic) -> None:
    """Raises `Unprocessable` or `PreconditionFailed`."""
    if topic.replicators:
        clusters = ", ".join(sorted(replicator.cluster for replicator in topic.replicators.values()))
        raise Unprocessable(f"Delete forbidden topic is replicated on clusters [{clusters}]")
    if topic.producers:
        raise PreconditionFailed("Topic has active producers/subscriptions")
    if any(subscription.consumers for subscription in topic.subscriptions.values()):
        raise PreconditionFailed("Topic has active producers/subscriptions")
