"""The creation of topics, and how many producers, consumers, and subscriptions they may have."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting

DEFAULT_MOST_PARTITIONS = 10_000
MOST_PARTITIONS = 100_000


@frozen
class TopicConfig:
    """The creation of topics, and how many clients they may have."""

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
        "maxProducersPerTopic", 0, "Maximum number of producers per topic; 0 means no limit.", least=0
    )
    max_same_address_producers: int = setting(
        "maxSameAddressProducersPerTopic",
        0,
        "Maximum number of producers per topic from one IP address; 0 means no limit.",
        least=0,
    )
    max_same_address_consumers: int = setting(
        "maxSameAddressConsumersPerTopic",
        0,
        "Maximum number of consumers per topic from one IP address; 0 means no limit.",
        least=0,
    )
    max_consumers: int = setting(
        "maxConsumersPerTopic", 0, "Maximum number of consumers per topic; 0 means no limit.", least=0
    )
    max_consumers_per_subscription: int = setting(
        "maxConsumersPerSubscription", 0, "Maximum number of consumers per subscription; 0 means no limit.", least=0
    )
    max_subscriptions: int = setting(
        "maxSubscriptionsPerTopic", 0, "Maximum number of subscriptions per topic; 0 means no limit.", least=0
    )
    max_topics: int = setting(
        "maxTopicsPerNamespace",
        0,
        "Maximum number of topics per namespace, counting each partition; 0 means no limit.",
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
        """The maximum number of partitions per topic; always bounded, because each partition has a cost."""
        return self.max_partitions or DEFAULT_MOST_PARTITIONS


@frozen
class TopicListConfig:
    """Lists of topics that clients ask for or watch."""

    watchers: bool = setting("enableBrokerTopicListWatcher", True, "Whether clients can watch topic lists.")
    evaluate_patterns: bool = setting(
        "enableBrokerSideSubscriptionPatternEvaluation",
        True,
        "Whether the broker, and not the client, selects the topics that match a pattern.",
    )
    max_pattern_length: int = setting(
        "subscriptionPatternMaxLength",
        50,
        "Maximum length of a pattern that the broker evaluates (characters).",
        least=0,
    )
