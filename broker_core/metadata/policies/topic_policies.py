"""The policies that a namespace or a topic can have: each declared once, in `TopicPolicies`. Pure.

Each policy in force comes from the topic, else from its namespace, else from the broker's configuration (Pulsar docs,
"Topic policies"). `policy(...)` says where a policy stands in Pulsar's `Policies` document, how its value is read and
checked, and which value the configuration has. `policy_set` holds the policies set at one level.
"""

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import COMPATIBILITY_STRATEGIES
from broker_core.config.frozen import frozen
from broker_core.config.metric_labels import check_labels, labels_in
from broker_core.config.offload import OffloadConfig
from broker_core.errors import InvalidRequest, InvalidValue
from broker_core.metadata.policies.json_values import (
    Reader,
    int32,
    mapping_of,
    name_or_none,
    names,
    truth,
    whole_number,
)
from broker_core.metadata.policies.offload_policies import (
    OffloadPolicies,
    OffloadRules,
    configured_store,
    rules_of,
)
from broker_core.metadata.policies.values import (
    NON_PARTITIONED,
    AutoSubscriptionCreation,
    AutoTopicCreation,
    BacklogQuota,
    DelayedDelivery,
    DispatchRate,
    InactiveTopics,
    Persistence,
    PublishRate,
    RetentionPolicy,
    SubscribeRate,
)

Configured = Callable[[BrokerConfig], Any]

SUBSCRIPTION_TYPES = ("Exclusive", "Shared", "Failover", "Key_Shared")
# The strategy for a namespace that has only the older setting.
STRATEGY_OF_AUTO_UPDATE = {
    "AutoUpdateDisabled": "ALWAYS_INCOMPATIBLE",
    "Backward": "BACKWARD",
    "Forward": "FORWARD",
    "Full": "FULL",
    "AlwaysCompatible": "ALWAYS_COMPATIBLE",
    "BackwardTransitive": "BACKWARD_TRANSITIVE",
    "ForwardTransitive": "FORWARD_TRANSITIVE",
    "FullTransitive": "FULL_TRANSITIVE",
}
CLUSTER = "{cluster}"  # placeholder in a path: Pulsar stores rates under the name of their cluster


class Policy(NamedTuple):
    """`path` in the document, outermost name first; `field` of `TopicPolicies` and key of a `PolicySet`."""

    path: tuple[str, ...]
    read: Reader
    configured: Configured
    field: str = ""


def policy(path: str, read: Reader, configured: Configured) -> Any:
    """Declares a policy; `path` separates names with `/`."""
    return dataclasses.field(metadata={"policy": Policy(tuple(path.split("/")), read, configured)})


def at_least_zero(read: Reader) -> Reader:
    def checked(value: Any, name: str) -> int:
        number: int = read(value, name)
        if number < 0:
            raise InvalidValue(f"{name} must be 0 or more")
        return number

    return checked


_count = at_least_zero(int32)


def _ttl(value: Any, name: str) -> int:
    number = int32(value, name)
    if number < 0:
        raise InvalidValue("Invalid value for message TTL")
    return number


def _subscription_types(value: Any, name: str) -> tuple[str, ...] | None:
    """Read the types; return None for an empty list, which enables all types."""
    types = set(names(value, name))
    if not types <= set(SUBSCRIPTION_TYPES):
        raise InvalidRequest(f"{name} must be among {', '.join(SUBSCRIPTION_TYPES)}")
    return tuple(sorted(types, key=SUBSCRIPTION_TYPES.index)) or None


def _labels(value: Any, name: str) -> tuple[str, ...]:
    keys = tuple(dict.fromkeys(names(value, name)))
    check_labels(keys)
    return keys


def _auto_topic_creation(config: BrokerConfig) -> AutoTopicCreation:
    topics = config.topics
    partitions = None if topics.auto_creation_type == NON_PARTITIONED else topics.default_partitions
    return AutoTopicCreation(topics.allow_auto_creation, topics.auto_creation_type, partitions)


@frozen
class TopicPolicies:
    """The policies in force for one topic.

    In limits and thresholds, 0 means no limit. `ttl_seconds` 0 means no expiry; `compaction_threshold` 0 means never.
    Only a namespace can set `encryption_required`, `max_topics`, `auto_topic_creation`, `schema_auto_update`,
    `allow_schema_update`, `subscription_auth_mode`, `metric_labels`, and what begins with `offload_`. Only a topic can
    set `max_message_size`, `replication_clusters`, and `dispatch_rates` (by subscription name).
    """

    retention: RetentionPolicy = policy(
        "retention_policies",
        RetentionPolicy.from_document,
        lambda c: RetentionPolicy(
            c.policies.retention_minutes, c.policies.retention_mb, c.policies.open_ledger_seconds
        ),
    )
    ttl_seconds: int = policy("message_ttl_in_seconds", _ttl, lambda c: c.policies.ttl_seconds)
    compaction_threshold: int = policy(
        "compaction_threshold", at_least_zero(whole_number), lambda c: c.policies.compaction_threshold
    )
    size_quota: BacklogQuota = policy(
        "backlog_quota_map/destination_storage",
        BacklogQuota.from_document,
        lambda c: BacklogQuota(c.backlog_quota.limit_bytes, -1, c.backlog_quota.default_policy),
    )
    age_quota: BacklogQuota = policy(
        "backlog_quota_map/message_age",
        BacklogQuota.from_document,
        lambda c: BacklogQuota(-1, c.backlog_quota.default_seconds, c.backlog_quota.default_policy),
    )

    # Tiered storage
    offload: OffloadPolicies = policy(
        "offload_policies", OffloadPolicies.from_document, lambda c: configured_store(c.offload)
    )
    offload_threshold_bytes: int = policy("offload_threshold", whole_number, lambda c: c.offload.threshold_bytes)
    offload_threshold_seconds: int = policy(
        "offload_threshold_in_seconds", whole_number, lambda c: c.offload.threshold_seconds
    )
    offload_deletion_lag_ms: int = policy("offload_deletion_lag_ms", whole_number, lambda c: c.offload.deletion_lag_ms)

    # Rates
    publish_rate: PublishRate = policy(
        f"publishMaxMessageRate/{CLUSTER}",
        PublishRate.from_document,
        lambda c: PublishRate(c.rates.topic_publish_messages, c.rates.topic_publish_bytes),
    )
    dispatch_rate: DispatchRate = policy(
        f"topicDispatchRate/{CLUSTER}",
        DispatchRate.from_document,
        lambda c: DispatchRate(c.rates.topic_dispatch_messages, c.rates.topic_dispatch_bytes, c.rates.relative, 1),
    )
    subscription_dispatch_rate: DispatchRate = policy(
        f"subscriptionDispatchRate/{CLUSTER}",
        DispatchRate.from_document,
        lambda c: DispatchRate(
            c.rates.subscription_dispatch_messages, c.rates.subscription_dispatch_bytes, c.rates.relative, 1
        ),
    )
    dispatch_rates: Mapping[str, DispatchRate] = policy(
        "subscriptionDispatchRates", mapping_of(DispatchRate.from_document), lambda _: MappingProxyType({})
    )
    replicator_dispatch_rate: DispatchRate = policy(
        f"replicatorDispatchRate/{CLUSTER}", DispatchRate.from_document, lambda _: DispatchRate(period_seconds=1)
    )
    subscribe_rate: SubscribeRate = policy(
        f"clusterSubscribeRate/{CLUSTER}",
        SubscribeRate.from_document,
        lambda c: SubscribeRate(c.rates.subscribes_per_consumer, c.rates.subscribe_period_seconds),
    )

    # Limits
    max_producers: int = policy("max_producers_per_topic", _count, lambda c: c.topics.max_producers)
    max_consumers: int = policy("max_consumers_per_topic", _count, lambda c: c.topics.max_consumers)
    max_consumers_per_subscription: int = policy(
        "max_consumers_per_subscription", _count, lambda c: c.topics.max_consumers_per_subscription
    )
    max_subscriptions: int = policy("max_subscriptions_per_topic", _count, lambda c: c.topics.max_subscriptions)
    max_topics: int = policy("max_topics_per_namespace", _count, lambda c: c.topics.max_topics)
    max_unacked_per_consumer: int = policy(
        "max_unacked_messages_per_consumer", _count, lambda c: c.dispatch.max_unacked_per_consumer
    )
    max_unacked_per_subscription: int = policy(
        "max_unacked_messages_per_subscription", _count, lambda c: c.dispatch.max_unacked_per_subscription
    )
    max_message_size: int = policy("maxMessageSize", _count, lambda _: 0)

    replication_clusters: tuple[str, ...] = policy("replicationClusters", names, lambda c: (c.server.cluster_name,))

    # What a topic does
    deduplication_enabled: bool = policy("deduplicationEnabled", truth, lambda c: c.deduplication.enabled)
    deduplication_snapshot_seconds: int = policy(
        "deduplicationSnapshotIntervalSeconds", _count, lambda c: c.deduplication.snapshot_seconds
    )
    delayed_delivery: DelayedDelivery = policy(
        "delayed_delivery_policies",
        DelayedDelivery.from_document,
        lambda c: DelayedDelivery(c.delayed.tick_ms, c.delayed.enabled, c.delayed.max_delay_ms),
    )
    inactive_topics: InactiveTopics = policy(
        "inactive_topic_policies",
        InactiveTopics.from_document,
        lambda c: InactiveTopics(c.inactive.mode, c.inactive.most_seconds, c.inactive.delete),
    )
    auto_topic_creation: AutoTopicCreation = policy(
        "autoTopicCreationOverride", AutoTopicCreation.from_document, _auto_topic_creation
    )
    auto_subscription_creation: AutoSubscriptionCreation = policy(
        "autoSubscriptionCreationOverride",
        AutoSubscriptionCreation.from_document,
        lambda c: AutoSubscriptionCreation(c.topics.allow_auto_subscription),
    )
    subscription_expiration_minutes: int = policy(
        "subscription_expiration_time_minutes", _count, lambda c: c.topics.subscription_expiration_minutes
    )
    subscription_types: tuple[str, ...] = policy(
        "subscription_types_enabled", _subscription_types, lambda c: tuple(c.topics.subscription_types.split(","))
    )
    encryption_required: bool = policy("encryption_required", truth, lambda c: c.topics.encryption_required)
    schema_compatibility_strategy: str = policy(
        "schema_compatibility_strategy", name_or_none(*COMPATIBILITY_STRATEGIES), lambda c: c.schema.compatibility
    )
    schema_auto_update: str = policy(
        "schema_auto_update_compatibility_strategy", name_or_none(*STRATEGY_OF_AUTO_UPDATE), lambda _: ""
    )
    schema_validation_enforced: bool = policy(
        "schema_validation_enforced", truth, lambda c: c.schema.validation_enforced
    )
    allow_schema_update: bool = policy("is_allow_auto_update_schema", truth, lambda c: c.schema.allow_update)
    dispatcher_pause: bool = policy("dispatcherPauseOnAckStatePersistentEnabled", truth, lambda _: False)
    subscription_auth_mode: str = policy("subscription_auth_mode", name_or_none("None", "Prefix"), lambda _: "None")
    persistence: Persistence = policy("persistence", Persistence.from_document, lambda _: Persistence(1, 1, 1, 0.1))
    metric_labels: tuple[str, ...] = policy(
        "allowed_topic_property_keys_for_metrics", _labels, lambda c: labels_in(c.metrics.property_keys)
    )

    def offload_rules(self, config: OffloadConfig) -> OffloadRules:
        return rules_of(
            self.offload,
            self.offload_threshold_bytes,
            self.offload_threshold_seconds,
            self.offload_deletion_lag_ms,
            config,
        )


POLICIES: Mapping[str, Policy] = {
    field.name: field.metadata["policy"]._replace(field=field.name) for field in dataclasses.fields(TopicPolicies)
}
