"""A topic's policies as the object `TopicPolicies` of Apache Pulsar's events, and back. Pure.

Policies that this broker does not have are ignored. The names are those of Pulsar's class; REST has others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from broker_core.errors import BrokerError
from broker_core.metadata.policies.json_values import OnBad, mapping
from broker_core.metadata.policies.policy_set import PolicySet, as_json
from broker_core.metadata.policies.topic_policies import POLICIES

NAMES = {
    "retention": "retentionPolicies",
    "ttl_seconds": "messageTTLInSeconds",
    "compaction_threshold": "compactionThreshold",
    "offload": "offloadPolicies",
    "publish_rate": "publishRate",
    "dispatch_rate": "dispatchRate",
    "subscription_dispatch_rate": "subscriptionDispatchRate",
    "replicator_dispatch_rate": "replicatorDispatchRate",
    "subscribe_rate": "subscribeRate",
    "max_producers": "maxProducerPerTopic",
    "max_consumers": "maxConsumerPerTopic",
    "max_consumers_per_subscription": "maxConsumersPerSubscription",
    "max_subscriptions": "maxSubscriptionsPerTopic",
    "max_unacked_per_consumer": "maxUnackedMessagesOnConsumer",
    "max_unacked_per_subscription": "maxUnackedMessagesOnSubscription",
    "max_message_size": "maxMessageSize",
    "replication_clusters": "replicationClusters",
    "deduplication_enabled": "deduplicationEnabled",
    "deduplication_snapshot_seconds": "deduplicationSnapshotIntervalSeconds",
    "inactive_topics": "inactiveTopicPolicies",
    "auto_subscription_creation": "autoSubscriptionCreationOverride",
    "subscription_types": "subscriptionTypesEnabled",
    "schema_compatibility_strategy": "schemaCompatibilityStrategy",
    "schema_validation_enforced": "schemaValidationEnforced",
    "dispatcher_pause": "dispatcherPauseOnAckStatePersistentEnabled",
    "persistence": "persistence",
    "subscription_expiration_minutes": "subscriptionExpirationTimeInMinutes",  # since Pulsar 4.2: only read
}
"""Policies whose values look the same as in the REST API."""
QUOTAS = {"size_quota": "destination_storage", "age_quota": "message_age"}
DELAYED = {
    "active": "delayedDeliveryEnabled",
    "tickTime": "delayedDeliveryTickTimeMillis",
    "maxDeliveryDelayInMillis": "delayedDeliveryMaxDelayInMillis",
}


def to_event(policies: PolicySet) -> dict[str, Any]:
    """The collections are never null, as Pulsar expects."""
    values = {field: as_json(value) for field, value in policies}
    delayed = values.get("delayed_delivery") or {}
    return {
        "isGlobal": True,
        "subscriptionTypesEnabled": [],
        "backLogQuotaMap": {kind: values[field] for field, kind in QUOTAS.items() if field in values},
        "subscriptionPolicies": {
            name: {"dispatchRate": rate} for name, rate in (values.get("dispatch_rates") or {}).items()
        },
        **{name: int(delayed[key]) if key != "active" else delayed[key] for key, name in DELAYED.items() if delayed},
        **{name: values[field] for field, name in NAMES.items() if field in values},
    }


def from_event(event: Mapping[str, Any], on_bad: OnBad) -> PolicySet:
    """`on_bad` gets each value that is invalid here; it is left out, and the other ones still apply."""
    policies = {}
    for field, read in _values(event):
        try:
            value = read()
            if value is not None:
                policies[field] = POLICIES[field].read(value, field)
        except BrokerError as error:
            on_bad(field, error)
    return PolicySet(**policies)


def _values(event: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Functions that look up a value, or None. They raise `InvalidRequest` if its object has another shape."""
    for field, name in NAMES.items():
        yield field, partial(event.get, name)
    for field, kind in QUOTAS.items():
        yield field, partial(_quota, event, kind)
    yield "dispatch_rates", partial(_dispatch_rates, event)
    yield "delayed_delivery", partial(_delayed_delivery, event)


def _quota(event: Mapping[str, Any], kind: str) -> Any:
    return mapping(event.get("backLogQuotaMap") or {}, "backLogQuotaMap").get(kind)


def _dispatch_rates(event: Mapping[str, Any]) -> Any:
    subscriptions = mapping(event.get("subscriptionPolicies") or {}, "subscriptionPolicies")
    rates = {name: mapping(policies or {}, name).get("dispatchRate") for name, policies in subscriptions.items()}
    return {name: rate for name, rate in rates.items() if rate is not None} or None


def _delayed_delivery(event: Mapping[str, Any]) -> Any:
    delayed = {key: event.get(name) for key, name in DELAYED.items()}
    return delayed if delayed["active"] is not None else None
