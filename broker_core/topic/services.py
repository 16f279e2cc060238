"""The services that the broker gives to each topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from broker_core.clock import Clock
    from broker_core.config.dispatch import DispatchConfig
    from broker_core.config.features import BacklogQuotaConfig, DeduplicationConfig, EntryMetadataConfig
    from broker_core.config.topic import TopicConfig
    from broker_core.dispatch.delayed.services import DelayedServices
    from broker_core.dispatch.unacked_limits import BrokerUnacked
    from broker_core.limits.topic_throttles import BrokerRates
    from broker_core.metadata.policies.expiry_clock import ExpiryClock
    from broker_core.metadata.policies.migration import Destination
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.names import TopicName
    from broker_core.offload.tiered_storage import TieredStorage
    from broker_core.rates.histogram import Histogram
    from broker_core.replication.services import ReplicationServices
    from broker_core.tasks import Spawn
    from broker_core.transactions.coordinator import Coordinator


class SegmentListener(Protocol):
    """The scalable topics, as a topic sees them: it may be a segment of one."""

    def segment_changed(self, name: TopicName, subscription: str) -> None:
        """A consumer of a topic has left, or a subscription has nothing left in a terminated topic."""

    def has_replaced(self, name: TopicName) -> bool:
        """Whether a regular topic became a scalable one, so that nothing creates it again."""


class TopicServices(NamedTuple):
    """The same for all topics of a broker."""

    clock: Clock
    expiry: ExpiryClock
    limits: TopicConfig
    dispatch: DispatchConfig
    entry_metadata: EntryMetadataConfig
    unacked: BrokerUnacked | None  # the broker-wide limit of unacknowledged messages, if any
    deduplication: DeduplicationConfig
    compacting: asyncio.Semaphore  # limits concurrent compactions
    retain_null_key: bool  # in compaction
    delayed: DelayedServices
    spawn: Spawn
    policies_of: Callable[[TopicName], TopicPolicies]
    rates: BrokerRates
    publish_latency: Histogram  # covers all topics
    backlog_quota: BacklogQuotaConfig
    tier: TieredStorage
    replication: ReplicationServices
    transactions: Callable[[], Coordinator | None]  # None: transactions are disabled
    segments: Callable[[], SegmentListener]  # the scalable topics, which are created after this
    moves_to: Callable[[TopicName], Destination | None]  # by the flags of the cluster and the namespace
