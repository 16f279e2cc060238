"""Where each policy is found over REST, of a namespace and of a topic: names, methods and answers of Pulsar's paths.

The policies themselves are declared in `broker_core.policies`; the two levels call several of them differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """`name`: last part of the path. `field`: of `TopicPolicies`. `unset`: what reading answers when nothing is set,
    None for 204; `falls_back`: it answers what is in force. `refused`: the reason for a number that is out of bounds,
    where it is not `<name> must be 0 or more`.
    """

    name: str
    field: str
    unset: Any = None
    refused: str = ""
    write: str = "POST"
    removable: bool = True
    falls_back: bool = False


NAMESPACE = (
    Place("retention", "retention"),
    Place("messageTTL", "ttl_seconds", refused="Invalid value for message TTL, message TTL must >= 0"),
    Place("compactionThreshold", "compaction_threshold", write="PUT"),
    Place("publishRate", "publish_rate"),
    Place("dispatchRate", "dispatch_rate"),
    Place("subscriptionDispatchRate", "subscription_dispatch_rate"),
    Place("replicatorDispatchRate", "replicator_dispatch_rate"),
    Place("subscribeRate", "subscribe_rate"),
    Place("maxProducersPerTopic", "max_producers"),
    Place("maxConsumersPerTopic", "max_consumers"),
    Place("maxConsumersPerSubscription", "max_consumers_per_subscription"),
    Place("maxSubscriptionsPerTopic", "max_subscriptions"),
    Place("maxTopicsPerNamespace", "max_topics", unset=0),
    Place("maxUnackedMessagesPerConsumer", "max_unacked_per_consumer"),
    Place("maxUnackedMessagesPerSubscription", "max_unacked_per_subscription"),
    Place("deduplication", "deduplication_enabled"),
    Place(
        "deduplicationSnapshotInterval",
        "deduplication_snapshot_seconds",
        refused="interval must be greater than or equal to 0",
        removable=False,
    ),
    Place("delayedDelivery", "delayed_delivery"),
    Place("inactiveTopicPolicies", "inactive_topics"),
    Place("autoTopicCreation", "auto_topic_creation"),
    Place("autoSubscriptionCreation", "auto_subscription_creation"),
    Place(
        "subscriptionExpirationTime",
        "subscription_expiration_minutes",
        refused="Invalid value for subscription expiration time",
    ),
    Place("subscriptionTypesEnabled", "subscription_types", unset=[]),
    Place("encryptionRequired", "encryption_required", unset=False, removable=False),
    Place(
        "schemaCompatibilityStrategy",
        "schema_compatibility_strategy",
        unset="UNDEFINED",
        write="PUT",
        removable=False,
    ),
    Place("schemaAutoUpdateCompatibilityStrategy", "schema_auto_update", unset="Full", write="PUT", removable=False),
    Place("schemaValidationEnforced", "schema_validation_enforced", unset=False, removable=False),
    Place("isAllowAutoUpdateSchema", "allow_schema_update", removable=False, falls_back=True),
    Place("persistence", "persistence"),
)

TOPIC = (
    Place("retention", "retention"),
    Place("compactionThreshold", "compaction_threshold", refused="Invalid value for compactionThreshold"),
    Place("publishRate", "publish_rate"),
    Place("dispatchRate", "dispatch_rate"),
    Place("subscriptionDispatchRate", "subscription_dispatch_rate"),
    Place("replicatorDispatchRate", "replicator_dispatch_rate"),
    Place("subscribeRate", "subscribe_rate"),
    Place("maxProducers", "max_producers"),
    Place("maxConsumers", "max_consumers"),
    Place(
        "maxConsumersPerSubscription",
        "max_consumers_per_subscription",
        refused="Invalid value for maxConsumersPerSubscription",
    ),
    Place("maxSubscriptionsPerTopic", "max_subscriptions"),
    Place("maxUnackedMessagesOnConsumer", "max_unacked_per_consumer", refused="maxUnackedNum must be 0 or more"),
    Place(
        "maxUnackedMessagesOnSubscription",
        "max_unacked_per_subscription",
        refused="maxUnackedNum must be 0 or more",
    ),
    Place(
        "maxMessageSize",
        "max_message_size",
        refused=(
            "topic-level maxMessageSize must be greater than or equal to 0 and must be smaller than that in the"
            " broker-level"
        ),
    ),
    Place("deduplicationEnabled", "deduplication_enabled"),
    Place("deduplicationSnapshotInterval", "deduplication_snapshot_seconds", refused="interval must be 0 or more"),
    Place("delayedDelivery", "delayed_delivery"),
    Place("inactiveTopicPolicies", "inactive_topics"),
    Place("autoSubscriptionCreation", "auto_subscription_creation"),
    Place("subscriptionTypesEnabled", "subscription_types", unset=[]),
    Place("schemaCompatibilityStrategy", "schema_compatibility_strategy", write="PUT"),
    Place("schemaValidationEnforced", "schema_validation_enforced", unset=False),
    Place("persistence", "persistence"),
)
