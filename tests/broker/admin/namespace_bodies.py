"""Bodies of official tools for a new namespace: pulsar-admin's Policies object and the Go library's zero values."""

from typing import Any

EMPTY_RATES = dict.fromkeys(
    (
        "clusterDispatchRate",
        "topicDispatchRate",
        "subscriptionDispatchRate",
        "replicatorDispatchRate",
        "clusterSubscribeRate",
        "publishMaxMessageRate",
    )
)
PULSAR_ADMIN: dict[str, Any] = {
    "auth_policies": {"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}},
    "replication_clusters": ["standalone"],
    "bundles": {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2},
    "backlog_quota_map": {},
    **{name: {} for name in EMPTY_RATES},
    "persistence": None,
    "deduplicationEnabled": None,
    "latency_stats_sample_rate": {},
    "message_ttl_in_seconds": None,
    "retention_policies": None,
    "deleted": False,
    "encryption_required": False,
    "subscription_auth_mode": "None",
    "offload_threshold": -1,
    "offload_threshold_in_seconds": -1,
    "schema_auto_update_compatibility_strategy": None,
    "schema_compatibility_strategy": "UNDEFINED",
    "is_allow_auto_update_schema": True,
    "schema_validation_enforced": False,
    "subscription_types_enabled": [],
    "properties": {},
    "migrated": False,
}
FULL: dict[str, Any] = {
    **PULSAR_ADMIN,
    "publishMaxMessageRate": {"standalone": {"publishThrottlingRateInMsg": 7, "publishThrottlingRateInByte": 8}},
    "topicDispatchRate": {"standalone": {"dispatchThrottlingRateInMsg": 9}},
    "clusterSubscribeRate": {"standalone": {"subscribeThrottlingRatePerConsumer": 10, "ratePeriodInSecond": 11}},
    "backlog_quota_map": {"message_age": {"limitTime": 12, "limitSize": -1, "policy": "producer_exception"}},
    "subscription_types_enabled": ["Shared"],
    "encryption_required": True,
    "offload_policies": {"managedLedgerOffloadThresholdInBytes": 5},
    "resource_group_name": "some",
    "schema_compatibility_strategy": "FULL",
    "schema_validation_enforced": True,
    "is_allow_auto_update_schema": False,
}
GO: dict[str, Any] = {
    "auth_policies": {"namespace_auth": None, "destination_auth": None, "subscription_auth_roles": None},
    "replication_clusters": None,
    "bundles": {"boundaries": None, "numBundles": 3},
    "backlog_quota_map": None,
    **EMPTY_RATES,
    "latency_stats_sample_rate": None,
    "message_ttl_in_seconds": 0,
    "deleted": False,
    "encryption_required": False,
    "subscription_auth_mode": "",
    "offload_threshold": 0,
    "antiAffinityGroup": "",
    "schema_auto_update_compatibility_strategy": "",
    "schema_compatibility_strategy": "",
    "is_allow_auto_update_schema": False,
    "schema_validation_enforced": False,
    "properties": None,
}
