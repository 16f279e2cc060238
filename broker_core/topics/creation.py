"""Creates topics: one request at a time for each name, within the limit, and not during a deletion.

A topic exists as soon as its document is stored.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from broker_core.errors import Conflict
from broker_core.names import NON_PERSISTENT, PERSISTENT, check_new_topic, within
from broker_core.topics.quota import TopicQuota

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import NamespaceName, TopicName
    from broker_core.topics.being_deleted import BeingDeleted
    from broker_core.topics.deleted import DeletedTopics
    from broker_core.topics.documents import TopicDocuments
    from broker_core.topics.operations import TopicOperations


class TopicCreation:
    def __init__(
        self,
        tenancy: Tenancy,
        documents: TopicDocuments,
        deleted: DeletedTopics,
        being_deleted: BeingDeleted,
        operations: TopicOperations,
        clock: Clock,
        created: Callable[[TopicName], None],
    ) -> None:
        """`created` learns of each created topic."""
        self._tenancy = tenancy
        self._documents = documents
        self._deleted = deleted
        self._being_deleted = being_deleted
        self._operations = operations.creations
        self._clock = clock
        self._created = created
        self._claimed: set[TopicName] = set()  # names that become those of partitioned topics
        self.quota = TopicQuota(tenancy, documents.of_namespace)

    async def create(self, name: TopicName, properties: dict[str, str] | None = None, *, awaited: bool = False) -> bool:
        """Creates a topic; durable on return. False if the topic already exists, perhaps only just.

        `awaited`: a deletion of the namespace waits for this request. Raises `Conflict` for the name of a
        partitioned topic, and `TopicNotFound` if the topic could outlive the deletion of its namespace or partitioned
        topic.
        """
        key = str(name)
        while key in self._operations:
            await asyncio.wait([self._operations[key]])
        if self._documents.get(name) is not None:
            return False
        check_new_topic(name)
        if not awaited:
            self._being_deleted.check(name)
        if name in self._claimed or self._tenancy.partitioned.count(name):
            raise Conflict("This topic already exists")
        counted = contextlib.ExitStack()  # held from now on: there is no await since the checks, also of the limit
        counted.enter_context(self.quota.counting([key]))
        # A client that leaves does not stop it: its document is stored in any case.
        work = self._create(name, properties or {}, counted)
        creating = self._operations[key] = asyncio.get_running_loop().create_task(work)
        creating.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # marks an error as seen
        await asyncio.shield(creating)
        return True

    async def _create(self, name: TopicName, properties: dict[str, str], counted: contextlib.ExitStack) -> None:
        try:
            with counted:
                await self._documents.put(name, {"created_ms": self._clock.wall_ms(), "properties": properties})
                await self._deleted.forget(name)
            self._created(name)
        finally:
            del self._operations[str(name)]

    @contextlib.contextmanager
    def claim(self, name: TopicName) -> Iterator[None]:
        """Holds the name for a partitioned topic, so that no topic takes it. Raises `Conflict`."""
        if self.is_taken(name):
            raise Conflict("This topic already exists")
        self._claimed.add(name)
        try:
            yield
        finally:
            self._claimed.discard(name)

    def is_taken(self, name: TopicName) -> bool:
        """Whether the topic exists or is being created."""
        return self._documents.get(name) is not None or str(name) in self._operations

    def being_created(self, namespace: NamespaceName) -> list[str]:
        """The full names of topics that a request is creating, of both domains."""
        creating = self._operations
        return [*within(namespace, PERSISTENT, creating), *within(namespace, NON_PERSISTENT, creating)]
