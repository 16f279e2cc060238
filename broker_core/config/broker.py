"""The broker's configuration: one frozen object in sections, each field named by its Pulsar key.

A part of the broker receives its section, never the whole. `setting(...)` gives a field its Pulsar key, its
default and its one sentence; `conf/standalone.yaml` is generated from these. Sections of features that policies
turn on and off are in `features`, what bounds the commands of clients is in `commands`, what bounds their HTTP
requests in `http`, and dispatch has `dispatch`. Sizes are in bytes unless the key says otherwise; -1 or 0 mean "no
limit" where the sentence says so. Where values come from is the business of `sources`.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from broker_core.config.commands import CommandConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.config.features import (
    BacklogQuotaConfig,
    DeduplicationConfig,
    DelayedConfig,
    InactiveConfig,
    RateConfig,
    SchemaConfig,
    TopicListConfig,
)
from broker_core.config.http import HttpConfig
from broker_core.config.setting import MB, setting

DEFAULT_MOST_PARTITIONS = 10_000
MOST_PARTITIONS = 100_000
MOST_BUNDLES = 65_536


@dataclass(frozen=True, slots=True)
class ServerConfig:
    cluster_name: str = setting("clusterName", "standalone", "Name of the cluster; part of generated producer names.")
    bind_address: str = setting(
        "bindAddress", "", "Address to listen on; empty means the loopback addresses 127.0.0.1 and ::1."
    )
    advertised_address: str = setting("advertisedAddress", "localhost", "Host name that look-ups answer with.")
    broker_port: int = setting(
        "brokerServicePort", 6650, "Port of the binary protocol; 0 takes a free one.", least=0, most=65_535
    )
    web_port: int = setting(
        "webServicePort", 8080, "Port of the admin REST API; 0 takes a free one.", least=0, most=65_535
    )
    allowed_hosts: str = setting(
        "webServiceAllowedHosts",
        "",
        "Further host names by which the admin API may be reached over loopback, and whose web pages may use it;"
        " separated by commas, or * for all names.",
    )
    shutdown_timeout_ms: int = setting(
        "brokerShutdownTimeoutMs", 10_000, "Longest time a clean stop may take (ms).", least=0
    )


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    max_message_size: int = setting("maxMessageSize", 5 * MB, "Largest payload of a message (bytes).", least=1)
    keep_alive_seconds: float = setting(
        "keepAliveIntervalSeconds", 30, "Interval of PING in both directions (s).", least=0.01
    )
    liveness_timeout_ms: int = setting(
        "connectionLivenessCheckTimeoutMillis",
        5_000,
        "How long a connection that holds a wanted name may take to answer a PING (ms); 0: never asked.",
    )
    max_connections: int = setting("brokerMaxConnections", 0, "Most connections at a time; 0 is no limit.", least=0)
    max_connections_per_ip: int = setting(
        "brokerMaxConnectionsPerIp", 0, "Most connections from one address at a time; 0 is no limit.", least=0
    )
    max_pending_publishes: int = setting(
        "maxPendingPublishRequestsPerConnection",
        20_000,
        "Unacknowledged publishes at which a connection is not read.",
        least=1,
    )
    max_non_persistent: int = setting(
        "maxConcurrentNonPersistentMessagePerConnection",
        1000,
        "Messages of non-persistent topics under way at which a connection's next ones are dropped.",
        least=1,
    )
    max_incomplete_mb: int = setting(
        "maxIncompleteFramesSizeInMB",
        64,
        "Unfinished commands and messages of all connections at which large ones wait for each other (MB).",
        least=1,
    )
    incomplete_seconds: float = setting(
        "incompleteFrameTimeoutSeconds",
        15,
        "How long one may take to arrive while there are more of them than that (s); then its connection is closed.",
        least=0.1,
    )
    write_buffer_bytes: int = setting(
        "connectionWriteBufferBytes",
        MB // 8,
        "Unsent bytes at which a consumer's connection gets no more messages.",
        least=1,
    )
    max_consumer_metadata_size: int = setting(
        "maxConsumerMetadataSize", 1024, "Most metadata of a consumer (bytes).", least=0
    )
    max_lookups: int = setting(
        "maxConcurrentLookupRequest", 50_000, "Requests of a connection in flight; more are refused.", least=1
    )


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """The storage engine's section; `broker_core.storage` knows nothing else of this package."""

    journal_directory: str = setting("journalDirectory", "", "Where the journal lies; empty: in the data directory.")
    journal_sync: bool = setting("journalSyncData", True, "Whether a receipt waits for the disk (fsync).")
    journal_pace_ms: float = setting(
        "journalMaxGroupWaitMSec",
        5.0,
        "Longest pause before the next sync while a stream of batches arrives (ms); a tenth of it at moderate rates.",
        least=0,
    )
    journal_max_mb: int = setting("journalMaxSizeMB", 256, "Most journal between two checkpoints (MB).", least=1)
    checkpoint_seconds: float = setting(
        "flushInterval", 60.0, "Longest time between two checkpoints (ms).", scale=0.001, least=0.01
    )
    max_entries_per_ledger: int = setting(
        "managedLedgerMaxEntriesPerLedger", 50_000, "Entries at which a ledger rolls.", least=1
    )
    max_ledger_mb: int = setting(
        "managedLedgerMaxSizePerLedgerMbytes", 2048, "Size at which a ledger rolls (MB).", least=1
    )
    min_rollover_minutes: float = setting(
        "managedLedgerMinLedgerRolloverTimeMinutes",
        0,
        "Youngest age at which entries or size roll a ledger (min).",
        least=0,
    )
    max_rollover_minutes: float = setting(
        "managedLedgerMaxLedgerRolloverTimeMinutes", 240, "Age at which a ledger with entries rolls (min)."
    )
    write_buffer_mb: int = setting(
        "maxMessagePublishBufferSizeInMB",
        32,
        "Accepted bytes not yet in a ledger file at which producers wait (MB).",
        least=1,
    )
    cache_mb: int = setting("managedLedgerCacheSizeMB", 32, "Memory for entries that were just written (MB).", least=0)
    index_cache_mb: int = setting(
        "ledgerIndexCacheSizeMB", 16, "Memory for the indexes of sealed ledgers (MB).", least=0
    )
    open_files: int = setting("ledgerOpenFilesLimit", 64, "Ledger files held open at a time.", least=1)
    ack_flush_ms: int = setting(
        "managedLedgerCursorPositionFlushMillis",
        500,
        "Longest time an ack waits for the journal (ms).",
        least=0,
    )
    auto_skip_lost: bool = setting(
        "autoSkipNonRecoverableData",
        False,
        "Whether readers pass over entries that cannot be read, instead of waiting until the loss is accepted.",
    )
    reserve_mb: int = setting(
        "diskReserveMB", 8, "Disk space kept free for acknowledgements when the disk is full (MB).", least=0
    )


@dataclass(frozen=True, slots=True)
class TopicConfig:
    allow_auto_creation: bool = setting("allowAutoTopicCreation", True, "Whether use creates a missing topic.")
    auto_creation_type: str = setting(
        "allowAutoTopicCreationType",
        "non-partitioned",
        "Kind of an automatically created topic, or `partitioned`.",
        choices=("non-partitioned", "partitioned"),
    )
    default_partitions: int = setting(
        "defaultNumPartitions", 1, "Partitions of an automatically created topic.", least=1
    )
    compaction_seconds: int = setting(
        "brokerServiceCompactionMonitorIntervalInSeconds",
        60,
        "Shortest time between two compactions that a topic begins by itself (s).",
        least=0,
    )
    non_persistent: bool = setting("enableNonPersistentTopics", True, "Whether there may be non-persistent topics.")
    allow_auto_subscription: bool = setting(
        "allowAutoSubscriptionCreation", True, "Whether subscribing creates a missing subscription."
    )
    batch_index_acks: bool = setting(
        "acknowledgmentAtBatchIndexLevelEnabled",
        True,
        "Whether the messages of a batch are acknowledged one by one, where clients ask for it.",
    )
    max_partitions: int = setting(
        "maxNumPartitionsPerPartitionedTopic",
        0,
        f"Most partitions of a topic; 0 is {DEFAULT_MOST_PARTITIONS}.",
        least=0,
        most=MOST_PARTITIONS,
    )
    max_producers: int = setting("maxProducersPerTopic", 0, "Most producers of a topic; 0 is no limit.", least=0)
    max_same_address_producers: int = setting(
        "maxSameAddressProducersPerTopic", 0, "Most producers of a topic from one address; 0 is no limit.", least=0
    )
    max_same_address_consumers: int = setting(
        "maxSameAddressConsumersPerTopic", 0, "Most consumers of a topic from one address; 0 is no limit.", least=0
    )
    max_consumers: int = setting("maxConsumersPerTopic", 0, "Most consumers of a topic; 0 is no limit.", least=0)
    max_consumers_per_subscription: int = setting(
        "maxConsumersPerSubscription", 0, "Most consumers of a subscription; 0 is no limit.", least=0
    )
    max_subscriptions: int = setting(
        "maxSubscriptionsPerTopic", 0, "Most subscriptions of a topic; 0 is no limit.", least=0
    )
    max_topics: int = setting(
        "maxTopicsPerNamespace", 0, "Most topics of a namespace, each partition by itself; 0 is no limit.", least=0
    )
    subscription_types: str = setting(
        "subscriptionTypesEnabled",
        "Exclusive,Shared,Failover,Key_Shared",
        "Kinds of subscriptions that may be made, with commas.",
    )
    subscription_expiration_minutes: int = setting(
        "subscriptionExpirationTimeMinutes",
        0,
        "How long a subscription may go without a consumer before it is deleted (min); 0 is for ever.",
        least=0,
    )
    encryption_required: bool = setting(
        "encryptionRequireOnProducer", False, "Whether producers must encrypt, everywhere."
    )

    @property
    def partition_limit(self) -> int:
        """The most partitions that a topic may get; never without bound, since each of them costs."""
        return self.max_partitions or DEFAULT_MOST_PARTITIONS


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    retention_minutes: int = setting(
        "defaultRetentionTimeInMinutes", 0, "Minutes that acknowledged messages are kept.", least=-1
    )
    retention_mb: int = setting(
        "defaultRetentionSizeInMB", 0, "Megabytes of acknowledged messages that are kept.", least=-1
    )
    open_ledger_seconds: int = setting(
        "retentionOpenLedgerSeconds",
        60,
        "How long after the last message the newest ones stay to be read again where no retention is set (s).",
        least=0,
    )
    ttl_seconds: int = setting(
        "ttlDurationDefaultInSeconds",
        0,
        "Age at which messages count as acknowledged (s); 0 is never.",
        least=0,
    )
    clock_tolerance_seconds: int = setting(
        "expiryClockToleranceSeconds",
        60,
        "How far the wall clock may run ahead of elapsed time before messages expire by elapsed time instead (s).",
        least=1,
    )
    clock_proof_seconds: int = setting(
        "expiryClockProofSeconds",
        3600,
        "How long a wall clock that jumped ahead must keep its time before messages expire by it (s).",
        least=0,
    )
    compaction_threshold: int = setting(
        "brokerServiceCompactionThresholdInBytes",
        0,
        "Backlog at which a topic compacts itself (bytes); 0 is never.",
        least=0,
    )
    retain_null_key: bool = setting(
        "topicCompactionRetainNullKey", False, "Whether compaction keeps messages without a key."
    )
    force_delete_tenant: bool = setting(
        "forceDeleteTenantAllowed", False, "Whether a tenant may be deleted with its namespaces."
    )
    force_delete_namespace: bool = setting(
        "forceDeleteNamespaceAllowed", False, "Whether a namespace may be deleted with its topics."
    )
    topic_policies: bool = setting("topicLevelPoliciesEnabled", True, "Whether a topic may have policies of its own.")
    default_bundles: int = setting("defaultNumberOfNamespaceBundles", 4, "Bundles shown for a new namespace.", least=1)
    most_bundles: int = setting(
        "maxNumberOfNamespaceBundles",
        4096,
        "Most bundles that a namespace may be created with.",
        least=1,
        most=MOST_BUNDLES,
    )


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    server: ServerConfig = field(default_factory=ServerConfig)
    connection: ConnectionConfig = field(default_factory=ConnectionConfig)
    commands: CommandConfig = field(default_factory=CommandConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    storage: StorageConfig = field(default_factory=StorageConfig)
    topics: TopicConfig = field(default_factory=TopicConfig)
    topic_lists: TopicListConfig = field(default_factory=TopicListConfig)
    dispatch: DispatchConfig = field(default_factory=DispatchConfig)
    policies: PolicyConfig = field(default_factory=PolicyConfig)
    rates: RateConfig = field(default_factory=RateConfig)
    backlog_quota: BacklogQuotaConfig = field(default_factory=BacklogQuotaConfig)
    deduplication: DeduplicationConfig = field(default_factory=DeduplicationConfig)
    delayed: DelayedConfig = field(default_factory=DelayedConfig)
    inactive: InactiveConfig = field(default_factory=InactiveConfig)
    schema: SchemaConfig = field(default_factory=SchemaConfig)

    def replace(self, **sections: Any) -> "BrokerConfig":
        return dataclasses.replace(self, **sections)

    def by_key(self) -> dict[str, Any]:
        """Every value by the key of its setting."""
        return {described.metadata["setting"].key: value for _, described, value in self.settings()}

    def settings(self) -> Iterator[tuple[str, dataclasses.Field[Any], Any]]:
        """Every setting: the name of its section, its field (`.type`, `.metadata["setting"]`), its value."""
        for section in dataclasses.fields(self):
            part = getattr(self, section.name)
            for described in dataclasses.fields(part):
                yield section.name, described, getattr(part, described.name)
