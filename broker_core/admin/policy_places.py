"""The paths of each policy of a namespace and of a topic in the REST API: Pulsar's names, methods, and answers.

`broker_core.metadata.policies` declares the policies. The two levels use different names for several of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class PolicyPlace(NamedTuple):
    """`name`: last part of the path. `field`: of `TopicPolicies`. `kind`: Pulsar's `PolicyName`, "" for none.

    `unset`: the answer if nothing is set, None for 204; `falls_back`: answers with the policy in force instead.
    `is_switch`: a write without a body turns it on. `refused`: the reason for a number out of bounds, if it is not
    `<name> must be 0 or more`. `super_users_write`: tenant admins only read it, as in Pulsar.
    """

    name: str
    field: str
    kind: str
    unset: Any = None
    refused: str = ""
    write: str = "POST"
    removable: bool = True
    falls_back: bool = False
    is_switch: bool = False
    super_users_write: bool = False


READ_POLICY = ("applied", "isGlobal")  # the query of a topic's policy
WRITE_POLICY = ("isGlobal",)

_PAUSE = PolicyPlace(
    "dispatcherPauseOnAckStatePersistent",
    "dispatcher_pause",
    "DISPATCHER_PAUSE_ON_ACK_STATE_PERSISTENT",
    unset=False,
    is_switch=True,
)

NAMESPACE = (
    PolicyPlace("retention", "retention", "RETENTION"),
    PolicyPlace("messageTTL", "ttl_seconds", "TTL", refused="Invalid value for message TTL, message TTL must >= 0"),
    PolicyPlace("compactionThreshold", "compaction_threshold", "COMPACTION", write="PUT"),
    PolicyPlace("publishRate", "publish_rate", "RATE"),
    PolicyPlace("dispatchRate", "dispatch_rate", "RATE"),
    PolicyPlace("subscriptionDispatchRate", "subscription_dispatch_rate", "RATE"),
    PolicyPlace("replicatorDispatchRate", "replicator_dispatch_rate", "REPLICATION_RATE"),
    PolicyPlace("subscribeRate", "subscribe_rate", "RATE"),
    PolicyPlace("maxProducersPerTopic", "max_producers", "MAX_PRODUCERS"),
    PolicyPlace("maxConsumersPerTopic", "max_consumers", "MAX_CONSUMERS"),
    PolicyPlace("maxConsumersPerSubscription", "max_consumers_per_subscription", "MAX_CONSUMERS"),
    PolicyPlace("maxSubscriptionsPerTopic", "max_subscriptions", "MAX_SUBSCRIPTIONS"),
    PolicyPlace("maxTopicsPerNamespace", "max_topics", "MAX_TOPICS", unset=0),
    PolicyPlace("maxUnackedMessagesPerConsumer", "max_unacked_per_consumer", "MAX_UNACKED"),
    PolicyPlace("maxUnackedMessagesPerSubscription", "max_unacked_per_subscription", "MAX_UNACKED"),
    PolicyPlace("deduplication", "deduplication_enabled", "DEDUPLICATION"),
    PolicyPlace(
        "deduplicationSnapshotInterval",
        "deduplication_snapshot_seconds",
        "DEDUPLICATION_SNAPSHOT",
        refused="interval must be greater than or equal to 0",
        removable=False,
    ),
    PolicyPlace("delayedDelivery", "delayed_delivery", "DELAYED_DELIVERY", super_users_write=True),
    PolicyPlace("inactiveTopicPolicies", "inactive_topics", "INACTIVE_TOPIC"),
    PolicyPlace("autoTopicCreation", "auto_topic_creation", "AUTO_TOPIC_CREATION"),
    PolicyPlace("autoSubscriptionCreation", "auto_subscription_creation", "AUTO_SUBSCRIPTION_CREATION"),
    PolicyPlace(
        "subscriptionExpirationTime",
        "subscription_expiration_minutes",
        "SUBSCRIPTION_EXPIRATION_TIME",
        refused="Invalid value for subscription expiration time",
    ),
    PolicyPlace("subscriptionTypesEnabled", "subscription_types", "SUBSCRIPTION_AUTH_MODE", unset=[]),
    PolicyPlace("encryptionRequired", "encryption_required", "ENCRYPTION", unset=False, removable=False),
    PolicyPlace(
        "schemaCompatibilityStrategy",
        "schema_compatibility_strategy",
        "SCHEMA_COMPATIBILITY_STRATEGY",
        unset="UNDEFINED",
        write="PUT",
        removable=False,
    ),
    PolicyPlace(
        "schemaAutoUpdateCompatibilityStrategy",
        "schema_auto_update",
        "SCHEMA_COMPATIBILITY_STRATEGY",
        write="PUT",
        removable=False,
    ),
    PolicyPlace(
        "schemaValidationEnforced",
        "schema_validation_enforced",
        "SCHEMA_COMPATIBILITY_STRATEGY",
        unset=False,
        removable=False,
    ),
    PolicyPlace(
        "isAllowAutoUpdateSchema",
        "allow_schema_update",
        "SCHEMA_COMPATIBILITY_STRATEGY",
        removable=False,
        falls_back=True,
    ),
    PolicyPlace("persistence", "persistence", "PERSISTENCE"),
    PolicyPlace("offloadThreshold", "offload_threshold_bytes", "OFFLOAD", unset=-1, write="PUT", removable=False),
    PolicyPlace(
        "offloadThresholdInSeconds", "offload_threshold_seconds", "OFFLOAD", unset=-1, write="PUT", removable=False
    ),
    PolicyPlace("offloadDeletionLagMs", "offload_deletion_lag_ms", "OFFLOAD", write="PUT"),
    PolicyPlace("offloadPolicies", "offload", "OFFLOAD", removable=False),
    PolicyPlace("allowedTopicPropertyKeysForMetrics", "metric_labels", "ALLOW_CUSTOM_METRIC_LABELS"),  # Pulsar 4.2
    PolicyPlace(
        "subscriptionAuthMode", "subscription_auth_mode", "SUBSCRIPTION_AUTH_MODE", unset="None", removable=False
    ),
    _PAUSE,
)

TOPIC = (
    PolicyPlace("retention", "retention", "RETENTION"),
    PolicyPlace(
        "compactionThreshold", "compaction_threshold", "COMPACTION", refused="Invalid value for compactionThreshold"
    ),
    PolicyPlace("publishRate", "publish_rate", "RATE"),
    PolicyPlace("dispatchRate", "dispatch_rate", "RATE"),
    PolicyPlace("subscriptionDispatchRate", "subscription_dispatch_rate", "RATE"),
    PolicyPlace("replicatorDispatchRate", "replicator_dispatch_rate", "REPLICATION_RATE"),
    PolicyPlace("subscribeRate", "subscribe_rate", "RATE"),
    PolicyPlace("maxProducers", "max_producers", "MAX_PRODUCERS"),
    PolicyPlace("maxConsumers", "max_consumers", "MAX_CONSUMERS"),
    PolicyPlace(
        "maxConsumersPerSubscription",
        "max_consumers_per_subscription",
        "MAX_CONSUMERS",
        refused="Invalid value for maxConsumersPerSubscription",
    ),
    PolicyPlace("maxSubscriptionsPerTopic", "max_subscriptions", "MAX_SUBSCRIPTIONS"),
    PolicyPlace(
        "maxUnackedMessagesOnConsumer",
        "max_unacked_per_consumer",
        "MAX_UNACKED",
        refused="maxUnackedNum must be 0 or more",
    ),
    PolicyPlace(
        "maxUnackedMessagesOnSubscription",
        "max_unacked_per_subscription",
        "MAX_UNACKED",
        refused="maxUnackedNum must be 0 or more",
    ),
    PolicyPlace(
        "maxMessageSize",
        "max_message_size",
        "",
        refused=(
            "topic-level maxMessageSize must be greater than or equal to 0 and must be smaller than that in the"
            " broker-level"
        ),
    ),
    PolicyPlace("deduplicationEnabled", "deduplication_enabled", "DEDUPLICATION"),
    PolicyPlace(
        "deduplicationSnapshotInterval",
        "deduplication_snapshot_seconds",
        "DEDUPLICATION_SNAPSHOT",
        refused="interval must be 0 or more",
    ),
    PolicyPlace("delayedDelivery", "delayed_delivery", "DELAYED_DELIVERY"),
    PolicyPlace("inactiveTopicPolicies", "inactive_topics", "INACTIVE_TOPIC"),
    PolicyPlace("autoSubscriptionCreation", "auto_subscription_creation", "AUTO_SUBSCRIPTION_CREATION"),
    PolicyPlace("subscriptionTypesEnabled", "subscription_types", "SUBSCRIPTION_AUTH_MODE", unset=[]),
    PolicyPlace(
        "schemaCompatibilityStrategy", "schema_compatibility_strategy", "SCHEMA_COMPATIBILITY_STRATEGY", write="PUT"
    ),
    PolicyPlace("schemaValidationEnforced", "schema_validation_enforced", "SCHEMA_COMPATIBILITY_STRATEGY", unset=False),
    PolicyPlace("persistence", "persistence", "PERSISTENCE"),
    PolicyPlace("offloadPolicies", "offload", "OFFLOAD"),
    _PAUSE,
)

# The value of these is in the query of the request that sets them.
TOPIC_IN_QUERY = (
    PolicyPlace("messageTTL", "ttl_seconds", "TTL"),
    PolicyPlace(
        "subscriptionExpirationTime",  # since Pulsar 4.2
        "subscription_expiration_minutes",
        "SUBSCRIPTION_EXPIRATION_TIME",
        refused="Invalid value for subscription expiration time",
    ),
)
