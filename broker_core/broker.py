"""The broker's life cycle: start and stop in order, its tasks, its connections, and the names of producers.

`topics.registry` knows which topics exist and which are loaded, `topics.partitioned` the partitioned ones.

The two paths of a message (each arrow carries a run of messages, never one):

    in:   socket -> Connection -> FrameDecoder -> handlers.publish.on_run -> Producer.publish -> Topic.publish
          -> ManagedLedger.append -> Journal group commit (one fsync) -> SEND_RECEIPT
    out:  Dispatcher wakes (entries, permits, redelivery) -> ManagedLedger.read -> policy picks a consumer
          -> Consumer.deliver -> Connection.send -> socket

The receipt is sent only after the fsync. There is one event loop; work that may wait for a disk runs in the storage's
threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from broker_core import __version__
from broker_core.client import Unsent
from broker_core.clock import Clock, SystemClock
from broker_core.config import descriptors
from broker_core.config.dynamic import DynamicSettings
from broker_core.config.listeners import ListenerUrls, advertised_listeners
from broker_core.config.setting import MB
from broker_core.errors import NotAllowed, UnknownListener
from broker_core.limits.incomplete_frames import IncompleteFrames
from broker_core.metadata.policies.offload_policies import OffloadRules
from broker_core.metadata.schema.described import described
from broker_core.metadata.schema.registry import SchemaRegistry
from broker_core.metadata.tenancy.cluster_name import claim
from broker_core.metadata.tenancy.system_topics import is_coordinator
from broker_core.metadata.tenancy.tenancy import Tenancy
from broker_core.names import TopicName, topic_of_ledger
from broker_core.offload.tiered_storage import TieredStorage
from broker_core.rates.rate import sample_forever
from broker_core.rates.tally import Tally
from broker_core.scalable.topics import ScalableTopics
from broker_core.security.connection_count import ConnectionCount
from broker_core.security.open_ports import without_certificates
from broker_core.security.secret_files import open_to_others
from broker_core.security.service import Security
from broker_core.storage.engine import StorageEngine
from broker_core.topic.backlog_quota import check_forever
from broker_core.topics.inactivity import Inactivity
from broker_core.topics.partitioned import PartitionedTopics
from broker_core.topics.policy_announcer import PolicyAnnouncer
from broker_core.topics.registry import TopicRegistry
from broker_core.wire.bounds import CommandBounds

if TYPE_CHECKING:
    from pathlib import Path

    from broker_core.config.broker import BrokerConfig
    from broker_core.storage.disk import Disk
    from broker_core.storage.errors import DamageReport
    from broker_core.topic.topic import Topic
    from broker_core.transactions.coordinator import Coordinator

log = logging.getLogger(__name__)

INSTANCE = "instance"  # kind of the document that counts the starts of this instance


class OpenConnection(Protocol):
    """A client's connection as the broker sees it."""

    @property
    def host(self) -> str:
        """The client's address without its port."""

    @property
    def descriptor(self) -> int:
        """The number of its socket."""

    @property
    def is_held(self) -> bool:
        """Whether the broker reads nothing from it for now."""

    @property
    def requests(self) -> int:
        """How many lookups and other requests are in flight."""

    def close(self) -> None:
        """Sends what is queued, then closes."""

    def permissions_changed(self) -> None:
        """Closes what the client's role may no longer have."""


class Broker:
    version = __version__

    def __init__(self, config: BrokerConfig, *, clock: Clock | None = None) -> None:
        self.config = config.copy()  # its dynamic settings change
        self.clock = clock or SystemClock()
        self.connections: set[OpenConnection] = set()
        self._connection_count = ConnectionCount(
            config.connection.max_connections, config.connection.max_connections_per_ip
        )
        self.security = Security(config.security, config.openid, self.clock, self.spawn)
        self.command_bounds = CommandBounds(config.by_key())
        limits = config.connection
        self.incomplete_frames = IncompleteFrames(
            limits.max_incomplete_mb * MB, limits.incomplete_seconds, self.clock.monotonic
        )
        self.listeners = advertised_listeners(config.server.advertised_listeners, config.server.internal_listener)
        self.bound_listeners: dict[tuple[str, int], str] = {}  # by `bindAddresses`; "" is any host
        self.is_leaving = False  # load balancers should send no more clients
        self.service_url = self.http_url = ""  # without a plain listener
        self.service_url_tls = self.http_url_tls = ""  # without a TLS listener
        self.started_ms = 0
        self.admissions = Tally()  # of connections
        self.lookups = Tally()
        self.on_shutdown: Callable[[], None] | None = None  # ends the process, if this broker is its purpose
        self.unsent: Unsent
        self.storage: StorageEngine
        self.tier: TieredStorage
        self.settings: DynamicSettings
        self.tenancy: Tenancy
        self.topics: TopicRegistry
        self.partitioned: PartitionedTopics
        self.scalable: ScalableTopics
        self._coordinator: Coordinator | None = None
        self.inactivity: Inactivity
        self.schemas: SchemaRegistry
        self._tasks: set[asyncio.Task[Any]] = set()
        self._instance: asyncio.Task[int] | None = None
        self._producers_named = 0

    @property
    def main_service_url(self) -> str:
        return self.service_url or self.service_url_tls

    @property
    def main_http_url(self) -> str:
        return self.http_url or self.http_url_tls

    # -- life --------------------------------------------------------------------------------------------

    async def start(self, directory: Path, *, disk: Disk | None = None) -> None:
        """Opens the data directory (lock, recovery) and the tenants; topics are loaded on first use.

        Raises `OtherCluster`, `StorageError`, `OSError`.
        """
        await self._open_storage(directory, disk)
        await self._open_tenancy()
        self._start_security()
        self._create_topics()
        self._follow_changes()
        self.started_ms = self.clock.wall_ms()
        self._start_tasks()

    async def _open_storage(self, directory: Path, disk: Disk | None) -> None:
        cluster = self.config.server.cluster_name
        self.tier = TieredStorage(self.config.offload, cluster, self.clock, self._offload_rules, self._offload_schemas)
        self.unsent = Unsent()
        self.storage = await StorageEngine.open(
            directory,
            self.config.storage,
            disk=disk,
            clock=self.clock,
            copies=self.tier.reader,
            answers=self.unsent,
        )
        try:
            await claim(self.storage.metadata, cluster)
        except BaseException:
            await self.storage.close()
            raise
        await self.tier.open(self.storage)

    async def _open_tenancy(self) -> None:
        self.settings = DynamicSettings(self.config, self.storage.metadata, self._settings_changed)
        self.tenancy = await Tenancy.open(self.storage.metadata, self.config)

    def _start_security(self) -> None:
        self.security.use(self.tenancy)
        for warning in (*open_to_others(self.config), *without_certificates(self.config)):
            log.warning(warning)
        self.security.audit.start()

    def _create_topics(self) -> None:
        self.schemas = SchemaRegistry(self.storage.metadata, self.clock, self.config.schema, self.spawn)
        if self.storage.transactions.open():
            self._coordinator = self._new_coordinator()  # they may time out, also if transactions are disabled now
        self.topics = TopicRegistry(
            self.config,
            self.clock,
            self.storage,
            self.tenancy,
            self.schemas,
            self.spawn,
            lambda: self.service_url,
            self.tier,
            lambda: self.transactions,
            lambda: self.scalable,
        )
        self.partitioned = PartitionedTopics(self.topics, self.tenancy, self.spawn)
        self.scalable = ScalableTopics(
            self.storage.metadata,
            self.topics,
            self.partitioned,
            self.tenancy,
            self.config.scalable,
            self.config.scaling,
            self.config.dispatch,
            self.clock,
            self.spawn,
        )
        self.inactivity = Inactivity(self.topics, self.partitioned, self.config.inactive, self.clock)

    def _follow_changes(self) -> None:
        self.tenancy.on_change(self.topics.renewal.policies_changed)
        self.tenancy.on_change(self.scalable.policies_changed)
        if self.security.authorization is not None:
            self.tenancy.on_permissions(self._permissions_changed)

    def _start_tasks(self) -> None:
        self.spawn(self.partitioned.finish_updates())
        if self.config.scalable.enabled:
            self.scalable.expect_consumers()
            self.spawn(self.scalable.start())
            self.spawn(self.scalable.collection.watch())
            self.spawn(self.scalable.scaling.watch())
        self.spawn(self.topics.always_loaded.load_all())
        self.spawn(PolicyAnnouncer(self.topics, self.tenancy, self.schemas, self.clock).run())
        self.spawn(self.tier.remove_unwanted())
        self.spawn(sample_forever(lambda: chain(self.storage.cache.traffic.rates(), self.topics.sampled())))
        self.spawn(self.inactivity.watch_topics())
        self.spawn(self.inactivity.watch_subscriptions())
        self.spawn(check_forever(self.topics.backlog_quotas, self.config.backlog_quota.check_seconds))

    async def _settings_changed(self) -> None:
        """A dynamic setting changed: renews what was derived from it."""
        self.tenancy.effective.forget_all()
        self.scalable.groups.assign_all()
        await self.topics.renewal.configuration_changed()

    async def stop(self) -> None:
        """Mirrors `start`: clients are told to reconnect, everything acknowledged is synced, the lock is released."""
        if self._coordinator is not None:
            self._coordinator.close()
        self.scalable.close()
        await self.topics.stop()
        for connection in list(self.connections):
            connection.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.schemas.close()
        await self.storage.read_thread(self.tier.close)
        await self.storage.read_thread(self.security.audit.close)
        await self.storage.close()

    @property
    def transactions(self) -> Coordinator | None:
        """None if transactions are disabled. A broker whose clients use none does not load the coordinator."""
        if not self.config.transactions.enabled:
            return None
        if self._coordinator is None:
            self._coordinator = self._new_coordinator()
        return self._coordinator

    def coordinators_of(self, name: TopicName) -> int | None:
        """The number of transaction coordinators that the name stands for; None if it is a topic."""
        if not is_coordinator(name) or name.is_partition or self.transactions is None:
            return None
        return self.transactions.count

    def _new_coordinator(self) -> Coordinator:
        from broker_core.transactions.coordinator import Coordinator

        return Coordinator(
            self.config.transactions, self.clock, self.storage.transactions, self.spawn, self._participant
        )

    def _participant(self, ledger_name: str) -> Topic | None:
        return self.topics.loaded.get(str(topic_of_ledger(ledger_name)))

    def _permissions_changed(self) -> None:
        for connection in list(self.connections):
            connection.permissions_changed()

    def _offload_rules(self, ledger_name: str) -> OffloadRules:
        return self.tenancy.effective.of(topic_of_ledger(ledger_name)).offload_rules(self.config.offload)

    def _offload_schemas(self, ledger_name: str) -> list[dict[str, Any]]:
        return [described(stored) for stored in self.schemas.versions(topic_of_ledger(ledger_name))]

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs work concurrently with its caller; the broker owns the task, logs its failure, and ends it at stop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed: %r", task.get_coro(), error, exc_info=error)

    async def accept_loss(self) -> list[DamageReport]:
        """Accepts all damage as lost, so that subscriptions continue after it; durable on return.

        Returns what was not accepted before.
        """
        accepted = await self.storage.accept_loss()
        for topic in list(self.topics.loaded.values()):
            for subscription in topic.subscriptions.values():
                subscription.delivery.dispatcher.reader.retry()
        return accepted

    def request_shutdown(self) -> None:
        """Ends the process as a signal does; raises `NotAllowed` in a process that has other work."""
        if self.on_shutdown is None:
            raise NotAllowed("cannot shut down: the broker runs inside another program; end that program")
        self.on_shutdown()

    def admit(self, connection: OpenConnection) -> str:
        """Admits a new connection; returns the reason if there are too many, else ""."""
        if descriptors.are_scarce(connection.descriptor):
            refusal = descriptors.TOO_MANY
        else:
            refusal = self._connection_count.take(connection.host)
        if refusal:
            self.admissions.fail()
        else:
            self.admissions.add()
            self.connections.add(connection)
        return refusal

    def left(self, connection: OpenConnection) -> None:
        """A connection has ended, admitted or not."""
        if connection in self.connections:
            self.connections.remove(connection)
            self._connection_count.free(connection.host)

    def addresses(self, listener: str) -> ListenerUrls:
        """The addresses in the answer to a lookup for a listener, or for none; raises `UnknownListener`."""
        name = listener.strip()
        if name:
            if name not in self.listeners.by_name:
                raise UnknownListener(f"the broker do not have {name} listener")  # C++ tests look for these words
            return self.listeners.by_name[name]
        own = (self.service_url, self.service_url_tls, self.http_url, self.http_url_tls)
        return ListenerUrls(*(url or mine for url, mine in zip(self.listeners.internal, own, strict=True)))

    def listener_at(self, own_end: tuple[Any, ...] | None) -> str:
        """The listener of the connections to that address and port of this machine; "" for those that have none."""
        if own_end is None or not self.bound_listeners:
            return ""
        host, port = own_end[:2]
        return self.bound_listeners.get((host, port)) or self.bound_listeners.get(("", port), "")

    async def new_producer_name(self) -> str:
        """A name that no producer of this data directory has had: cluster, start of the instance, counter."""
        if self._instance is None or (self._instance.done() and self._instance.exception() is not None):
            self._instance = self.spawn(self._count_start())
        # A caller may be canceled; all callers share the count.
        instance = await asyncio.shield(self._instance)
        name = f"{self.config.server.cluster_name}-{instance}-{self._producers_named}"
        self._producers_named += 1
        return name

    async def _count_start(self) -> int:
        document = self.storage.metadata.get(INSTANCE, "starts") or {"count": 0}
        await self.storage.metadata.put(INSTANCE, "starts", {"count": document["count"] + 1})
        return int(document["count"])
