"""A namespace: its policies, clusters, bundles, and properties, and their JSON forms. Pure.

The stored document and the REST body both use the field names of Pulsar's `Policies` object. The document holds only
what was set; `to_body` adds the values that Pulsar shows for a new namespace.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import Any

from broker_core.config.frozen import frozen
from broker_core.metadata.policies.json_values import Fields, OnBad, names, properties, refuse
from broker_core.metadata.policies.kept import AUTH_POLICIES, LOCAL_FIELDS, read_kept
from broker_core.metadata.policies.policy_set import NOTHING_SET, PolicySet
from broker_core.metadata.tenancy.bundles import Bundles
from broker_core.names import NamespaceName

# What Pulsar 4.0 shows for a new namespace, in addition to the fields of the class below.
_FRESH: dict[str, Any] = {
    AUTH_POLICIES: {"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}},
    "allowed_clusters": [],
    "backlog_quota_map": {},
    "clusterDispatchRate": {},
    "topicDispatchRate": {},
    "subscriptionDispatchRate": {},
    "replicatorDispatchRate": {},
    "clusterSubscribeRate": {},
    "publishMaxMessageRate": {},
    "latency_stats_sample_rate": {},
    "deleted": False,
    "encryption_required": False,
    "subscription_auth_mode": "None",
    "offload_threshold": -1,
    "offload_threshold_in_seconds": -1,
    "schema_compatibility_strategy": "UNDEFINED",
    "is_allow_auto_update_schema": True,
    "schema_validation_enforced": False,
    "subscription_types_enabled": [],
    "migrated": False,
}
# The order in which Pulsar shows its fields; tools print them in this order.
_ORDER = (
    AUTH_POLICIES,
    "replication_clusters",
    "allowed_clusters",
    "bundles",
    "backlog_quota_map",
    "clusterDispatchRate",
    "topicDispatchRate",
    "subscriptionDispatchRate",
    "replicatorDispatchRate",
    "clusterSubscribeRate",
    "persistence",
    "deduplicationEnabled",
    "autoTopicCreationOverride",
    "autoSubscriptionCreationOverride",
    "publishMaxMessageRate",
    "latency_stats_sample_rate",
    "message_ttl_in_seconds",
    "subscription_expiration_time_minutes",
    "retention_policies",
    "deleted",
    "encryption_required",
    "delayed_delivery_policies",
    "inactive_topic_policies",
    "subscription_auth_mode",
    "max_producers_per_topic",
    "max_consumers_per_topic",
    "max_consumers_per_subscription",
    "max_unacked_messages_per_consumer",
    "max_unacked_messages_per_subscription",
    "max_subscriptions_per_topic",
    "compaction_threshold",
    "offload_threshold",
    "offload_threshold_in_seconds",
    "offload_deletion_lag_ms",
    "max_topics_per_namespace",
    "schema_auto_update_compatibility_strategy",
    "schema_compatibility_strategy",
    "is_allow_auto_update_schema",
    "schema_validation_enforced",
    "offload_policies",
    "deduplicationSnapshotIntervalSeconds",
    "subscription_types_enabled",
    "allowed_topic_property_keys_for_metrics",
    "properties",
    "resource_group_name",
    "migrated",
)


@frozen
class Namespace:
    """`kept`: fields that are stored and shown as they were sent, permissions among them (`metadata.policies.kept`)."""

    name: NamespaceName
    replication_clusters: tuple[str, ...]
    bundles: Bundles
    cluster: str
    policies: PolicySet = NOTHING_SET
    properties: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_document(
        cls,
        name: NamespaceName,
        document: Mapping[str, Any],
        *,
        cluster: str,
        default_bundles: int,
        most_bundles: int,
        on_bad: OnBad = refuse,
    ) -> "Namespace":
        """Reads a `Policies` object, stored or sent; unknown fields and nulls are ignored, as in Pulsar.

        `on_bad` gets each invalid value with Pulsar's reason; the default raises `InvalidRequest` or
        `InvalidValue`. If it returns, the field counts as absent.
        """
        fields = Fields(document, on_bad)
        bundles = fields.read("bundles", partial(Bundles.from_document, default_bundles, most_bundles))
        return cls(
            name,
            fields.read("replication_clusters", names) or (cluster,),
            bundles or Bundles.evenly(default_bundles),
            cluster,
            PolicySet.from_document(document, cluster, on_bad),
            fields.read("properties", properties, {}),
            read_kept(fields),
        )

    def to_document(self) -> dict[str, Any]:
        return {
            **self.kept,
            "replication_clusters": list(self.replication_clusters),
            "bundles": self.bundles.to_document(),
            "properties": dict(self.properties),
            **self.policies.to_document(self.cluster),
        }

    def to_body(self) -> dict[str, Any]:
        values = {key: value for key, value in {**_FRESH, **self.to_document()}.items() if key not in LOCAL_FIELDS}
        values["clusterDispatchRate"] = values["topicDispatchRate"]  # its former name, which tools still read
        return {key: values.pop(key) for key in _ORDER if key in values} | values
