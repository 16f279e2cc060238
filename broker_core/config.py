"""The broker's configuration: one frozen object in sections, each field named by its Pulsar key.

A part of the broker receives its section, never the whole. `setting(...)` gives a field its Pulsar key, its
default and its one sentence; `conf/standalone.yaml` is generated from these. Sizes are in bytes unless the
key says otherwise; -1 or 0 mean "no limit" where the sentence says so.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

MB = 1 << 20


def setting(key: str, default: Any, doc: str) -> Any:
    """A configuration field: its key in Pulsar's own files, its default, and one sentence about it."""
    return field(default=default, metadata={"key": key, "doc": doc})


@dataclass(frozen=True, slots=True)
class ServerConfig:
    cluster_name: str = setting("clusterName", "standalone", "Name of the cluster; part of generated producer names.")
    bind_address: str = setting(
        "bindAddress", "", "Address to listen on; empty means the loopback addresses 127.0.0.1 and ::1."
    )
    advertised_address: str = setting("advertisedAddress", "localhost", "Host name that look-ups answer with.")
    broker_port: int = setting("brokerServicePort", 6650, "Port of the binary protocol; 0 takes a free one.")
    web_port: int = setting("webServicePort", 8080, "Port of the admin REST API; 0 takes a free one.")
    shutdown_timeout_ms: int = setting("brokerShutdownTimeoutMs", 10_000, "Longest time a clean stop may take (ms).")


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    max_message_size: int = setting("maxMessageSize", 5 * MB, "Largest payload of a message (bytes).")
    keep_alive_seconds: float = setting("keepAliveIntervalSeconds", 30, "Interval of PING in both directions (s).")
    liveness_timeout_ms: int = setting(
        "connectionLivenessCheckTimeoutMillis",
        5_000,
        "How long a connection that holds a wanted name may take to answer a PING (ms); 0 or less: never asked.",
    )
    max_connections: int = setting("brokerMaxConnections", 0, "Most connections at a time; 0 is no limit.")
    max_pending_publishes: int = setting(
        "maxPendingPublishRequestsPerConnection", 20_000, "Unacknowledged publishes at which a connection is not read."
    )
    publish_buffer_mb: int = setting(
        "maxMessagePublishBufferSizeInMB", 48, "Unsynced bytes of all connections at which none is read (MB)."
    )
    write_buffer_bytes: int = setting(
        "connectionWriteBufferBytes", 1 * MB, "Unsent bytes at which a consumer's connection gets no more messages."
    )
    max_consumer_metadata_size: int = setting("maxConsumerMetadataSize", 1024, "Most metadata of a consumer (bytes).")
    max_lookups: int = setting("maxConcurrentLookupRequest", 50_000, "Look-ups in flight; more are refused.")


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """The storage engine's section; `broker_core.storage` knows nothing else of this package."""

    journal_directory: str = setting("journalDirectory", "", "Where the journal lies; empty: in the data directory.")
    journal_sync: bool = setting("journalSyncData", True, "Whether a receipt waits for the disk (fsync).")
    journal_pace_ms: float = setting(
        "journalMaxGroupWaitMSec", 1.0, "Pause before the next sync while messages keep arriving (ms)."
    )
    journal_max_mb: int = setting("journalMaxSizeMB", 256, "Most journal between two checkpoints (MB).")
    checkpoint_seconds: float = setting("flushInterval", 60.0, "Longest time between two checkpoints (s).")
    max_entries_per_ledger: int = setting("managedLedgerMaxEntriesPerLedger", 50_000, "Entries at which a ledger rolls.")
    max_ledger_mb: int = setting("managedLedgerMaxSizePerLedgerMbytes", 2048, "Size at which a ledger rolls (MB).")
    min_rollover_minutes: float = setting(
        "managedLedgerMinLedgerRolloverTimeMinutes", 0, "Youngest age at which entries or size roll a ledger (min)."
    )
    max_rollover_minutes: float = setting(
        "managedLedgerMaxLedgerRolloverTimeMinutes", 240, "Age at which a ledger with entries rolls (min)."
    )
    cache_mb: int = setting("managedLedgerCacheSizeMB", 32, "Memory for entries that were just written (MB).")
    index_cache_mb: int = setting("ledgerIndexCacheSizeMB", 16, "Memory for the indexes of sealed ledgers (MB).")
    open_files: int = setting("ledgerOpenFilesLimit", 64, "Ledger files held open at a time.")
    ack_flush_ms: int = setting("managedLedgerCursorPositionFlushMillis", 500, "Longest time an ack waits for the journal (ms).")
    reserve_mb: int = setting("diskReserveMB", 8, "Disk space kept free for acknowledgements when the disk is full (MB).")


@dataclass(frozen=True, slots=True)
class TopicConfig:
    allow_auto_creation: bool = setting("allowAutoTopicCreation", True, "Whether use creates a missing topic.")
    auto_creation_type: str = setting(
        "allowAutoTopicCreationType", "non-partitioned", "Kind of an automatically created topic, or `partitioned`."
    )
    default_partitions: int = setting("defaultNumPartitions", 1, "Partitions of an automatically created topic.")
    allow_auto_subscription: bool = setting(
        "allowAutoSubscriptionCreation", True, "Whether subscribing creates a missing subscription."
    )
    max_partitions: int = setting("maxNumPartitionsPerPartitionedTopic", 0, "Most partitions of a topic; 0 is no limit.")
    max_producers: int = setting("maxProducersPerTopic", 0, "Most producers of a topic; 0 is no limit.")
    max_consumers: int = setting("maxConsumersPerTopic", 0, "Most consumers of a topic; 0 is no limit.")
    max_consumers_per_subscription: int = setting(
        "maxConsumersPerSubscription", 0, "Most consumers of a subscription; 0 is no limit."
    )
    max_subscriptions: int = setting("maxSubscriptionsPerTopic", 0, "Most subscriptions of a topic; 0 is no limit.")


@dataclass(frozen=True, slots=True)
class DispatchConfig:
    read_batch_entries: int = setting("dispatcherMaxReadBatchSize", 1000, "Entries read for consumers at a time.")
    read_batch_bytes: int = setting("dispatcherMaxReadSizeBytes", 1 * MB, "Bytes read for consumers at a time.")
    round_robin_messages: int = setting(
        "dispatcherMaxRoundRobinBatchSize", 20, "Messages a consumer of a Shared subscription gets in its turn."
    )
    max_unacked_per_consumer: int = setting(
        "maxUnackedMessagesPerConsumer", 50_000, "Unacknowledged messages at which a consumer gets no more; 0 is no limit."
    )
    max_unacked_per_subscription: int = setting(
        "maxUnackedMessagesPerSubscription", 200_000, "Unacknowledged messages at which dispatch stops; 0 is no limit."
    )


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    retention_minutes: int = setting("defaultRetentionTimeInMinutes", 0, "Minutes that acknowledged messages are kept.")
    retention_mb: int = setting("defaultRetentionSizeInMB", 0, "Megabytes of acknowledged messages that are kept.")
    ttl_seconds: int = setting("ttlDurationDefaultInSeconds", 0, "Age at which messages count as acknowledged (s); 0 is never.")
    compaction_threshold: int = setting(
        "brokerServiceCompactionThresholdInBytes", 0, "Backlog at which a topic compacts itself (bytes); 0 is never."
    )
    retain_null_key: bool = setting("topicCompactionRetainNullKey", False, "Whether compaction keeps messages without a key.")
    force_delete_tenant: bool = setting("forceDeleteTenantAllowed", False, "Whether a tenant may be deleted with its namespaces.")
    force_delete_namespace: bool = setting(
        "forceDeleteNamespaceAllowed", False, "Whether a namespace may be deleted with its topics."
    )
    topic_policies: bool = setting("topicLevelPoliciesEnabled", True, "Whether a topic may have policies of its own.")
    default_bundles: int = setting("defaultNumberOfNamespaceBundles", 4, "Bundles shown for a new namespace.")


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    server: ServerConfig = field(default_factory=ServerConfig)
    connection: ConnectionConfig = field(default_factory=ConnectionConfig)
    storage: StorageConfig = field(default_factory=StorageConfig)
    topics: TopicConfig = field(default_factory=TopicConfig)
    dispatch: DispatchConfig = field(default_factory=DispatchConfig)
    policies: PolicyConfig = field(default_factory=PolicyConfig)

    def replace(self, **sections: Any) -> "BrokerConfig":
        return dataclasses.replace(self, **sections)
