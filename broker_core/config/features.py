"""Sections of the configuration for features that a policy of a namespace or topic can turn on, turn off, or tune.

Read `config` first. Where a section repeats a policy, it is the default for topics without that policy.
"""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


def _rate(key: str, doc: str) -> int:
    rate: int = setting(key, 0, f"{doc}; 0 means no limit.", dynamic=True)
    return rate


INTERCEPTORS = "org.apache.pulsar.common.intercept."
APPEND_INDEX = "AppendIndexMetadataInterceptor"
APPEND_TIME = "AppendBrokerTimestampMetadataInterceptor"


@frozen
class EntryMetadataConfig:
    """The data that the broker adds to an entry, beside the producer's (PIP-70)."""

    interceptors: str = setting(
        "brokerEntryMetadataInterceptors",
        f"{INTERCEPTORS}{APPEND_INDEX},{INTERCEPTORS}{APPEND_TIME}",
        "What the broker tells about entries, separated by commas: the index of their messages, and when they arrived.",
    )
    exposed: bool = setting(
        "exposingBrokerEntryMetadataToClientEnabled",
        False,
        "Whether consumers that know broker entry metadata get it with each message.",
    )

    @property
    def index(self) -> bool:
        return self._has(APPEND_INDEX)

    @property
    def time(self) -> bool:
        return self._has(APPEND_TIME)

    def _has(self, interceptor: str) -> bool:
        return interceptor in (name.strip().rpartition(".")[2] for name in self.interceptors.split(","))


@frozen
class RateConfig:
    """Messages and bytes per second; -1 and 0 both mean no limit."""

    broker_publish_messages: int = _rate(
        "brokerPublisherThrottlingMaxMessageRate", "Maximum publish rate of the broker (messages/s)"
    )
    broker_publish_bytes: int = _rate(
        "brokerPublisherThrottlingMaxByteRate", "Maximum publish rate of the broker (bytes/s)"
    )
    topic_publish_messages: int = _rate(
        "maxPublishRatePerTopicInMessages", "Maximum publish rate per topic (messages/s)"
    )
    topic_publish_bytes: int = _rate("maxPublishRatePerTopicInBytes", "Maximum publish rate per topic (bytes/s)")
    broker_dispatch_messages: int = _rate(
        "dispatchThrottlingRateInMsg", "Maximum dispatch rate of the broker (messages/s)"
    )
    broker_dispatch_bytes: int = _rate("dispatchThrottlingRateInByte", "Maximum dispatch rate of the broker (bytes/s)")
    topic_dispatch_messages: int = _rate(
        "dispatchThrottlingRatePerTopicInMsg", "Maximum dispatch rate per topic (messages/s)"
    )
    topic_dispatch_bytes: int = _rate(
        "dispatchThrottlingRatePerTopicInByte", "Maximum dispatch rate per topic (bytes/s)"
    )
    subscription_dispatch_messages: int = _rate(
        "dispatchThrottlingRatePerSubscriptionInMsg", "Maximum dispatch rate per subscription (messages/s)"
    )
    subscription_dispatch_bytes: int = _rate(
        "dispatchThrottlingRatePerSubscriptionInByte", "Maximum dispatch rate per subscription (bytes/s)"
    )
    relative: bool = setting(
        "dispatchThrottlingRateRelativeToPublishRate",
        False,
        "Whether dispatch rates are added to the current publish rate.",
        dynamic=True,
    )
    without_backlog: bool = setting(
        "dispatchThrottlingOnNonBacklogConsumerEnabled",
        True,
        "Whether dispatch rates also apply to subscriptions that have caught up.",
        dynamic=True,
    )
    per_batch_message: bool = setting(
        "dispatchThrottlingOnBatchMessageEnabled",
        False,
        "Whether a batch counts as one message toward dispatch rates; if not, each of its messages counts.",
        dynamic=True,
    )
    subscribes_per_consumer: int = setting(
        "subscribeThrottlingRatePerConsumer",
        0,
        "Maximum number of times a consumer can subscribe per period; 0 means no limit.",
        dynamic=True,
    )
    subscribe_period_seconds: int = setting(
        "subscribeRatePeriodPerConsumerInSecond",
        30,
        "Length of the period for subscribeThrottlingRatePerConsumer (s).",
        least=1,
        dynamic=True,
    )


@frozen
class BacklogQuotaConfig:
    """The size and the age that a backlog may reach."""

    check: bool = setting("backlogQuotaCheckEnabled", True, "Whether the broker enforces backlog quotas.")
    check_seconds: int = setting(
        "backlogQuotaCheckIntervalInSeconds", 60, "Interval between backlog quota checks (s).", least=1
    )
    default_bytes: int = setting(
        "backlogQuotaDefaultLimitBytes", -1, "Maximum backlog of a topic (bytes); -1 means no limit.", least=-1
    )
    default_gb: float = setting(
        "backlogQuotaDefaultLimitGB",
        -1.0,
        "Maximum backlog of a topic (GB); takes precedence over backlogQuotaDefaultLimitBytes when above 0.",
        least=-1,
    )
    default_seconds: int = setting(
        "backlogQuotaDefaultLimitSecond", -1, "Maximum age of a topic's backlog (s); -1 means no limit.", least=-1
    )
    default_policy: str = setting(
        "backlogQuotaDefaultRetentionPolicy",
        "producer_request_hold",
        "What the broker does when a topic exceeds its backlog quota.",
        choices=("producer_request_hold", "producer_exception", "consumer_backlog_eviction"),
    )
    precise_time: bool = setting(
        "preciseTimeBasedBacklogQuotaCheck",
        False,
        "Whether backlog age is measured by the oldest message; if not, by the oldest sealed ledger.",
    )

    @property
    def limit_bytes(self) -> int:
        return int(self.default_gb * (1 << 30)) if self.default_gb > 0 else self.default_bytes


@frozen
class DeduplicationConfig:
    """Whether messages are stored once, and what the broker remembers for that."""

    enabled: bool = setting("brokerDeduplicationEnabled", False, "Whether the broker discards duplicate messages.")
    snapshot_entries: int = setting(
        "brokerDeduplicationEntriesInterval", 1000, "Number of entries between two deduplication snapshots.", least=1
    )
    snapshot_seconds: int = setting(
        "brokerDeduplicationSnapshotIntervalSeconds",
        120,
        "Maximum time between two deduplication snapshots (s).",
        least=0,
    )
    max_producers: int = setting(
        "brokerDeduplicationMaxNumberOfProducers",
        10_000,
        "Maximum number of producers in a deduplication snapshot.",
        least=1,
    )
    inactive_minutes: int = setting(
        "brokerDeduplicationProducerInactivityTimeoutMinutes",
        360,
        "Time to remember a producer after it disconnects (min).",
        least=0,
    )


@frozen
class ScalableConfig:
    """Topics whose segments split and merge, and the clients that know them (Pulsar 5.0)."""

    enabled: bool = setting(
        "scalableTopicsEnabled",
        True,
        "Whether clients of Pulsar 5.0's V5 API are served, and scalable topics.",
    )
    grace_seconds: float = setting(
        "scalableTopicConsumerSessionGracePeriodSeconds",
        60,
        "How long a stream consumer whose connection is lost keeps its segments (s).",
        least=0,
    )
    shares_buckets: bool = setting(
        "scalableTopicEntryBucketSharingEnabled",
        False,
        "Whether several stream consumers share a segment by entry buckets, if there are more consumers than segments "
        "and their clients are of Pulsar 5.0.0 or later.",
    )
    bucket_budget: int = setting(
        "scalableTopicEntryBucketBudget",
        4,
        "Number of entry buckets of a new topic; its segments have equal shares, and at least one each.",
        least=1,
        dynamic=True,
    )
    most_buckets: int = setting(
        "scalableTopicEntryBucketMaxPerSegment",
        1024,
        "Maximum number of entry buckets of a segment.",
        least=1,
        most=4096,
        dynamic=True,
    )


@frozen
class TransactionConfig:
    """Messages that consumers get all together, or never."""

    enabled: bool = setting(
        "transactionCoordinatorEnabled",
        True,
        "Whether clients can publish and acknowledge in transactions.",
    )
    max_active: int = setting(
        "maxActiveTransactionsPerCoordinator",
        100_000,
        "Maximum number of transactions that are open at the same time; 0 means no limit.",
        least=0,
    )
    max_runs: int = setting(
        "maxMessageRunsPerTransaction",
        10_000,
        "Maximum number of runs of consecutive messages in an open transaction.",
        least=1,
    )
    max_all_runs: int = setting(
        "maxMessageRunsOfActiveTransactions",
        200_000,
        "Maximum number of runs of consecutive messages in all open transactions together; each checkpoint writes "
        "those of the transactions that changed.",
        least=1,
    )
    max_acknowledged: int = setting(
        "maxAcknowledgedEntriesPerTransaction",
        100_000,
        "Maximum number of entries that an open transaction acknowledges; a batch of which messages stay open counts "
        "once more for every 64 messages.",
        least=1,
    )
    max_all_acknowledged: int = setting(
        "maxAcknowledgedEntriesOfActiveTransactions",
        1_000_000,
        "Maximum number of entries that all open transactions acknowledge together.",
        least=1,
    )


@frozen
class DelayedConfig:
    """Messages that consumers get later."""

    enabled: bool = setting("delayedDeliveryEnabled", True, "Whether delayed message delivery is enabled.")
    tick_ms: float = setting("delayedDeliveryTickTimeMillis", 1000, "Precision of delayed delivery (ms).", least=1)
    strict: bool = setting(
        "isDelayedDeliveryDeliverAtTimeStrict",
        False,
        "Whether messages are never delivered before their time; if not, they can be early by one tick.",
    )
    max_delay_ms: int = setting(
        "delayedDeliveryMaxDelayInMillis", 0, "Maximum delivery delay (ms); 0 means no limit.", least=0
    )
    lookahead: int = setting(
        "delayedDeliveryFixedDelayDetectionLookahead",
        50_000,
        "Delayed messages at which a subscription stops reading ahead, if each is due after the one before it; "
        "0 always reads ahead.",
        least=0,
    )
    bucket_rows: int = setting(
        "delayedDeliveryMinIndexCountPerBucket",
        50_000,
        "Delayed messages to track in memory before their delivery times go to disk.",
        least=1,
    )
    chunk_rows: int = setting(
        "delayedDeliveryMaxIndexesPerBucketSnapshotSegment",
        5_000,
        "Number of delivery times per read from disk.",
        least=1,
    )


@frozen
class InactiveConfig:
    """The deletion or unloading of unused topics."""

    delete: bool = setting(
        "brokerDeleteInactiveTopicsEnabled",
        False,
        "Whether the broker deletes inactive topics and their messages (Pulsar's default: true).",
        dynamic=True,
    )
    close: bool = setting(
        "brokerCloseInactiveTopicsEnabled",
        False,
        "Whether the broker unloads inactive topics, which keeps their messages; not with deletion.",
    )
    check_seconds: int = setting(
        "brokerDeleteInactiveTopicsFrequencySeconds",
        60,
        "Interval between checks for inactive topics (s).",
        least=1,
        dynamic=True,
    )
    max_seconds: int = setting(
        "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds",
        0,
        "Time after which an unused topic is inactive (s); 0 uses brokerDeleteInactiveTopicsFrequencySeconds.",
        least=0,
        dynamic=True,
    )
    mode: str = setting(
        "brokerDeleteInactiveTopicsMode",
        "delete_when_no_subscriptions",
        "Condition under which a topic is inactive.",
        choices=("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"),
        dynamic=True,
    )

    delete_partitioned: bool = setting(
        "brokerDeleteInactivePartitionedTopicMetadataEnabled",
        False,
        "Whether the broker deletes a partitioned topic together with its last partition.",
        dynamic=True,
    )
    subscription_check_minutes: int = setting(
        "subscriptionExpiryCheckIntervalInMinutes",
        5,
        "Interval between checks for expired subscriptions (min).",
        least=1,
    )

    @property
    def most_seconds(self) -> int:
        return self.max_seconds or self.check_seconds


COMPATIBILITY_STRATEGIES = (
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
)


@frozen
class SchemaConfig:
    """The schemas that a topic accepts."""

    compatibility: str = setting(
        "schemaCompatibilityStrategy",
        "FULL",
        "Which new schema versions a topic accepts.",
        choices=COMPATIBILITY_STRATEGIES,
    )
    system_compatibility: str = setting(
        "systemTopicSchemaCompatibilityStrategy",
        "ALWAYS_COMPATIBLE",
        "Which new schema versions a system topic accepts.",
        choices=COMPATIBILITY_STRATEGIES,
    )
    validation_enforced: bool = setting(
        "isSchemaValidationEnforced", False, "Whether a topic with a schema refuses producers without one."
    )
    allow_update: bool = setting(
        "isAllowAutoUpdateSchemaEnabled", True, "Whether producers can add new schema versions.", dynamic=True
    )
    allow_legacy_json: bool = setting(
        "schemaJsonAllowLegacyJacksonFormat",
        True,
        "Whether a JSON schema may have the form that clients before Pulsar 2.1 send (Pulsar 5.0's default: false).",
    )
    max_bytes: int = setting("schemaMaxSizeInBytes", 1 << 20, "Maximum size of a schema definition (bytes).", least=1)
    max_values: int = setting(
        "schemaMaxValues",
        50_000,
        "Maximum number of values (objects, arrays, strings, numbers) in a schema definition.",
        least=100,
    )
    max_depth: int = setting(
        "schemaMaxDepth", 200, "Maximum nesting depth of a schema definition (JSON levels).", least=10
    )
    max_comparisons: int = setting(
        "schemaMaxComparisons",
        200_000,
        "Maximum number of steps to compare two schemas; above it, they count as incompatible. A check of all versions"
        " of a topic may take ten times as many.",
        least=1000,
    )
