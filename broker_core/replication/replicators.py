"""The replicators of one topic, one for each other cluster in its policy `replication_clusters`.

A change of the policy starts and stops them at once. A cluster that leaves the policy loses its cursor, and what was
not sent to it yet; one that is only unreachable keeps both. A list without this cluster says nothing about what is here
(Pulsar deletes the topic then), so nothing is replicated, and every cursor stays.

If the disk fails, the change is tried again. Until a new cluster has its cursor, no producer may join: nothing else
would keep for it what is published.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from broker_core.errors import TopicFenced
from broker_core.limits.rate_limit import RateLimit
from broker_core.metadata.tenancy.system_topics import stays_in_its_cluster
from broker_core.publishing.replication import REPLICATOR_PREFIX
from broker_core.rates.backoff import Backoff
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import LATEST, Position
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.publishing.producer import Producer
    from broker_core.replication.replicator import Replicator
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block

log = logging.getLogger(__name__)


def cursor_name(cluster: str) -> str:
    return f"{REPLICATOR_PREFIX}{cluster}"


def cluster_of(cursor: str) -> str:
    return cursor.removeprefix(REPLICATOR_PREFIX)


class Replicators(TopicPart, Mapping[str, "Replicator"]):
    """The replicators of a topic by their cursors' names. `retried` is called after a failed change is tried again."""

    def __init__(
        self,
        context: TopicContext,
        services: ReplicationServices,
        producers: Mapping[str, Producer],
        moved: Callable[[], None],
    ) -> None:
        """`producers` are those of the topic; `moved` is called when a replicator passed entries."""
        self._context = context
        self._services = services
        self._producers = producers
        self._moved = moved
        self.retried: Callable[[], None] | None = None
        self.by_cursor: dict[str, Replicator] = {}
        self._changing = asyncio.Lock()  # a policy may change again while a cursor is being created
        self._starts: dict[str, Position] = {}  # start positions of cursors that do not exist yet
        self._failure: StorageError | None = None  # the failure of the last attempt
        self._backoff = Backoff()
        self._retry: asyncio.TimerHandle | None = None
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
        for replicator in self.by_cursor.values():
            replicator.wake()

    def offer(self, block: Block) -> None:
        """A non-persistent topic has received this."""
        for replicator in self.by_cursor.values():
            replicator.offer(block)

    def wanted(self) -> set[str]:
        """The other clusters in the policy; none if the topic is never replicated."""
        if stays_in_its_cluster(self._context.name) or not self._is_listed:
            return set()
        return set(self._context.policies.replication_clusters) - {self._services.cluster}

    @property
    def _is_listed(self) -> bool:
        return self._services.cluster in self._context.policies.replication_clusters

    def check_publishable(self) -> None:
        """Raises `TopicFenced` if a cluster would not get what is published now."""
        if self._failure is not None and self._starts:
            raise TopicFenced(
                f"Topic {self._context.name} cannot start its replication: {self._failure}; try again later"
            )

    async def policies_changed(self) -> None:
        """Starts and stops replicators, and applies their rate. If the disk fails, tries again later."""
        async with self._changing:
            if self._closed:
                return
            self._cancel_retry()
            try:
                await self._start_and_stop({cursor_name(cluster): cluster for cluster in self.wanted()})
            except StorageError as error:
                self._failed(error)
            else:
                self._failure = None
                self._backoff.reset()
            self._limit()

    async def _start_and_stop(self, clusters: dict[str, str]) -> None:
        new = [name for name in clusters if name not in self.by_cursor]
        start = self._services.start if self._services.start != LATEST else self._context.log.next_position
        self._starts = {name: self._starts.get(name, start) for name in new}
        unwanted = [name for name in self._context.log.cursors if self.is_cursor(name) and name not in clusters]
        for name in unwanted:
            await (self._remove(name) if self._is_listed else self._pause(name))
        for name in new:
            await self._add(name, clusters[name])

    async def _add(self, name: str, cluster: str) -> None:
        cursor: ManagedCursor = await self._context.log.open_cursor(name, initial=self._starts[name], durable=True)
        del self._starts[name]
        replicator = self.by_cursor[name] = self._replicator(cluster, cursor)
        replicator.start()

    def _failed(self, error: StorageError) -> None:
        """Producers that are connected come back, and are told to wait."""
        log.warning("topic %s: cannot start or stop replicators, trying again: %s", self._context.name, error)
        self._failure = error
        for producer in list(self._producers.values()) if self._starts else ():
            producer.disconnect()
        seconds = self._backoff.next_seconds()
        self._retry = asyncio.get_running_loop().call_later(seconds, self._try_again)

    def _try_again(self) -> None:
        self._context.spawn(self._follow_again())

    async def _follow_again(self) -> None:
        await self.policies_changed()
        if self.retried is not None:
            self.retried()

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _replicator(self, cluster: str, cursor: ManagedCursor) -> Replicator:
        # Imported here, in a few milliseconds: most brokers have no other cluster.
        from broker_core.replication.replicator import Replicator
        from broker_core.replication.volatile_replicator import VolatileReplicator

        kind = VolatileReplicator if self._context.log.on_disk is None else Replicator
        return kind(self._context, self._services, cluster, cursor, self._moved)

    async def _remove(self, name: str) -> None:
        await self._stop(name)
        await self._context.log.delete_cursor(name)
        log.info("topic %s: no longer replicated to cluster %s", self._context.name, cluster_of(name))
        self._moved()

    async def _pause(self, name: str) -> None:
        await self._stop(name)
        log.warning(
            "topic %s: keeps what cluster %s did not get, and sends nothing: its replication clusters (%s) lack %s, the"
            " cluster of this broker; add it, or delete the topic",
            self._context.name,
            cluster_of(name),
            ", ".join(self._context.policies.replication_clusters),
            self._services.cluster,
        )

    async def _stop(self, name: str) -> None:
        replicator = self.by_cursor.pop(name, None)
        if replicator is not None:
            await replicator.close()

    def _limit(self) -> None:
        """The policy's rate, else the configuration's."""
        rate, config = self._context.policies.replicator_dispatch_rate, self._services.config
        messages, size, period = rate.messages, rate.bytes, max(1, rate.period_seconds)
        if messages <= 0 and size <= 0:
            messages, size, period = config.rate_messages, config.rate_bytes, 1
        for replicator in self.by_cursor.values():
            if replicator.rate != (messages, size, period):
                replicator.rate = messages, size, period
                replicator.limit = RateLimit.per_second(self._context.clock, messages / period, size / period)
                replicator.wake()

    async def close(self) -> None:
        """The topic is unloaded; the cursors stay."""
        self._closed = True
        self.retried = None
        async with self._changing:
            self._cancel_retry()
            await asyncio.gather(*(replicator.close() for replicator in self.by_cursor.values()))
            self.by_cursor.clear()
