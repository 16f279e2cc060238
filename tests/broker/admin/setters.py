"""Two sample bodies for each route of the admin API that changes something.

The routes come from the routing table. `test_restarts` fails for a route that is in none of the tables below.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from broker_core.admin.all_routes import all_routes
from broker_core.admin.routes import Route

API = "/admin/v2/"
NAMESPACE = f"{API}namespaces/{{tenant}}/{{namespace}}"
TOPIC = f"{API}{{domain}}/{{tenant}}/{{namespace}}/{{topic}}"
SCHEMA = f"{API}schemas/{{tenant}}/{{namespace}}/{{topic}}"

Bodies = tuple[Any, Any]


def _publish_rate(messages: int) -> dict[str, int]:
    return {"publishThrottlingRateInMsg": messages, "publishThrottlingRateInByte": 1 << 40}


def _dispatch_rate(messages: int) -> dict[str, Any]:
    rate = {"dispatchThrottlingRateInMsg": messages, "dispatchThrottlingRateInByte": 1 << 40}
    return {**rate, "relativeToPublishRate": True, "ratePeriodInSecond": 2}


def _subscribe_rate(times: int) -> dict[str, int]:
    return {"subscribeThrottlingRatePerConsumer": times, "ratePeriodInSecond": 10}


def _persistence(copies: int) -> dict[str, Any]:
    quorums = dict.fromkeys(("bookkeeperEnsemble", "bookkeeperWriteQuorum", "bookkeeperAckQuorum"), copies)
    return {**quorums, "managedLedgerMaxMarkDeleteRate": 1.5}


def _quota(rate: float) -> dict[str, Any]:
    rates = dict.fromkeys(("msgRateIn", "msgRateOut", "bandwidthIn", "bandwidthOut", "memory"), rate)
    return {**rates, "dynamic": False}


def _isolation(scope: str) -> dict[str, Any]:
    failover = {"policy_type": "min_available", "parameters": {"min_limit": "1", "usage_threshold": "80"}}
    brokers = {"primary": ["localhost"], "secondary": ["other.*"]}
    return {"namespaces": ["acme/.*"], **brokers, "auto_failover_policy": failover, "unload_scope": scope}


# Policies of namespaces and topics, by the last part of their path.
POLICIES: dict[str, Bodies] = {
    "retention": (
        {"retentionTimeInMinutes": 100, "retentionSizeInMB": 1000},
        {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1},
    ),
    "messageTTL": (100_000, 0),
    "compactionThreshold": (1 << 40, 0),
    "publishRate": (_publish_rate(1000), _publish_rate(-1)),
    "dispatchRate": (_dispatch_rate(1000), _dispatch_rate(-1)),
    "subscriptionDispatchRate": (_dispatch_rate(1001), _dispatch_rate(-1)),
    "replicatorDispatchRate": (_dispatch_rate(1002), _dispatch_rate(-1)),
    "subscribeRate": (_subscribe_rate(100), _subscribe_rate(-1)),
    "maxProducersPerTopic": (101, 0),
    "maxProducers": (102, 0),
    "maxConsumersPerTopic": (103, 0),
    "maxConsumers": (104, 0),
    "maxConsumersPerSubscription": (105, 0),
    "maxSubscriptionsPerTopic": (106, 0),
    "maxTopicsPerNamespace": (1007, 0),
    "maxUnackedMessagesPerConsumer": (1008, 0),
    "maxUnackedMessagesOnConsumer": (1009, 0),
    "maxUnackedMessagesPerSubscription": (1010, 0),
    "maxUnackedMessagesOnSubscription": (1011, 0),
    "maxMessageSize": (10_000, 0),
    "deduplication": (True, False),
    "deduplicationEnabled": (True, False),
    "deduplicationSnapshotInterval": (60, 0),
    "delayedDelivery": (
        {"tickTime": 500, "active": False, "maxDeliveryDelayInMillis": 5},
        {"tickTime": 2000, "active": True, "maxDeliveryDelayInMillis": 0},
    ),
    "inactiveTopicPolicies": (
        {
            "inactiveTopicDeleteMode": "delete_when_subscriptions_caught_up",
            "maxInactiveDurationSeconds": 100_000,
            "deleteWhileInactive": True,
        },
        {
            "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
            "maxInactiveDurationSeconds": 200_000,
            "deleteWhileInactive": False,
        },
    ),
    "autoTopicCreation": (
        {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 3},
        {"allowAutoTopicCreation": True, "topicType": "non-partitioned"},
    ),
    "autoSubscriptionCreation": ({"allowAutoSubscriptionCreation": False}, {"allowAutoSubscriptionCreation": True}),
    "subscriptionExpirationTime": (100_000, 0),
    "allowedTopicPropertyKeysForMetrics": (["owner", "team"], []),
    "subscriptionTypesEnabled": (["Shared"], ["Failover", "Key_Shared"]),
    "encryptionRequired": (True, False),
    "schemaCompatibilityStrategy": ("BACKWARD", "ALWAYS_COMPATIBLE"),
    "schemaAutoUpdateCompatibilityStrategy": ("Forward", "AutoUpdateDisabled"),
    "schemaValidationEnforced": (True, False),
    "isAllowAutoUpdateSchema": (False, True),
    "persistence": (_persistence(3), _persistence(1)),
    "replication": (["standalone"], ["standalone"]),
    "offloadThreshold": (1 << 40, -1),
    "offloadThresholdInSeconds": (100_000, -1),
    "offloadDeletionLagMs": (5000, 0),
    "offloadPolicies": (
        {"managedLedgerOffloadThresholdInBytes": 1 << 40},
        {"managedLedgerOffloadDeletionLagInMillis": 5, "managedLedgerOffloadedReadPriority": "BOOKKEEPER_FIRST"},
    ),
    "dispatcherPauseOnAckStatePersistent": (None, None),
    "subscriptionAuthMode": ("Prefix", "None"),
    "scalableTopicAutoScalePolicy": ({"maxSegments": 8}, {"enabled": False, "splitMsgRateInThreshold": 2000.5}),
    "antiAffinity": ("group", "other"),
    "allowedClusters": (["standalone"], ["standalone"]),
    "properties": ({"color": "red", "size": 1}, {"color": "blue"}),
    "backlogQuota": (
        {"limitSize": 1000, "limitTime": -1, "policy": "producer_exception"},
        {"limitSize": 2000, "limitTime": -1, "policy": "consumer_backlog_eviction"},
    ),
}

# Other setters by method and path: the sample bodies, or the reason why there are none.
OTHERS: dict[tuple[str, str], Bodies | str] = {
    ("POST", f"{TOPIC}/{{subscription}}/dispatchRate"): POLICIES["dispatchRate"],
    ("PUT", f"{TOPIC}/subscription/{{subscription}}"): "creates; the test makes its subscriptions by it",
    ("PUT", f"{TOPIC}/subscription/{{subscription}}/properties"): ({"color": "red"}, {"size": "2"}),
    ("POST", f"{SCHEMA}/schema"): (
        {"type": "STRING", "schema": "", "properties": {"color": "red"}},
        {"type": "STRING", "schema": "", "properties": {"color": "red"}},
    ),
    ("POST", f"{API}clusters/{{cluster}}"): (
        {"serviceUrl": "http://one:8080", "brokerServiceUrl": "pulsar://one:6650"},
        {"serviceUrl": "http://two:8080", "tlsAllowInsecureConnection": True},
    ),
    ("PUT", f"{API}clusters/{{cluster}}"): "creates; tests/broker/admin/test_clusters.py",
    ("POST", f"{API}clusters/{{cluster}}/peers"): ([], []),
    ("POST", f"{API}clusters/{{cluster}}/migrate"): (
        {"serviceUrl": "http://one:8080", "brokerServiceUrl": "pulsar://one:6650"},
        {"serviceUrlTls": "https://two:8443"},
    ),
    ("POST", f"{API}clusters/{{cluster}}/failureDomains/{{domainName}}"): ({"brokers": ["a:1"]}, {"brokers": []}),
    ("POST", f"{API}clusters/{{cluster}}/namespaceIsolationPolicies/{{policyName}}"): (
        _isolation("all_matching"),
        _isolation("none"),
    ),
    ("POST", f"{TOPIC}/subscription/{{subscription}}/replicatedSubscriptionStatus"): (True, False),
    ("POST", f"{NAMESPACE}/persistence/bookieAffinity"): (
        {"bookkeeperAffinityGroupPrimary": "a"},
        {"bookkeeperAffinityGroupPrimary": "b", "bookkeeperAffinityGroupSecondary": "c"},
    ),
    ("POST", f"{NAMESPACE}/resourcegroup/{{resourcegroup}}"): (None, None),
    ("PUT", f"{NAMESPACE}/property/{{key}}/{{value}}"): (None, None),
    ("POST", f"{NAMESPACE}/permissions/{{role}}"): (["produce"], ["produce", "consume"]),
    ("POST", f"{NAMESPACE}/permissions/subscription/{{subscription}}"): (["alice"], ["alice", "bob"]),
    ("POST", f"{TOPIC}/permissions/{{role}}"): (["consume"], ["functions"]),
    ("PUT", f"{API}resourcegroups/{{resourcegroup}}"): ({"publishRateInMsgs": 1}, {"dispatchRateInBytes": 2}),
    ("POST", f"{API}resource-quotas"): (_quota(1), _quota(2)),
    ("POST", f"{API}resource-quotas/{{tenant}}/{{namespace}}/{{bundle}}"): (_quota(3), _quota(4)),
    ("POST", f"{API}bookies/racks-info/{{bookie}}"): "needs a query: tests/broker/admin/test_records.py",
    ("POST", f"{TOPIC}/partitions"): "asked of partitioned topics by the test itself",
    ("PUT", f"{TOPIC}/partitions"): "creates; the test makes its topics by it",
    ("PUT", TOPIC): "creates; the test makes its topics by it",
    ("PUT", NAMESPACE): "creates; the test makes its namespaces by it",
    ("PUT", f"{API}tenants/{{tenant}}"): "creates; the test makes its tenants by it",
    ("POST", f"{API}tenants/{{tenant}}"): (
        {"adminRoles": ["alice"], "allowedClusters": ["standalone"]},
        {"adminRoles": ["bob", "carol"], "allowedClusters": ["standalone"]},
    ),
}

NOTHING_SET: dict[str, str] = {
    "brokers/configuration": "tests/broker/admin/test_configuration.py",
    "brokers/shutdown": "ends the process: tests/broker/admin/test_brokers.py",
    "PermissionsOnTopics": "several at once: tests/broker/admin/test_permissions.py",
    "entryFilters": "refused",
    "shadowTopics": "refused",
    "/autoScalePolicy": "tests/broker/scalable/test_auto_scale.py",
    "/admin/v2/scalable/": "tests/broker/scalable/test_layouts.py",
    "/admin/v2/segments/": "for tools; they make and seal topics",
    "metadata/migration": "refused",
    "migration": "sends clients away: tests/clients/test_migrated_topics.py",
    "resourcegroup": "removes what the path with a name sets",
    "/property/{key}": "removes what the path with a value sets",
    "/split": "tests/broker/admin/test_bundles.py",
    "/topics/": "publishes: tests/broker/admin/test_produce.py",
    "analyzeBacklog": "a question",
    "truncate": "deletes messages: tests/broker/admin/test_backlogs.py",
    "{bundle}": "deletes topics: tests/broker/admin/test_bundles.py",
    "/permissions/{subscription}/{role}": "tests/broker/admin/test_permissions.py",
    **{f"/{service}/": "refused" for service in ("functions", "sources", "source", "sinks", "sink", "packages")},
    **{f"/{service}/": "refused" for service in ("worker", "transactions")},
    "}/policies": "removes: tests/broker/admin/test_global_policies.py",
    "damage/accept": "tests of damage",
    "unload": "changes where a topic is, not what it is",
    "compaction": "starts work",
    "offload/": "starts work",
    "{topic}/offload": "starts work",
    "removeOffloadPolicies": "removes what offloadPolicies sets",
    "trim": "starts work",
    "createMissedPartitions": "makes topics, which other routes make",
    "terminate": "tests/clients/test_termination.py",
    "backlogSize": "a question",
    "compatibility": "a question",
    "version": "a question",
    "clearBacklog": "moves cursors: tests/clients and make soak",
    "unsubscribe": "removes what DELETE of a subscription removes",
    "skip": "moves cursors: tests/clients and make soak",
    "resetcursor": "moves cursors: tests/clients and make soak",
    "expireMessages": "moves cursors: tests/clients and make soak",
}


@dataclass(frozen=True)
class Setter:
    """`remover`: whether DELETE undoes it."""

    method: str
    path: str
    bodies: Bodies
    remover: bool


def setters(prefix: str) -> list[Setter]:
    """The routes whose paths have that prefix."""
    return [found for found in _all() if found.path.startswith(f"{prefix}/") or found.path == prefix]


def _all() -> Iterator[Setter]:
    listed = all_routes().listed
    removable = {route.path for route in listed if route.method == "DELETE"}
    for route in listed:
        bodies = sample(route)
        if route.method in ("PUT", "POST") and isinstance(bodies, tuple):
            yield Setter(route.method, route.path, bodies, route.path in removable)


def sample(route: Route) -> Bodies | str | None:
    """Bodies, or the reason why there are none; None for an unknown route."""
    own = OTHERS.get((route.method, route.path))
    if own is not None:
        return own
    prefix, _, last = route.path.rpartition("/")
    if last in POLICIES and prefix in (NAMESPACE, TOPIC):
        return POLICIES[last]
    return next((reason for part, reason in NOTHING_SET.items() if part in route.path), None)


def without_sample() -> list[str]:
    """Routes that change something and are in no table. A DELETE is covered if its path has a setter."""
    listed = all_routes().listed
    known = {route.path for route in listed if route.method in ("PUT", "POST") and sample(route) is not None}
    return [
        f"{route.method} {route.path}"
        for route in listed
        if route.method != "GET" and sample(route) is None and not (route.method == "DELETE" and route.path in known)
    ]
