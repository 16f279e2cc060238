"""Sections of the configuration for features that a policy of a namespace or topic may turn on, off or tune.

Read `config` first. Where a section repeats a policy, it says what holds where neither topic nor namespace does.
"""

from dataclasses import dataclass

from broker_core.config.setting import setting


def _rate(key: str, doc: str) -> int:
    rate: int = setting(key, 0, f"{doc}; 0 is no limit.")
    return rate


@dataclass(frozen=True, slots=True)
class RateConfig:
    """Messages and bytes per second; -1 and 0 both mean no limit."""

    broker_publish_messages: int = _rate("brokerPublisherThrottlingMaxMessageRate", "Most messages in, of the broker")
    broker_publish_bytes: int = _rate("brokerPublisherThrottlingMaxByteRate", "Most bytes in, of the broker")
    topic_publish_messages: int = _rate("maxPublishRatePerTopicInMessages", "Most messages in, of a topic")
    topic_publish_bytes: int = _rate("maxPublishRatePerTopicInBytes", "Most bytes in, of a topic")
    broker_dispatch_messages: int = _rate("dispatchThrottlingRateInMsg", "Most messages out, of the broker")
    broker_dispatch_bytes: int = _rate("dispatchThrottlingRateInByte", "Most bytes out, of the broker")
    topic_dispatch_messages: int = _rate("dispatchThrottlingRatePerTopicInMsg", "Most messages out, of a topic")
    topic_dispatch_bytes: int = _rate("dispatchThrottlingRatePerTopicInByte", "Most bytes out, of a topic")
    subscription_dispatch_messages: int = _rate(
        "dispatchThrottlingRatePerSubscriptionInMsg", "Most messages out, of a subscription"
    )
    subscription_dispatch_bytes: int = _rate(
        "dispatchThrottlingRatePerSubscriptionInByte", "Most bytes out, of a subscription"
    )
    relative: bool = setting(
        "dispatchThrottlingRateRelativeToPublishRate",
        False,
        "Whether dispatch rates come on top of what is being published.",
    )
    without_backlog: bool = setting(
        "dispatchThrottlingOnNonBacklogConsumerEnabled",
        True,
        "Whether dispatch rates hold for subscriptions that have caught up too.",
    )
    per_batch_message: bool = setting(
        "dispatchThrottlingOnBatchMessageEnabled",
        False,
        "Whether a batch counts as one message for dispatch rates, instead of as many as it holds.",
    )
    subscribes_per_consumer: int = setting(
        "subscribeThrottlingRatePerConsumer", 0, "Times a consumer may subscribe in a period; 0 is no limit."
    )
    subscribe_period_seconds: int = setting(
        "subscribeRatePeriodPerConsumerInSecond", 30, "Period of subscribeThrottlingRatePerConsumer (s).", least=1
    )


@dataclass(frozen=True, slots=True)
class BacklogQuotaConfig:
    check: bool = setting("backlogQuotaCheckEnabled", True, "Whether backlogs are held to their quotas.")
    check_seconds: int = setting("backlogQuotaCheckIntervalInSeconds", 60, "Time between two checks (s).", least=1)
    default_bytes: int = setting(
        "backlogQuotaDefaultLimitBytes", -1, "Most backlog of a topic (bytes); -1 is no limit.", least=-1
    )
    default_gb: float = setting("backlogQuotaDefaultLimitGB", -1.0, "The same in GB; stronger when above 0.", least=-1)
    default_seconds: int = setting(
        "backlogQuotaDefaultLimitSecond", -1, "Greatest age of a topic's backlog (s); -1 is no limit.", least=-1
    )
    default_policy: str = setting(
        "backlogQuotaDefaultRetentionPolicy",
        "producer_request_hold",
        "What happens to a topic above its quota.",
        choices=("producer_request_hold", "producer_exception", "consumer_backlog_eviction"),
    )
    precise_time: bool = setting(
        "preciseTimeBasedBacklogQuotaCheck",
        False,
        "Whether the age of a backlog is that of its oldest message, not of its oldest whole ledger.",
    )

    @property
    def limit_bytes(self) -> int:
        return int(self.default_gb * (1 << 30)) if self.default_gb > 0 else self.default_bytes


@dataclass(frozen=True, slots=True)
class DeduplicationConfig:
    enabled: bool = setting("brokerDeduplicationEnabled", False, "Whether messages sent twice are kept once.")
    snapshot_entries: int = setting(
        "brokerDeduplicationEntriesInterval", 1000, "Entries between two snapshots of sequence ids.", least=1
    )
    snapshot_seconds: int = setting(
        "brokerDeduplicationSnapshotIntervalSeconds", 120, "Longest time between two snapshots (s).", least=0
    )
    max_producers: int = setting(
        "brokerDeduplicationMaxNumberOfProducers", 10_000, "Most producers in a snapshot.", least=1
    )
    inactive_minutes: int = setting(
        "brokerDeduplicationProducerInactivityTimeoutMinutes",
        360,
        "How long a producer that has left is remembered (min).",
        least=0,
    )


@dataclass(frozen=True, slots=True)
class DelayedConfig:
    enabled: bool = setting("delayedDeliveryEnabled", True, "Whether messages may ask to be delivered later.")
    tick_ms: float = setting(
        "delayedDeliveryTickTimeMillis", 1000, "How exactly the time of delivery is kept (ms).", least=1
    )
    strict: bool = setting(
        "isDelayedDeliveryDeliverAtTimeStrict", False, "Whether no message comes early, not even by a tick."
    )
    max_delay_ms: int = setting("delayedDeliveryMaxDelayInMillis", 0, "Longest delay (ms); 0 is no limit.", least=0)
    lookahead: int = setting(
        "delayedDeliveryFixedDelayDetectionLookahead",
        50_000,
        "Messages held back at which a subscription reads no further while each was due after the one before; "
        "0: it always reads on.",
        least=0,
    )
    bucket_rows: int = setting(
        "delayedDeliveryMinIndexCountPerBucket",
        50_000,
        "Messages held back whose times are kept in memory before they go to disk.",
        least=1,
    )
    chunk_rows: int = setting(
        "delayedDeliveryMaxIndexesPerBucketSnapshotSegment",
        5_000,
        "Times of delivery read from disk at once.",
        least=1,
    )


@dataclass(frozen=True, slots=True)
class InactiveConfig:
    delete: bool = setting(
        "brokerDeleteInactiveTopicsEnabled",
        False,
        "Whether topics that nobody uses are deleted, with their messages (Pulsar's default: true).",
    )
    check_seconds: int = setting(
        "brokerDeleteInactiveTopicsFrequencySeconds", 60, "Time between two looks for them (s).", least=1
    )
    max_seconds: int = setting(
        "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds",
        0,
        "How long a topic may go unused (s); 0: as long as the time between two looks.",
        least=0,
    )
    mode: str = setting(
        "brokerDeleteInactiveTopicsMode",
        "delete_when_no_subscriptions",
        "What makes a topic unused.",
        choices=("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"),
    )

    delete_partitioned: bool = setting(
        "brokerDeleteInactivePartitionedTopicMetadataEnabled",
        False,
        "Whether a partitioned topic goes with the last of its partitions.",
    )
    subscription_check_minutes: int = setting(
        "subscriptionExpiryCheckIntervalInMinutes", 5, "Time between two looks for unused subscriptions (min).", least=1
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


@dataclass(frozen=True, slots=True)
class SchemaConfig:
    compatibility: str = setting(
        "schemaCompatibilityStrategy",
        "FULL",
        "Which new versions of a schema are accepted.",
        choices=COMPATIBILITY_STRATEGIES,
    )
    system_compatibility: str = setting(
        "systemTopicSchemaCompatibilityStrategy",
        "ALWAYS_COMPATIBLE",
        "The same for topics that the broker makes for itself.",
        choices=COMPATIBILITY_STRATEGIES,
    )
    validation_enforced: bool = setting(
        "isSchemaValidationEnforced", False, "Whether a topic with a schema refuses producers without one."
    )
    allow_update: bool = setting(
        "isAllowAutoUpdateSchemaEnabled", True, "Whether producers may bring new versions of a schema."
    )
    max_bytes: int = setting("schemaMaxSizeInBytes", 1 << 20, "Longest definition of a schema (bytes).", least=1)
    max_values: int = setting(
        "schemaMaxValues", 50_000, "Most values (objects, lists, texts, numbers) in a definition.", least=100
    )
    max_depth: int = setting("schemaMaxDepth", 200, "Deepest nesting of a definition (JSON levels).", least=10)
    max_comparisons: int = setting(
        "schemaMaxComparisons",
        200_000,
        "Most steps in the comparison of two schemas; what takes more is incompatible.",
        least=1000,
    )


@dataclass(frozen=True, slots=True)
class TopicListConfig:
    watchers: bool = setting("enableBrokerTopicListWatcher", True, "Whether clients may watch lists of topics.")
    evaluate_patterns: bool = setting(
        "enableBrokerSideSubscriptionPatternEvaluation",
        True,
        "Whether the broker picks the topics that match a pattern, instead of the client.",
    )
    max_pattern_length: int = setting(
        "subscriptionPatternMaxLength", 50, "Longest pattern that the broker evaluates (characters).", least=0
    )
