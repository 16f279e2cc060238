"""Makes the topics of the broker: each over its log, with the services that all of them share."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from broker_core.dispatch.delayed.services import DelayedServices
from broker_core.dispatch.unacked_limits import BrokerUnacked
from broker_core.limits.topic_throttles import BrokerRates
from broker_core.metadata.policies.migration import Destination, destination
from broker_core.metadata.policies.system import without_limits
from broker_core.metadata.tenancy.documents import CLUSTER
from broker_core.metadata.tenancy.system_topics import is_change_events, is_system_topic
from broker_core.names import TopicName, ledger_name
from broker_core.topic.services import SegmentListener, TopicServices
from broker_core.topic.topic import Topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.clock import Clock
    from broker_core.config.broker import BrokerConfig
    from broker_core.metadata.policies.expiry_clock import ExpiryClock
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.offload.tiered_storage import TieredStorage
    from broker_core.rates.histogram import Histogram
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.engine import StorageEngine
    from broker_core.tasks import Spawn
    from broker_core.transactions.coordinator import Coordinator

COMPACTIONS_AT_A_TIME = 2  # each one holds the keys of its topic in memory


class TopicOpener:
    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        expiry: ExpiryClock,
        storage: StorageEngine,
        tenancy: Tenancy,
        spawn: Spawn,
        tier: TieredStorage,
        replication: ReplicationServices,
        publish_latency: Histogram,
        transactions: Callable[[], Coordinator | None],
        segments: Callable[[], SegmentListener],
    ) -> None:
        self._storage = storage
        self._tenancy = tenancy
        self._delayed = DelayedServices.of(config.delayed, storage, clock, spawn)
        self._services = TopicServices(
            clock=clock,
            expiry=expiry,
            limits=config.topics,
            dispatch=config.dispatch,
            entry_metadata=config.entry_metadata,
            unacked=BrokerUnacked.of(config.dispatch),
            deduplication=config.deduplication,
            compacting=asyncio.Semaphore(COMPACTIONS_AT_A_TIME),
            retain_null_key=config.policies.retain_null_key,
            delayed=self._delayed,
            spawn=spawn,
            policies_of=self.policies_of,
            rates=BrokerRates.of(config.rates, clock),
            publish_latency=publish_latency,
            backlog_quota=config.backlog_quota,
            tier=tier,
            replication=replication,
            transactions=transactions,
            segments=segments,
            moves_to=self.moves_to,
        )

    def moves_to(self, name: TopicName) -> Destination | None:
        """The cluster that the clients of the topic go to by Pulsar's flags; those of system topics stay."""
        if is_system_topic(name):
            return None
        record = self._tenancy.tool_records.get(CLUSTER, self._tenancy.cluster)
        return destination(record, namespace_migrated=self._tenancy.is_migrated(name.namespace))

    async def open(self, name: TopicName) -> Topic:
        """The topic over its log, without its subscriptions, which `Topic.load` restores."""
        if not name.is_persistent:
            from broker_core.topics.nonpersistent.topic import NonPersistentTopic

            return NonPersistentTopic(name, self._services)
        ledger = await self._storage.open_ledger(ledger_name(name))
        if is_change_events(name):
            from broker_core.topics.change_events.topic import ChangeEventsTopic

            return ChangeEventsTopic(name, ledger, self._services, self._tenancy.topic_policies)
        return Topic(name, ledger, self._services)

    def policies_of(self, name: TopicName) -> TopicPolicies:
        policies = self._tenancy.effective.of(name)
        if name.is_segment:  # copies of segments would have the layout of another cluster
            return dataclasses.replace(policies, replication_clusters=())
        return without_limits(policies) if is_system_topic(name) else policies

    def configuration_changed(self) -> None:
        """Renews the rates that all topics share; each topic applies them with its policies."""
        self._services.rates.renew(self._services.clock)

    async def close(self) -> None:
        """Closes the shared services, after the last topic."""
        await self._delayed.close()
