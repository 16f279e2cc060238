"""A topic's policies as the object `TopicPolicies` of Apache Pulsar's events, and back. Pure.

Policies that this broker does not have are ignored. The names are those of Pulsar's class; REST has others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from broker_core.errors import BrokerError
from broker_core.policies.json_values import mapping
from broker_core.policies.policy_set import PolicySet, as_json
from broker_core.policies.topic_policies import POLICIES

log = logging.getLogger(__name__)

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
}
"""Of the policies whose values look as in the REST API."""
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


def from_event(event: Mapping[str, Any], topic: str) -> PolicySet:
    """A value that is invalid here is left out, with a line in the log: the other ones still apply."""
    found = {}
    for field, value in _values(event):
        try:
            found[field] = POLICIES[field].read(value, field)
        except BrokerError as error:
            log.warning("topic %s: cannot use its policy %s of another cluster: %s", topic, field, error)
    return PolicySet(**found)


def _values(event: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    quotas = mapping(event.get("backLogQuotaMap") or {}, "backLogQuotaMap")
    subscriptions = mapping(event.get("subscriptionPolicies") or {}, "subscriptionPolicies")
    rates = {name: (one or {}).get("dispatchRate") for name, one in subscriptions.items()}
    delayed = {key: event.get(name) for key, name in DELAYED.items()}
    special = {
        **{field: quotas.get(kind) for field, kind in QUOTAS.items()},
        "dispatch_rates": {name: rate for name, rate in rates.items() if rate is not None} or None,
        "delayed_delivery": delayed if delayed["active"] is not None else None,
    }
    plain = {field: event.get(name) for field, name in NAMES.items()}
    yield from ((field, value) for field, value in (special | plain).items() if value is not None)
