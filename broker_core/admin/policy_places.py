"""Where the REST API has each policy of a namespace and of a topic: names, methods, and answers of Pulsar's paths.

`broker_core.policies` declares the policies themselves; the two levels use different names for several of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PolicyPlace:
    """`name`: last part of the path. `field`: of `TopicPolicies`. `unset`: the answer if nothing is set, None for 204;
    `falls_back`: answers with the policy in force instead. `refused`: the reason for a number out of bounds, if it is
    not `<name> must be 0 or more`.
    """

    name: str
    field: str
    unset: Any = None
    refused: str = ""
    write: str = "POST"
    removable: bool = True
    falls_back: bool = False


NAMESPACE = (
    PolicyPlace("retention", "retention"),
    PolicyPlace("messageTTL", "ttl_seconds", refused="Invalid value for message TTL, message TTL must >= 0"),
    PolicyPlace("compactionThreshold", "compaction_threshold", write="PUT"),
    PolicyPlace("publishRate", "publish_rate"),
    PolicyPlace("dispatchRate", "dispatch_rate"),
    PolicyPlace("subscriptionDispatchRate", "subscription_dispatch_rate"),
    PolicyPlace("replicatorDispatchRate", "replicator_dispatch_rate"),
    PolicyPlace("subscribeRate", "subscribe_rate"),
    PolicyPlace("maxProducersPerTopic", "max_producers"),
    PolicyPlace("maxConsumersPerTopic", "max_consumers"),
    PolicyPlace("maxConsumersPerSubscription", "max_consumers_per_subscription"),
    PolicyPlace("maxSubscriptionsPerTopic", "max_subscriptions"),
    PolicyPlace("maxTopicsPerNamespace", "max_topics", unset=0),
    PolicyPlace("maxUnackedMessagesPerConsumer", "max_unacked_per_consumer"),
    PolicyPlace("maxUnackedMessagesPerSubscription", "max_unacked_per_subscription"),
    PolicyPlace("deduplication", "deduplication_enabled"),
    PolicyPlace(
        "deduplicationSnapshotInterval",
        "deduplication_snapshot_seconds",
        refused="interval must be greater than or equal to 0",
        removable=False,
    ),
    PolicyPlace("delayedDelivery", "delayed_delivery"),
    PolicyPlace("inactiveTopicPolicies", "inactive_topics"),
    PolicyPlace("autoTopicCreation", "auto_topic_creation"),
    PolicyPlace("autoSubscriptionCreation", "auto_subscription_creation"),
    PolicyPlace(
        "subscriptionExpirationTime",
        "subscription_expiration_minutes",
        refused="Invalid value for subscription expiration time",
    ),
    PolicyPlace("subscriptionTypesEnabled", "subscription_types", unset=[]),
    PolicyPlace("encryptionRequired", "encryption_required", unset=False, removable=False),
    PolicyPlace(
        "schemaCompatibilityStrategy",
        "schema_compatibility_strategy",
        unset="UNDEFINED",
        write="PUT",
        removable=False,
    ),
    PolicyPlace(
        "schemaAutoUpdateCompatibilityStrategy", "schema_auto_update", unset="Full", write="PUT", removable=False
    ),
    PolicyPlace("schemaValidationEnforced", "schema_validation_enforced", unset=False, removable=False),
    PolicyPlace("isAllowAutoUpdateSchema", "allow_schema_update", removable=False, falls_back=True),
    PolicyPlace("persistence", "persistence"),
)

TOPIC = (
    PolicyPlace("retention", "retention"),
    PolicyPlace("compactionThreshold", "compaction_threshold", refused="Invalid value for compactionThreshold"),
    PolicyPlace("publishRate", "publish_rate"),
    PolicyPlace("dispatchRate", "dispatch_rate"),
    PolicyPlace("subscriptionDispatchRate", "subscription_dispatch_rate"),
    PolicyPlace("replicatorDispatchRate", "replicator_dispatch_rate"),
    PolicyPlace("subscribeRate", "subscribe_rate"),
    PolicyPlace("maxProducers", "max_producers"),
    PolicyPlace("maxConsumers", "max_consumers"),
    PolicyPlace(
        "maxConsumersPerSubscription",
        "max_consumers_per_subscription",
        refused="Invalid value for maxConsumersPerSubscription",
    ),
    PolicyPlace("maxSubscriptionsPerTopic", "max_subscriptions"),
    PolicyPlace("maxUnackedMessagesOnConsumer", "max_unacked_per_consumer", refused="maxUnackedNum must be 0 or more"),
    PolicyPlace(
        "maxUnackedMessagesOnSubscription",
        "max_unacked_per_subscription",
        refused="maxUnackedNum must be 0 or more",
    ),
    PolicyPlace(
        "maxMessageSize",
        "max_message_size",
        refused=(
            "topic-level maxMessageSize must be greater than or equal to 0 and must be smaller than that in the"
            " broker-level"
        ),
    ),
    PolicyPlace("deduplicationEnabled", "deduplication_enabled"),
    PolicyPlace(
        "deduplicationSnapshotInterval", "deduplication_snapshot_seconds", refused="interval must be 0 or more"
    ),
    PolicyPlace("delayedDelivery", "delayed_delivery"),
    PolicyPlace("inactiveTopicPolicies", "inactive_topics"),
    PolicyPlace("autoSubscriptionCreation", "auto_subscription_creation"),
    PolicyPlace("subscriptionTypesEnabled", "subscription_types", unset=[]),
    PolicyPlace("schemaCompatibilityStrategy", "schema_compatibility_strategy", write="PUT"),
    PolicyPlace("schemaValidationEnforced", "schema_validation_enforced", unset=False),
    PolicyPlace("persistence", "persistence"),
)
