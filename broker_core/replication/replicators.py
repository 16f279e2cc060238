"""The replicators of one topic, one for each other cluster in its policy `replication_clusters`.

A change of the policy starts and stops them at once. A cluster that leaves the policy loses its cursor, and what was
not sent to it yet; one that is only unreachable keeps both.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from broker_core.limits.rate_limit import RateLimit
from broker_core.publishing.replication import REPLICATOR_PREFIX
from broker_core.storage.errors import StorageError
from broker_core.tenancy.system_topics import stays_in_its_cluster

if TYPE_CHECKING:
    from broker_core.replication.replicator import Replicator
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.block import Block
    from broker_core.storage.cursor import ManagedCursor
    from broker_core.topic_context import TopicContext

log = logging.getLogger(__name__)


def cursor_name(cluster: str) -> str:
    return f"{REPLICATOR_PREFIX}{cluster}"


class Replicators(Mapping[str, "Replicator"]):
    """By the names of their cursors. `moved` is called when one of them passed entries."""

    def __init__(self, context: TopicContext, services: ReplicationServices, moved: Callable[[], None]) -> None:
        self._context = context
        self._services = services
        self._moved = moved
        self.by_cursor: dict[str, Replicator] = {}
        self._changing = asyncio.Lock()  # a policy may change again while a cursor is being created
        self._closed = False

    def __getitem__(self, name: str) -> Replicator:
        return self.by_cursor[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_cursor)

    def __len__(self) -> int:
        return len(self.by_cursor)

    @staticmethod
    def is_cursor(name: str) -> bool:
        """Whether a cursor of that name belongs to a replicator."""
        return name.startswith(REPLICATOR_PREFIX)

    def wake(self) -> None:
        """There are new entries. Hot path: called once per group of confirmed entries."""
        for one in self.by_cursor.values():
            one.wake()

    def offer(self, block: Block) -> None:
        """A non-persistent topic has received this."""
        for one in self.by_cursor.values():
            one.offer(block)

    def wanted(self) -> set[str]:
        """The other clusters in the policy; none if the topic is never replicated."""
        clusters, own = self._context.policies.replication_clusters, self._services.cluster
        if stays_in_its_cluster(self._context.name) or own not in clusters:
            return set()
        return set(clusters) - {own}

    async def follow_policies(self) -> None:
        """Starts and stops replicators, and applies their rate. If the disk fails, the next change tries again."""
        async with self._changing:
            if self._closed:
                return
            wanted = {cursor_name(cluster): cluster for cluster in self.wanted()}
            try:
                for name in [*self._context.log.cursors]:
                    if self.is_cursor(name) and name not in wanted:
                        await self._remove(name)
                for name, cluster in wanted.items():
                    if name not in self.by_cursor:
                        await self._add(name, cluster)
            except StorageError as error:
                log.warning("topic %s: cannot start or stop replicators: %s", self._context.name, error)
            self._limit()

    async def _add(self, name: str, cluster: str) -> None:
        cursor: ManagedCursor = await self._context.log.open_cursor(name, initial=self._services.start, durable=True)
        one = self.by_cursor[name] = self._replicator(cluster, cursor)
        one.start()

    def _replicator(self, cluster: str, cursor: ManagedCursor) -> Replicator:
        # Imported here, in a few milliseconds: most brokers have no other cluster.
        from broker_core.replication.replicator import Replicator
        from broker_core.replication.volatile_replicator import VolatileReplicator

        kind = VolatileReplicator if self._context.log.on_disk is None else Replicator
        return kind(self._context, self._services, cluster, cursor, self._moved)

    async def _remove(self, name: str) -> None:
        one = self.by_cursor.pop(name, None)
        if one is not None:
            await one.close()
        await self._context.log.delete_cursor(name)
        log.info("topic %s: no longer replicated to cluster %s", self._context.name, name)
        self._moved()

    def _limit(self) -> None:
        """The policy's rate, else the configuration's."""
        rate, config = self._context.policies.replicator_dispatch_rate, self._services.config
        messages, size, period = rate.messages, rate.bytes, max(1, rate.period_seconds)
        if messages <= 0 and size <= 0:
            messages, size, period = config.rate_messages, config.rate_bytes, 1
        for one in self.by_cursor.values():
            if one.rate != (messages, size, period):
                one.rate = messages, size, period
                one.limit = RateLimit.per_second(self._context.clock, messages / period, size / period)
                one.wake()

    async def close(self) -> None:
        """The topic is unloaded; the cursors stay."""
        self._closed = True
        async with self._changing:
            await asyncio.gather(*(one.close() for one in self.by_cursor.values()))
            self.by_cursor.clear()
