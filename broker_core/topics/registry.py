"""The topics that exist, and those that are loaded: loading on demand, and unloading.

A topic exists if the metadata store has its document, loaded or not. `creation` stores it, and `deletion` removes it.
A topic is loaded once; callers that arrive in the meantime wait for the same task. A topic is unloaded or deleted by
one caller at a time, and other callers wait, then load it again or find it deleted. Partitions are ordinary topics
here; `partitioned` makes one topic of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from broker_core.errors import NotAllowed, PersistenceFailed, TopicFenced, TopicMoved, TopicNotFound
from broker_core.metadata.policies.expiry_clock import ExpiryClock
from broker_core.metadata.tenancy.documents import CLUSTER
from broker_core.names import PERSISTENT, NamespaceName, TopicName, check_has_messages, parse_topic
from broker_core.rates.tally import Tally
from broker_core.rates.time_slices import sliced
from broker_core.rates.writes import milliseconds
from broker_core.replication.remote_clusters import RemoteClusters
from broker_core.replication.services import ReplicationServices
from broker_core.replication.start_position import start_position
from broker_core.storage.errors import StorageError
from broker_core.topics.always_loaded import AlwaysLoadedTopics
from broker_core.topics.auto_creation import AutoCreation
from broker_core.topics.being_deleted import BeingDeleted
from broker_core.topics.creation import TopicCreation
from broker_core.topics.deleted import DeletedTopics
from broker_core.topics.deletion import TopicDeletion
from broker_core.topics.documents import TopicDocuments
from broker_core.topics.loaded import LoadedTopics
from broker_core.topics.opening import TopicOpener
from broker_core.topics.operations import TopicOperations
from broker_core.topics.renewal import TopicRenewal

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.broker import BrokerConfig
    from broker_core.metadata.schema.registry import SchemaRegistry
    from broker_core.metadata.tenancy.documents import PropertyChange
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.offload.tiered_storage import TieredStorage
    from broker_core.rates.rate import Sampled
    from broker_core.storage.engine import StorageEngine
    from broker_core.tasks import Spawn
    from broker_core.topic.backlog_quota import BacklogQuotas
    from broker_core.topic.services import SegmentListener
    from broker_core.topic.topic import Topic
    from broker_core.transactions.coordinator import Coordinator

log = logging.getLogger(__name__)

FAILED_LOG, FAILED_START = "failed_load_ml", "failed_init"  # Pulsar's reasons of failed loads


class TopicListener(Protocol):
    def __call__(self, name: TopicName, /, *, exists: bool) -> None: ...


class TopicRegistry:
    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        storage: StorageEngine,
        tenancy: Tenancy,
        schemas: SchemaRegistry,
        spawn: Spawn,
        service_url: Callable[[], str],
        tier: TieredStorage,
        transactions: Callable[[], Coordinator | None],
        segments: Callable[[], SegmentListener],
    ) -> None:
        self._config = config
        self._clock = clock
        self._tenancy = tenancy
        self._spawn = spawn
        self._service_url = service_url
        self._stopping = False
        self.expiry = ExpiryClock(clock, config.policies)
        self.publish_latency = milliseconds()
        self.loads = Tally()
        self.load_failures = dict.fromkeys((FAILED_LOG, FAILED_START), 0)  # by their reason
        self.load_ms = milliseconds()
        self.listeners: set[TopicListener] = set()  # notified of every created or deleted topic
        self.loaded = LoadedTopics()
        self._operations = TopicOperations()
        self._documents = TopicDocuments(storage.metadata)
        self._deleted = DeletedTopics(storage.metadata, clock)
        self.being_deleted = BeingDeleted()
        self.auto_creation = AutoCreation(tenancy, self.being_deleted, segments)
        replication = self._replication_services(schemas)
        self.remotes = replication.remotes
        self.snapshots = replication.snapshots
        self._opener = TopicOpener(
            config,
            clock,
            self.expiry,
            storage,
            tenancy,
            spawn,
            tier,
            replication,
            self.publish_latency,
            transactions,
            segments,
        )
        self.always_loaded = AlwaysLoadedTopics(tenancy, self._documents, self.loaded, self.get)
        self.renewal = TopicRenewal(self.loaded, self._opener, self.always_loaded, spawn)
        self._add_creation()
        self._add_deletion(storage, schemas)

    def _replication_services(self, schemas: SchemaRegistry) -> ReplicationServices:
        config, tenancy = self._config, self._tenancy
        return ReplicationServices(
            config.server.cluster_name,
            start_position(config.replication.start_at),
            config.replication,
            RemoteClusters(lambda name: tenancy.tool_records.get(CLUSTER, name), config.security, self._spawn),
            schemas,
            tenancy.partitioned.count,
        )

    def _add_creation(self) -> None:
        self.creation = TopicCreation(
            self._tenancy,
            self._documents,
            self._deleted,
            self.being_deleted,
            self._operations,
            self._clock,
            self._created,
        )

    def _add_deletion(self, storage: StorageEngine, schemas: SchemaRegistry) -> None:
        self.deletion = TopicDeletion(
            storage,
            self._tenancy,
            schemas,
            self._documents,
            self._deleted,
            self.loaded,
            self.always_loaded,
            self._operations,
            self._gone,
        )

    # -- for clients ------------------------------------------------------------------------------------

    async def for_client(self, name: TopicName, *, create: bool = True, from_replicator: bool = False) -> Topic:
        """The topic that a producer or consumer asks for, created if `create` is set and the policies allow it.

        `from_replicator`: another cluster asks, which may not create a topic that was deleted here.
        """
        check_has_messages(name)
        if not name.is_persistent and not self._config.topics.non_persistent:
            raise NotAllowed(f"Non-persistent topics are disabled (enableNonPersistentTopics): {name}")
        if self._stopping:
            raise TopicFenced(f"Topic {name} is being unloaded: the broker stops")
        await self._operations.wait_until_idle(str(name))
        if not self.exists(name):
            if from_replicator:
                self._deleted.check(name)
            self._check_stays(name)
            self.auto_creation.check_topic(name, may_create=create)
            self.creation.quota.check(name)
            await self.create(name)
        return await self.get(name)

    def _check_stays(self, name: TopicName) -> None:
        """Raises `TopicMoved` for a topic that does not exist and belongs to another cluster now."""
        to = self._opener.moves_to(name)
        if to is not None:
            raise TopicMoved(
                f"Namespace {name.namespace} was moved to {to}: connect to that address",
                to.service_url,
                to.service_url_tls,
            )

    # -- all of them ------------------------------------------------------------------------------------

    def exists(self, name: TopicName) -> bool:
        return self._documents.get(name) is not None

    def segments(self) -> list[str]:
        """The full names of the segments of all scalable topics."""
        return self._documents.segments()

    def of_namespace(self, namespace: NamespaceName, domain: str = PERSISTENT) -> list[str]:
        """Sorted full names of the existing topics, including partitions."""
        return self._documents.of_namespace(namespace, domain)

    async def listed(
        self,
        namespace: NamespaceName,
        domain: str = PERSISTENT,
        *,
        system: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The names of `of_namespace`, in time slices; without system topics unless `system`.

        `properties`: only topics that have all of these. A partition has those of its partitioned topic.
        """
        names = await self._documents.listed(namespace, domain, system=system)
        if not properties:
            return names
        wanted = properties.items()
        return [name async for name in sliced(names) if wanted <= self.properties_of(parse_topic(name)).items()]

    async def create(self, name: TopicName, properties: dict[str, str] | None = None) -> bool:
        """Creates a topic (`TopicCreation.create`)."""
        return await self.creation.create(name, properties)

    async def delete(self, name: TopicName, *, force: bool = False) -> None:
        """Deletes a topic (`TopicDeletion.delete`)."""
        await self.deletion.delete(name, force=force)

    def _created(self, name: TopicName) -> None:
        self._tell(name, exists=True)
        if self.always_loaded.is_replicated(name):
            self._spawn(
                self.always_loaded.load_if_needed(name)
            )  # its replicators create the topic in the other clusters

    def _gone(self, name: TopicName) -> None:
        self._tell(name, exists=False)

    def _tell(self, name: TopicName, *, exists: bool) -> None:
        for listener in list(self.listeners):
            listener(name, exists=exists)

    def properties(self, name: TopicName) -> dict[str, str]:
        """The properties of a topic, partitioned or not."""
        partitioned = self._tenancy.partitioned.find(name)
        if partitioned is not None:
            return dict(partitioned.properties)
        return self._documents.read(name)[1]

    def properties_of(self, name: TopicName) -> dict[str, str]:
        """The properties of a topic; for a partition, those of its partitioned topic."""
        return self.properties(name.base if name.is_partition and self._tenancy.partitioned.count(name.base) else name)

    async def change_properties(self, name: TopicName, change: PropertyChange) -> None:
        """Changes the properties of a topic; durable on return."""
        if self._tenancy.partitioned.count(name):
            await self._tenancy.partitioned.change_properties(name, change)
            return
        async with self._operations.alone(str(name)):  # written after a deletion it would restore the topic
            document = self._documents.get(name)
            if document is None:
                raise TopicNotFound(f"Topic {name} not found")
            await self._documents.put(name, {**document, "properties": change(self.properties(name))})

    async def get(self, name: TopicName, *, create: bool = False) -> Topic:
        """The topic, loaded if necessary. Raises `TopicNotFound`."""
        key = str(name)
        await self._operations.wait_until_idle(key)
        topic = self.loaded.get(key)
        if topic is not None:
            return topic
        if not self.exists(name):
            if not create:
                raise TopicNotFound(f"Topic {name} not found")
            await self.create(name)
            return await self.get(name)
        task = self._operations.loads.get(key)
        if task is None:
            task = self._operations.loads[key] = self._spawn(self._load(name))
        return await asyncio.shield(task)

    async def _load(self, name: TopicName) -> Topic:
        key, began, failure = str(name), self._clock.monotonic(), FAILED_LOG
        try:
            topic = await self._opener.open(name)
            topic.created_ms = self._documents.read(name)[0] or topic.created_ms
            failure = FAILED_START
            try:
                await self._restore(topic)
            except Exception:
                await self._drop(topic)
                raise
            seconds = self._clock.monotonic() - began
            self.loads.add(seconds)
            self.load_ms.add(seconds * 1000)
            return topic
        except StorageError as error:
            self.loads.fail()
            self.load_failures[failure] += 1
            raise PersistenceFailed(f"{name}: {error}") from error
        finally:
            del self._operations.loads[key]

    async def _restore(self, topic: Topic) -> None:
        await topic.load()
        self.loaded.add(topic)
        if topic.policies != self._opener.policies_of(topic.name):
            await topic.policies_changed()  # changes during the load did not reach it

    async def _drop(self, topic: Topic) -> None:
        """Closes a topic whose load failed: its replicators, for one, must not run beside those of the next load."""
        self.loaded.pop(str(topic.name))
        try:
            await topic.close()
        except (StorageError, OSError) as error:
            log.warning("topic %s: cannot close it after a failed load: %s", topic.name, error)

    async def unload(self, name: TopicName) -> None:
        if not self.exists(name):
            raise TopicNotFound(f"Topic {name} not found")
        async with self._operations.alone(str(name)):
            await self.loaded.close(str(name), served_at=self._service_url())
            if not name.is_persistent:  # it has no data; the next client creates it again
                await self._documents.delete(name)
        self._spawn(self.always_loaded.load_if_needed(name))

    async def unload_if(self, topic: Topic, still: Callable[[], bool]) -> bool:
        """Unloads a loaded topic if `still()` agrees once no client can reach the topic any longer."""
        key = str(topic.name)
        async with self._operations.alone(key):
            is_due = self.loaded.get(key) is topic and still()
            if is_due:
                await self.loaded.close(key, served_at=self._service_url())
            return is_due

    # -- life -------------------------------------------------------------------------------------------

    def backlog_quotas(self) -> list[BacklogQuotas]:
        """The quotas of every loaded topic."""
        return [topic.quotas for topic in self.loaded.values()]

    @property
    def loading(self) -> int:
        """The number of topics that are being loaded."""
        return len(self._operations.loads)

    def sampled(self) -> Iterator[Sampled]:
        """The counters that are measured over the last minute."""
        yield self.publish_latency
        yield self.load_ms
        for topic in list(self.loaded.values()):
            yield topic.writes
            yield from topic.rates()

    async def stop(self) -> None:
        """Unloads every topic and loads none from now on."""
        self._stopping = True
        unloaded = await asyncio.gather(*(self.loaded.close(key) for key in list(self.loaded)), return_exceptions=True)
        for error in unloaded:
            if isinstance(error, Exception):
                log.error("cannot unload a topic cleanly: %s", error)
        await self._opener.close()
        self.remotes.close()
