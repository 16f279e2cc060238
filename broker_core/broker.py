"""The broker: topics by name, loaded on demand; start and stop in order.

The two journeys of a message (each arrow carries a run of messages, never one):

    in:   socket -> Connection -> FrameDecoder -> handlers.publish.on_run -> Producer.publish -> Topic.publish
          -> ManagedLedger.append -> Journal group commit (one fsync) -> SEND_RECEIPT
    out:  Dispatcher wakes (entries, permits, redelivery) -> ManagedLedger.read -> policy picks a consumer
          -> Consumer.deliver -> Connection.send -> socket

The receipt leaves only after the fsync. One event loop; what may wait for a disk runs in the storage's threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from broker_core import __version__
from broker_core.clock import Clock, SystemClock
from broker_core.errors import (
    BrokerError,
    Conflict,
    NotAllowed,
    PersistenceFailed,
    PreconditionFailed,
    SubscriptionNotFound,
    TopicFenced,
    TopicNotFound,
)
from broker_core.names import PERSISTENT, NamespaceName, TopicName, parse_topic
from broker_core.rate import Rate, sample_forever
from broker_core.storage.errors import StorageError
from broker_core.storage.factory import ManagedLedgerFactory
from broker_core.tenancy import Tenancy
from broker_core.topic import Topic, TopicServices

if TYPE_CHECKING:
    from pathlib import Path

    from broker_core.config import BrokerConfig
    from broker_core.connection import Connection
    from broker_core.storage.disk import Disk

log = logging.getLogger(__name__)

TOPIC = "topic"  # kind of the documents that say which topics exist
INSTANCE = "instance"  # kind of the document that counts the starts of this instance


class Broker:
    version = __version__

    def __init__(self, config: BrokerConfig, *, clock: Clock | None = None) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.connections: set[Connection] = set()
        self.loaded: dict[str, Topic] = {}
        self.service_url = ""
        self.http_url = ""
        self.started_ms = 0
        self.storage: ManagedLedgerFactory
        self.tenancy: Tenancy
        self._loading: dict[str, asyncio.Task[Topic]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._leaving: dict[str, asyncio.Future[None]] = {}  # topics that are being unloaded or deleted
        self._stopping = False
        self._instance: asyncio.Task[int] | None = None
        self._producers_named = 0

    # -- life --------------------------------------------------------------------------------------------

    async def start(self, directory: Path, *, disk: Disk | None = None) -> None:
        """Opens the data directory (lock, recovery) and the tenants; topics are loaded when first used."""
        options = {} if disk is None else {"disk": disk}
        self.storage = await ManagedLedgerFactory.open(directory, self.config.storage, clock=self.clock, **options)
        self.tenancy = await Tenancy.open(self.storage.metadata, self.config)
        self.tenancy.on_change(self._policies_changed)
        self.started_ms = self.clock.wall_ms()
        self.spawn(self._load_aging_topics())
        self.spawn(sample_forever(self._rates))

    def _rates(self) -> Iterator[Rate]:
        for topic in list(self.loaded.values()):
            yield from topic.rates()

    async def _load_aging_topics(self) -> None:
        """Topics whose messages age (TTL, retention by time) must act when that is due, used or not."""
        for key in list(self.storage.metadata.list(TOPIC)):
            await self._load_if_aging(parse_topic(key))

    async def _load_if_aging(self, name: TopicName) -> None:
        policies = self.tenancy.effective(name)
        if (policies.ttl_seconds > 0 or policies.retention.limits.time_ms > 0) and self.topic_exists(name):
            try:
                await self.get_topic(name)
            except BrokerError as error:  # the others' messages age all the same
                log.warning("topic %s: what is due stays undone: %s", name, error)

    async def stop(self) -> None:
        """Mirrors `start`: clients are told to come again, everything acknowledged is synced, the lock is freed."""
        self._stopping = True
        unloaded = await asyncio.gather(*(self._unload(key) for key in list(self.loaded)), return_exceptions=True)
        for error in unloaded:
            if isinstance(error, Exception):
                log.error("a topic was not unloaded cleanly: %s", error)
        for connection in list(self.connections):
            connection.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.storage.close()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs something beside its caller; the broker owns the task, logs its failure and ends it at stop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed: %r", task.get_coro(), error, exc_info=error)

    def admit(self, connection: Connection) -> bool:
        """Takes a new connection in, unless there are as many as allowed."""
        limit = self.config.connection.max_connections
        if limit and len(self.connections) >= limit:
            return False
        self.connections.add(connection)
        return True

    async def new_producer_name(self) -> str:
        """A name that no producer of this data directory ever had: cluster, start of the instance, counter."""
        if self._instance is None or (self._instance.done() and self._instance.exception() is not None):
            self._instance = self.spawn(self._count_start())
        # Whoever waits may go away; the count belongs to all.
        instance = await asyncio.shield(self._instance)
        name = f"{self.config.server.cluster_name}-{instance}-{self._producers_named}"
        self._producers_named += 1
        return name

    async def _count_start(self) -> int:
        document = self.storage.metadata.get(INSTANCE, "starts") or {"count": 0}
        await self.storage.metadata.put(INSTANCE, "starts", {"count": document["count"] + 1})
        return int(document["count"])

    # -- topics for clients ------------------------------------------------------------------------------

    async def topic_for_client(self, name: TopicName, *, create: bool = True) -> Topic:
        """The topic that a producer or consumer asks for; created when missing, wanted and allowed."""
        if not name.is_persistent:
            raise NotAllowed(f"Non-persistent topics are not supported by this broker: {name}")
        if self._stopping:
            raise TopicFenced(f"Topic {name} is being unloaded: the broker stops")
        await self._settled(str(name))
        if not self.topic_exists(name):
            self._check_auto_creation(name, create=create)
            await self.create_topic(name)
        return await self.get_topic(name)

    def _check_auto_creation(self, name: TopicName, *, create: bool) -> None:
        if not self.tenancy.has_namespace(name.namespace):
            raise TopicNotFound(f"Namespace {name.namespace} does not exist")
        partitions = self.tenancy.partitions(name.base)
        if name.is_partition and name.partition < partitions:
            return
        if name.is_partition and partitions:
            raise NotAllowed(f"{name.base} has {partitions} partitions; {name} is none of them")
        if not name.is_partition and partitions:
            raise NotAllowed(f"{name} is a partitioned topic; use its partitions")
        if not (create and self.config.topics.allow_auto_creation):
            raise TopicNotFound(f"Topic {name} does not exist")

    async def partitions_for_client(self, name: TopicName, *, create: bool) -> int:
        """Number of partitions, 0 for a topic without; may create the metadata of a partitioned topic."""
        partitions = self.tenancy.partitions(name)
        if partitions or name.is_partition or self.topic_exists(name):
            return partitions
        self._check_auto_creation(name, create=create)
        if self.config.topics.auto_creation_type == "partitioned":
            with contextlib.suppress(Conflict):  # another client was first
                await self.tenancy.create_partitioned(name, self.config.topics.default_partitions)
        return self.tenancy.partitions(name)

    def check_auto_subscription(self, topic: TopicName, subscription: str) -> None:
        if not self.config.topics.allow_auto_subscription:
            raise SubscriptionNotFound(f"Subscription {subscription} does not exist on {topic}")

    # -- topics ------------------------------------------------------------------------------------------

    def topic_exists(self, name: TopicName) -> bool:
        return self.storage.metadata.get(TOPIC, str(name)) is not None

    def topics_of(self, namespace: NamespaceName, domain: str = PERSISTENT) -> list[str]:
        """Full names of the existing topics, each partition by itself, sorted."""
        prefix = f"{domain}://{namespace}/"
        return sorted(key for key in self.storage.metadata.list(TOPIC) if key.startswith(prefix))

    async def create_topic(self, name: TopicName, properties: dict[str, str] | None = None) -> None:
        document = {"created_ms": self.clock.wall_ms(), "properties": properties or {}}
        await self.storage.metadata.put(TOPIC, str(name), document)

    def topic_properties(self, name: TopicName) -> dict[str, str]:
        """What was given with the topic, partitioned or not."""
        partitioned = self.tenancy.partitioned_topic(name)
        if partitioned is not None:
            return dict(partitioned.properties)
        return dict((self.storage.metadata.get(TOPIC, str(name)) or {}).get("properties", {}))

    async def set_topic_properties(self, name: TopicName, properties: dict[str, str]) -> None:
        """Replaces them; durable on return."""
        if self.tenancy.partitions(name):
            await self.tenancy.set_partitioned_properties(name, properties)
        else:
            document = self.storage.metadata.get(TOPIC, str(name)) or {}
            await self.storage.metadata.put(TOPIC, str(name), {**document, "properties": properties})

    async def get_topic(self, name: TopicName, *, create: bool = False) -> Topic:
        """The loaded topic; loads it if need be. Raises `TopicNotFound`."""
        key = str(name)
        await self._settled(key)
        topic = self.loaded.get(key)
        if topic is not None:
            return topic
        if not self.topic_exists(name):
            if not create:
                raise TopicNotFound(f"Topic {name} not found")
            await self.create_topic(name)
            return await self.get_topic(name)
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = self.spawn(self._load(name))
        return await asyncio.shield(task)

    async def _load(self, name: TopicName) -> Topic:
        key = str(name)
        try:
            ledger = await self.storage.open_ledger(ledger_name(name))
            topic = Topic(name, ledger, self._services())
            topic.created_ms = (self.storage.metadata.get(TOPIC, key) or {}).get("created_ms", topic.created_ms)
            await topic.load()
            self.loaded[key] = topic
            return topic
        except StorageError as error:
            raise PersistenceFailed(f"{name}: {error}") from error
        finally:
            del self._loading[key]

    def _services(self) -> TopicServices:
        return TopicServices(
            clock=self.clock,
            limits=self.config.topics,
            dispatch=self.config.dispatch,
            max_message_size=self.config.connection.max_message_size,
            retain_null_key=self.config.policies.retain_null_key,
            storage=self.storage,
            spawn=self.spawn,
            policies_of=self.tenancy.effective,
        )

    async def unload_topic(self, name: TopicName) -> None:
        if not self.topic_exists(name):
            raise TopicNotFound(f"Topic {name} not found")
        async with self._leaves(str(name)):
            await self._unload(str(name))
        self.spawn(self._load_if_aging(name))

    async def _unload(self, key: str) -> None:
        topic = self.loaded.pop(key, None)
        if topic is not None:
            await topic.close()

    @contextlib.asynccontextmanager
    async def _leaves(self, key: str) -> AsyncIterator[None]:
        """One unloading or deletion of a topic at a time, and no loading meanwhile."""
        await self._settled(key)
        future = self._leaving[key] = asyncio.get_running_loop().create_future()
        try:
            if key in self._loading:
                await asyncio.wait([self._loading[key]])
            yield
        finally:
            del self._leaving[key]
            future.set_result(None)

    async def _settled(self, key: str) -> None:
        """Who comes while a topic is unloaded or deleted waits until it is; then it is loaded anew, or gone."""
        while key in self._leaving:
            await asyncio.wait([self._leaving[key]])

    async def delete_topic(self, name: TopicName, *, force: bool = False) -> None:
        """Deletes the topic with everything in it; while it is used only by `force`."""
        key = str(name)
        async with self._leaves(key):
            if not self.topic_exists(name):
                raise TopicNotFound(f"Topic {name} not found")
            if key in self.loaded and not force:
                _check_unused(self.loaded[key])
            await self._unload(key)
            await self.storage.delete_ledger(ledger_name(name))
            await self.storage.metadata.delete(TOPIC, key)
            await self.tenancy.forget_topic(name)

    # -- partitioned topics ------------------------------------------------------------------------------

    def partitions(self, name: TopicName) -> int:
        return self.tenancy.partitions(name)

    async def create_partitioned(
        self, name: TopicName, partitions: int, properties: dict[str, str] | None = None
    ) -> None:
        if self.topic_exists(name):
            raise Conflict("This topic already exists")
        await self.tenancy.create_partitioned(name, partitions, properties or {})
        await self._create_partitions(name, 0, partitions)

    async def update_partitions(self, name: TopicName, partitions: int) -> None:
        """Adds partitions; each new one gets the subscriptions of the first, at its start."""
        before = self.tenancy.partitions(name)
        await self.tenancy.update_partitions(name, partitions)
        await self._create_partitions(name, before, partitions)
        if before and partitions > before:
            await self._copy_subscriptions(name, before, partitions)

    async def create_missing_partitions(self, name: TopicName) -> None:
        """Creates again the partitions that were deleted one by one."""
        await self._create_partitions(name, 0, self.tenancy.partitions(name))

    async def _create_partitions(self, name: TopicName, first: int, end: int) -> None:
        parts = [name.partition_name(index) for index in range(first, end)]
        # Side by side, so that the metadata store commits them together.
        await asyncio.gather(*(self.create_topic(part) for part in parts if not self.topic_exists(part)))

    async def _copy_subscriptions(self, name: TopicName, first: int, end: int) -> None:
        model = await self.get_topic(name.partition_name(0))
        wanted = [one.name for one in model.subscriptions.values() if one.durable]
        for index in range(first, end):
            topic = await self.get_topic(name.partition_name(index))
            for subscription in wanted:
                await topic.subscription(subscription, durable=True, start=None, earliest=True, properties={})

    async def delete_partitioned(self, name: TopicName, *, force: bool = False) -> None:
        """Deletes all partitions, then the metadata, so that a failure midway can be tried again."""
        existing = [part for part in self._partition_names(name) if self.topic_exists(part)]
        if not force:
            for topic in (self.loaded[str(part)] for part in existing if str(part) in self.loaded):
                _check_unused(topic)
        await asyncio.gather(*(self.delete_topic(part, force=force) for part in existing))
        await self.tenancy.delete_partitioned(name)

    def _partition_names(self, name: TopicName) -> list[TopicName]:
        return [name.partition_name(index) for index in range(self.tenancy.partitions(name))]

    # -- policies ----------------------------------------------------------------------------------------

    def _policies_changed(self, namespace: NamespaceName, topic: TopicName | None) -> None:
        for loaded in self.loaded.values():
            if loaded.name.namespace == namespace and (topic is None or loaded.name.base == topic.base):
                loaded.policies_changed()
        self.spawn(self._load_aging_topics())


def ledger_name(name: TopicName) -> str:
    """The managed ledger of a topic, named as Pulsar names it: tenant/namespace/domain/encoded local name."""
    return f"{name.tenant}/{name.namespace_local}/{name.domain}/{quote(name.local, safe='')}"


def _check_unused(topic: Topic) -> None:
    if topic.producers:
        raise PreconditionFailed("Topic has active producers/subscriptions")
    if any(subscription.consumers for subscription in topic.subscriptions.values()):
        raise PreconditionFailed("Topic has active producers/subscriptions")
