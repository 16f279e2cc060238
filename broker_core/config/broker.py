"""The broker's configuration: one frozen object in sections, each field named by its Pulsar key.

A part of the broker receives its own section, never the whole object. `setting(...)` gives a field its Pulsar key, its
default, and one sentence of documentation; `conf/standalone.yaml` is generated from these. The sections of features
that policies turn on and off are in `features`, `offload`, and `replication`, the bounds on the commands of clients in
`commands`, the bounds on their HTTP requests in `http`, those of dispatch in `dispatch`, and who clients are in
`security`, `openid`, and `tls`. Sizes are in bytes unless the key says otherwise. -1 or 0 mean "no limit" where the
sentence says so. `sources` says where values come from.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from broker_core.config.commands import CommandConfig
from broker_core.config.console import ConsoleConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.config.features import (
    BacklogQuotaConfig,
    DeduplicationConfig,
    DelayedConfig,
    EntryMetadataConfig,
    InactiveConfig,
    RateConfig,
    SchemaConfig,
    TopicListConfig,
)
from broker_core.config.http import HttpConfig
from broker_core.config.metrics import MetricsConfig
from broker_core.config.offload import OffloadConfig
from broker_core.config.openid import OpenIdConfig
from broker_core.config.replication import ReplicationConfig
from broker_core.config.sections import Sections
from broker_core.config.security import SecurityConfig
from broker_core.config.setting import MB, setting
from broker_core.config.tls import TlsConfig

DEFAULT_MOST_PARTITIONS = 10_000
MOST_PARTITIONS = 100_000
MOST_BUNDLES = 65_536


@dataclass(frozen=True, slots=True)
class ServerConfig:
    cluster_name: str = setting("clusterName", "standalone", "Cluster name; part of generated producer names.")
    bind_address: str = setting(
        "bindAddress", "", "Address to listen on; empty listens on the loopback addresses 127.0.0.1 and ::1."
    )
    advertised_address: str = setting("advertisedAddress", "localhost", "Host name that the broker returns in lookups.")
    advertised_listeners: str = setting(
        "advertisedListeners",
        "",
        "Addresses of the broker in several networks: NAME:SCHEME://HOST:PORT, separated by commas (docs/scaling.md).",
    )
    internal_listener: str = setting(
        "internalListenerName", "", "Listener for clients that name none; empty means the first of advertisedListeners."
    )
    bind_addresses: str = setting(
        "bindAddresses",
        "",
        "More addresses to listen on, whose clients get the addresses of a listener without naming it:"
        " LISTENER:SCHEME://IP:PORT, separated by commas (docs/scaling.md).",
    )
    status_file: str = setting(
        "statusFilePath", "", "File without which /status.html answers 404; empty needs no file."
    )
    leave_seconds: float = setting(
        "brokerReadinessDelayMs",
        0.0,
        "Time after SIGTERM in which /status.html answers 503 and the broker still serves, so that load balancers can"
        " leave (ms).",
        scale=0.001,
        least=0,
    )
    broker_port: int = setting(
        "brokerServicePort",
        6650,
        "Port of the binary protocol without TLS; 0 picks a free port, -1 or an empty value has none.",
        least=-1,
        most=65_535,
        empty=-1,
    )
    web_port: int = setting(
        "webServicePort",
        8080,
        "Port of the admin REST API without TLS; 0 picks a free port, -1 or an empty value has none.",
        least=-1,
        most=65_535,
        empty=-1,
    )
    allowed_hosts: str = setting(
        "webServiceAllowedHosts",
        "",
        "Additional host names, separated by commas, that reach the admin API over loopback and whose web pages can use"
        " it; * allows every name.",
    )
    shutdown_timeout_ms: int = setting(
        "brokerShutdownTimeoutMs", 10_000, "Maximum time for a clean shutdown (ms).", least=0, dynamic=True
    )


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    max_message_size: int = setting("maxMessageSize", 5 * MB, "Maximum size of a message (bytes).", least=1)
    keep_alive_seconds: float = setting(
        "keepAliveIntervalSeconds", 30, "Interval between PINGs in both directions (s).", least=0.01
    )
    liveness_timeout_ms: int = setting(
        "connectionLivenessCheckTimeoutMillis",
        5_000,
        "Time in which a connection that holds a requested name must answer a PING (ms); 0 disables the check.",
    )
    max_connections: int = setting("brokerMaxConnections", 0, "Maximum number of connections; 0 is no limit.", least=0)
    max_connections_per_ip: int = setting(
        "brokerMaxConnectionsPerIp", 0, "Maximum number of connections from one IP address; 0 is no limit.", least=0
    )
    max_pending_publishes: int = setting(
        "maxPendingPublishRequestsPerConnection",
        20_000,
        "Pending publishes per connection above which the broker stops reading from the connection.",
        least=1,
    )
    max_non_persistent: int = setting(
        "maxConcurrentNonPersistentMessagePerConnection",
        1000,
        "Messages in flight to non-persistent topics per connection; the broker drops messages above this number.",
        least=1,
    )
    max_incomplete_mb: int = setting(
        "maxIncompleteFramesSizeInMB",
        64,
        "Memory for incomplete frames of all connections (MB); above it, large frames wait for one another.",
        least=1,
    )
    incomplete_seconds: float = setting(
        "incompleteFrameTimeoutSeconds",
        15,
        "Time in which a frame must arrive while that memory is used up (s); then the broker closes its connection.",
        least=0.1,
    )
    write_buffer_bytes: int = setting(
        "connectionWriteBufferBytes",
        MB // 8,
        "Unsent bytes per connection at which its consumers get no more messages.",
        least=1,
    )
    max_consumer_metadata_size: int = setting(
        "maxConsumerMetadataSize", 1024, "Maximum size of a consumer's metadata (bytes).", least=0
    )
    max_lookups: int = setting(
        "maxConcurrentLookupRequest",
        50_000,
        "Maximum number of lookups and other requests in flight per connection; the broker refuses more.",
        least=1,
        dynamic=True,
    )


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """""The storage engine's section; `broker_core.storage` knows nothing else of this package.""" ""

    journal_directory: str = setting(
        "journalDirectory", "", "Directory of the journal; empty puts it in the data directory."
    )
    journal_sync: bool = setting(
        "journalSyncData", True, "Whether the broker syncs the journal to disk (fsync) before it confirms a message."
    )
    journal_pace_ms: float = setting(
        "journalMaxGroupWaitMSec",
        5.0,
        "Maximum pause between journal syncs while batches keep arriving (ms); a tenth of it at moderate rates.",
        least=0,
    )
    journal_max_mb: int = setting(
        "journalMaxSizeMB", 256, "Maximum size of the journal between two checkpoints (MB).", least=1
    )
    checkpoint_seconds: float = setting(
        "flushInterval", 60.0, "Maximum time between two checkpoints (ms).", scale=0.001, least=0.01
    )
    max_entries_per_ledger: int = setting(
        "managedLedgerMaxEntriesPerLedger", 50_000, "Number of entries at which a ledger rolls over.", least=1
    )
    max_ledger_mb: int = setting(
        "managedLedgerMaxSizePerLedgerMbytes", 2048, "Size at which a ledger rolls over (MB).", least=1
    )
    min_rollover_minutes: float = setting(
        "managedLedgerMinLedgerRolloverTimeMinutes",
        0,
        "Minimum age of a ledger before its entries or size can roll it over (min).",
        least=0,
    )
    max_rollover_minutes: float = setting(
        "managedLedgerMaxLedgerRolloverTimeMinutes", 240, "Age at which a ledger with entries rolls over (min)."
    )
    write_buffer_mb: int = setting(
        "maxMessagePublishBufferSizeInMB",
        32,
        "Accepted data that is not in a ledger file yet, above which producers wait (MB).",
        least=1,
    )
    cache_mb: int = setting("managedLedgerCacheSizeMB", 32, "Memory for recently written entries (MB).", least=0)
    index_cache_mb: int = setting(
        "ledgerIndexCacheSizeMB", 16, "Memory for the indexes of sealed ledgers (MB).", least=0
    )
    open_files: int = setting("ledgerOpenFilesLimit", 64, "Maximum number of ledger files to keep open.", least=1)
    ack_flush_ms: int = setting(
        "managedLedgerCursorPositionFlushMillis",
        500,
        "Maximum time before an acknowledgment is written to the journal (ms).",
        least=0,
    )
    auto_skip_lost: bool = setting(
        "autoSkipNonRecoverableData",
        False,
        "Whether readers skip entries that cannot be read; if not, they wait until an operator accepts the loss.",
    )
    reserve_mb: int = setting(
        "diskReserveMB", 8, "Disk space to keep free for acknowledgments when the disk is full (MB).", least=0
    )


@dataclass(frozen=True, slots=True)
class TopicConfig:
    allow_auto_creation: bool = setting(
        "allowAutoTopicCreation", True, "Whether producers and consumers create missing topics.", dynamic=True
    )
    auto_creation_type: str = setting(
        "allowAutoTopicCreationType",
        "non-partitioned",
        "Type of an automatically created topic.",
        choices=("non-partitioned", "partitioned"),
        dynamic=True,
    )
    default_partitions: int = setting(
        "defaultNumPartitions",
        1,
        "Number of partitions of an automatically created partitioned topic.",
        least=1,
        dynamic=True,
    )
    compaction_seconds: int = setting(
        "brokerServiceCompactionMonitorIntervalInSeconds",
        60,
        "Minimum time between two automatic compactions of a topic (s).",
        least=0,
    )
    non_persistent: bool = setting("enableNonPersistentTopics", True, "Whether non-persistent topics are allowed.")
    allow_auto_subscription: bool = setting(
        "allowAutoSubscriptionCreation",
        True,
        "Whether a subscribing consumer creates a missing subscription.",
        dynamic=True,
    )
    batch_index_acks: bool = setting(
        "acknowledgmentAtBatchIndexLevelEnabled",
        True,
        "Whether clients can acknowledge single messages of a batch.",
    )
    max_partitions: int = setting(
        "maxNumPartitionsPerPartitionedTopic",
        0,
        f"Maximum number of partitions of a topic; 0 is {DEFAULT_MOST_PARTITIONS}.",
        least=0,
        most=MOST_PARTITIONS,
        dynamic=True,
    )
    max_producers: int = setting(
        "maxProducersPerTopic", 0, "Maximum number of producers per topic; 0 is no limit.", least=0
    )
    max_same_address_producers: int = setting(
        "maxSameAddressProducersPerTopic",
        0,
        "Maximum number of producers per topic from one IP address; 0 is no limit.",
        least=0,
    )
    max_same_address_consumers: int = setting(
        "maxSameAddressConsumersPerTopic",
        0,
        "Maximum number of consumers per topic from one IP address; 0 is no limit.",
        least=0,
    )
    max_consumers: int = setting(
        "maxConsumersPerTopic", 0, "Maximum number of consumers per topic; 0 is no limit.", least=0
    )
    max_consumers_per_subscription: int = setting(
        "maxConsumersPerSubscription", 0, "Maximum number of consumers per subscription; 0 is no limit.", least=0
    )
    max_subscriptions: int = setting(
        "maxSubscriptionsPerTopic", 0, "Maximum number of subscriptions per topic; 0 is no limit.", least=0
    )
    max_topics: int = setting(
        "maxTopicsPerNamespace",
        0,
        "Maximum number of topics per namespace, counting each partition; 0 is no limit.",
        least=0,
        dynamic=True,
    )
    scan_entries: int = setting(
        "subscriptionBacklogScanMaxEntries",
        10_000,
        "Maximum number of entries that analyze-backlog reads.",
        least=1,
    )
    scan_ms: int = setting(
        "subscriptionBacklogScanMaxTimeMs", 120_000, "Maximum time of analyze-backlog (ms).", least=1
    )
    subscription_types: str = setting(
        "subscriptionTypesEnabled",
        "Exclusive,Shared,Failover,Key_Shared",
        "Subscription types that are allowed, separated by commas.",
        dynamic=True,
    )
    subscription_expiration_minutes: int = setting(
        "subscriptionExpirationTimeMinutes",
        0,
        "Time without consumers after which the broker deletes a subscription (min); 0 is never.",
        least=0,
    )
    encryption_required: bool = setting(
        "encryptionRequireOnProducer", False, "Whether producers on all topics must encrypt their messages."
    )

    @property
    def partition_limit(self) -> int:
        """""The maximum number of partitions per topic; always bounded, because each partition has a cost.""" ""
        return self.max_partitions or DEFAULT_MOST_PARTITIONS


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    retention_minutes: int = setting(
        "defaultRetentionTimeInMinutes", 0, "Time to retain acknowledged messages (min); -1 is no limit.", least=-1
    )
    retention_mb: int = setting(
        "defaultRetentionSizeInMB", 0, "Size of acknowledged messages to retain (MB); -1 is no limit.", least=-1
    )
    open_ledger_seconds: int = setting(
        "retentionOpenLedgerSeconds",
        60,
        "Time to keep the newest ledger readable after its last message, on topics without a retention policy (s).",
        least=0,
    )
    ttl_seconds: int = setting(
        "ttlDurationDefaultInSeconds",
        0,
        "Age at which the broker acknowledges messages that consumers have not (s); 0 is never.",
        least=0,
    )
    clock_tolerance_seconds: int = setting(
        "expiryClockToleranceSeconds",
        60,
        "Maximum lead of the wall clock over elapsed time (s); above it, messages expire by elapsed time.",
        least=1,
    )
    clock_proof_seconds: int = setting(
        "expiryClockProofSeconds",
        3600,
        "Time for which a clock that jumped ahead must stay consistent before messages expire by it (s).",
        least=0,
    )
    compaction_threshold: int = setting(
        "brokerServiceCompactionThresholdInBytes",
        0,
        "Backlog at which the broker compacts a topic (bytes); 0 is never.",
        least=0,
    )
    retain_null_key: bool = setting(
        "topicCompactionRetainNullKey", False, "Whether compaction retains messages without a key."
    )
    force_delete_tenant: bool = setting(
        "forceDeleteTenantAllowed", False, "Whether a tenant can be deleted together with its namespaces.", dynamic=True
    )
    force_delete_namespace: bool = setting(
        "forceDeleteNamespaceAllowed",
        False,
        "Whether a namespace can be deleted together with its topics.",
        dynamic=True,
    )
    topic_policies: bool = setting("topicLevelPoliciesEnabled", True, "Whether topics can have their own policies.")
    default_bundles: int = setting(
        "defaultNumberOfNamespaceBundles", 4, "Number of bundles of a new namespace.", least=1, dynamic=True
    )
    most_bundles: int = setting(
        "maxNumberOfNamespaceBundles",
        4096,
        "Maximum number of bundles of a new namespace.",
        least=1,
        most=MOST_BUNDLES,
    )


@dataclass(frozen=True, slots=True)
class BrokerConfig(Sections):
    server: ServerConfig = field(default_factory=ServerConfig)
    connection: ConnectionConfig = field(default_factory=ConnectionConfig)
    commands: CommandConfig = field(default_factory=CommandConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    console: ConsoleConfig = field(default_factory=ConsoleConfig)
    security: SecurityConfig = field(default_factory=SecurityConfig)
    openid: OpenIdConfig = field(default_factory=OpenIdConfig)
    tls: TlsConfig = field(default_factory=TlsConfig)
    storage: StorageConfig = field(default_factory=StorageConfig)
    topics: TopicConfig = field(default_factory=TopicConfig)
    topic_lists: TopicListConfig = field(default_factory=TopicListConfig)
    entry_metadata: EntryMetadataConfig = field(default_factory=EntryMetadataConfig)
    dispatch: DispatchConfig = field(default_factory=DispatchConfig)
    policies: PolicyConfig = field(default_factory=PolicyConfig)
    rates: RateConfig = field(default_factory=RateConfig)
    backlog_quota: BacklogQuotaConfig = field(default_factory=BacklogQuotaConfig)
    deduplication: DeduplicationConfig = field(default_factory=DeduplicationConfig)
    offload: OffloadConfig = field(default_factory=OffloadConfig)
    replication: ReplicationConfig = field(default_factory=ReplicationConfig)
    delayed: DelayedConfig = field(default_factory=DelayedConfig)
    inactive: InactiveConfig = field(default_factory=InactiveConfig)
    schema: SchemaConfig = field(default_factory=SchemaConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)

    def copy(self) -> "BrokerConfig":
        """The same values in new sections."""
        return self.replace(**{name: dataclasses.replace(getattr(self, name)) for name in self.section_names()})

    def by_key(self) -> dict[str, Any]:
        """Every value by its key."""
        return {described.metadata["setting"].key: value for _, described, value in self.settings()}
